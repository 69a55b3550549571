"""Memory: pure decisions about items, what a candidate becomes, and what is left of an item after its revisions."""
