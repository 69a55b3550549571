"""The index of what a view shows: terms and vectors of messages, in memory, folded from the log."""
