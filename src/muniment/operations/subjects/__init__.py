"""Subjects: who there is, and everything about one of them."""
