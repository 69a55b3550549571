"""Writing: a conversation as a view shows it, in formats that other programs read.

`export_format` is the table of formats, each with its own module; `pages` is their input. A document lists what its
view withholds, with the reason, and never contains it. None of these formats has attributes, so no document does.
"""
