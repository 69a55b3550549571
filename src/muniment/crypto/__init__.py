"""Encryption: root keys and their sources, the keys of a store and of a space, cells and envelopes.

Keys form a hierarchy. The root key (never stored by us) wraps the keys of a store and of each space. A space key seals
the keys of the segments of its log, a segment key the envelope of each event of its segment, and an envelope holds the
single-use key of the event's content. Destroying a key destroys everything below it. Replacing one seals only the next
level again.

Nothing here knows the meaning of a cell. Only this package and `muniment.evidence` import `cryptography`.
"""
