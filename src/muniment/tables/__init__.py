"""Tables: a view of a space as a private SQLite database in memory, for people who think in SQL."""
