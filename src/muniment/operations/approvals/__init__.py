"""Approval by two persons: the noun group, and the gate that guarded operations pass (decision 0132)."""
