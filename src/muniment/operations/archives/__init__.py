"""Archives: a part of a space as one sealed document, and back into any space.

`document` is the format, `scopes` decides which conversations belong to it, `export_archive` and `archive_lines` write
it, `archive_reader` checks it, `import_archive` appends what was checked, `replacing` retires what it replaces.
"""
