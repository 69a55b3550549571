"""The log: rows of ciphertext in an order that nobody can change unnoticed.

`port` says what a store is; `sqlite` and `memory` are stores; `conformance` is the kit that each of them passes. A
store knows positions, streams and sealed bytes. What an event means, which key opens it and whether it may be
appended is decided above, inside the plans that a store runs.
"""
