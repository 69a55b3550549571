"""SQLite databases of other programs: how one is read without a change to it, and the formats that are kept in one."""
