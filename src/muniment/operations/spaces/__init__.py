"""The noun group `spaces`: list, import, export, back up, restore, rotate keys."""
