"""The noun group `tools`: which tools a host has, what was observed of them, and which hints that gives."""
