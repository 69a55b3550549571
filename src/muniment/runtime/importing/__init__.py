"""Importing: from a file of messages that somebody else wrote to committed turns.

`lines` reads a file line by line within bounds, `formats` understands a line, `grouping` makes turns of messages, and
`job` commits them in batches and reports. A turn is named by its place in its conversation, so an import may be
repeated: what is there is found there, what was interrupted is completed, what was added to the file is added.
"""
