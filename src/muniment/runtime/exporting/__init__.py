"""Exporting: a conversation as a view shows it, in the formats that others read.

`formats` is the table of formats, each with a file of its own; `pages` walks a conversation page by page. What a view
withholds stands in a document as withheld, with its reason, and never as words.
"""
