"""Backup and restore: a space as two sealed files, and back.

`taking` writes the files and reads them back, `restoring` puts a space in place of what is there or where nothing is,
`fences` remembers what the present space has erased, so that no backup brings it back.
"""
