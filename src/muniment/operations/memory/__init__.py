"""The noun group `memory`: what a host concluded from turns, with evidence for each item."""
