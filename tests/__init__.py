"""The gates: laws first, examples second, vectors for bytes."""
