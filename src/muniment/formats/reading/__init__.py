"""Reading: from a file that another program wrote to turns.

`lines` reads a file line by line within limits, `items` finds its items, and `import_format` selects the parser of an
item. `continuations` joins requests that repeat their conversation, and `turn_assembler` turns messages into turns.
"""
