"""Archives: a part of a space as one sealed document, and back into any space.

`document` is the format, `scopes` decides which conversations are meant, `writing` and `reading` are the way out and
the check at the way in, `admitting` appends what was checked, `replacing` makes room for it.
"""
