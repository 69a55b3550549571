"""Transports: the operations of the catalogue over a wire or a terminal. None of them knows an operation by name."""
