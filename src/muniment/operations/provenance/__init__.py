"""The noun group `provenance`: which items of memory came from which turns."""
