"""The operations: one folder or file for each noun group. `page`, `place` and `outfile` are shared."""
