"""Importing: from files of other programs to turns of the space, with every record accounted for.

`import_sources` goes through the files, `import_file` through the items of one, `turn_batch` commits, and
`import_report` counts what became of each line, message and turn.
"""
