"""The noun group `transcripts`: commit, replay, timeline, search, redact, annotate."""
