"""Repair: everything that a store owns, looked at once and held to its proofs; nothing is changed."""
