"""What adapters of lists of messages are made of: items in a conversation, exact, governed as words, never deleted."""
