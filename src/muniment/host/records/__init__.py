"""What adapters of keys and values are made of: each value is a turn, under any name that a framework has."""
