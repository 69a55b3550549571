"""The noun group `system`: capabilities, health, recovery, models, closing."""
