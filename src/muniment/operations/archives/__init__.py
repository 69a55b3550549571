"""Archives: a part of a space as one sealed document, and back into any space.

`document` is the format, `scopes` decides what belongs to it. `export_archive` writes it from what `gather_archive`
gathers, with `archive_lines` of a conversation and `notebook_lines` of a notebook; `archive_reader` checks it, with
`archived_conversation` and `archived_notebook`; `import_archive` lets `archive_appender` append what was checked, with
`incoming_conversation` and `incoming_notebook`, and `replacing` retires what it replaces.
"""
