"""Evidence: headers, commitments, the Merkle tree, signed checkpoints, receipts, export bundles, and their verifier.

Pure functions of values: nothing here opens a store, has a key of the space or reads a clock. Stored hashes come
through the one-method protocol `tree.Hashes`. Hashing and verification are defined once, in `verifier.py`, a file that
a third party can copy and use alone; the other files only produce what it checks.

Importing this package imports nothing, so that `python -m muniment.evidence` runs on the verifier alone.
"""
