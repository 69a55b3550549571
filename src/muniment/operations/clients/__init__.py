"""The noun group `clients`: keys for programs that use a store over a network."""
