"""Evidence: headers, commitments, the Merkle tree, signed checkpoints, receipts, export bundles, and their verifier.

Pure functions of values: nothing here opens a store, knows a key of the space or reads a clock. Stored hashes come
through the one-method protocol `tree.Hashes`. Whatever hashes or verifies is defined once, in `verifier.py`, the file
that a stranger can copy out and use alone; the files around it only make what it checks.

Importing this package imports nothing, so that `python -m muniment.evidence` runs on the verifier alone.
"""
