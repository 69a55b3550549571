"""Find conversations: list, count, resolve, describe."""
