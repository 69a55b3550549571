"""Read models that are derived from the log and can be derived again: delete them, and the log gives them back."""
