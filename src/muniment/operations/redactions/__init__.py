"""The noun group `redactions`: find a text everywhere, see where it is, and withhold it there in one step."""
