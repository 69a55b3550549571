"""The demo: one conversation through everything that the product promises, with every expectation checked.

`stage` holds the throw-away store and what the steps hand on; `steps` are the seven acts, each a function that does
something real and returns what it saw; `intruder` forges a bundle and edits a store behind its back; `command` runs
the acts and says them on a page or as JSON. `conversation.jsonl` holds the turns, one a line, as `muniment
transcripts commit` takes them.
"""
