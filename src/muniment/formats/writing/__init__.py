"""Writing: a conversation as a view shows it, in the formats that others read.

`formats` is the table of formats, each with a file of its own; `pages` is what each of them is told. What a view
withholds stands in a document as withheld, with its reason, and never as words. Attributes stand beside
the words; none of these formats has a place for them, so they are in none of these documents.
"""
