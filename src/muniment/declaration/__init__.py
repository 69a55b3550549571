"""What an operation is: the `operation` mark, the noun group, and the session that a group works in."""
