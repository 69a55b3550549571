"""The noun group `notebook`: what governs memory over time; policies, proposals, and runs that are undone."""
