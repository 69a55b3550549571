"""Reading: from a file of messages that somebody else wrote to turns.

`lines` reads a file line by line within bounds, `formats` understands a line, `continuing` joins requests that repeat
their past, and `grouping` makes turns of messages.
"""
