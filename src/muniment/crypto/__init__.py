"""Encryption: root keys and their sources, the keys of a store and of a space, cells and key bundles.

Keys form a hierarchy. The root key (never stored by us) wraps the keys of a store and of each space. A space key wraps
one key bundle per event, which holds the single-use keys of the event's cells. Destroying a key destroys everything
below it. Rotating a key rewraps only the next level: no rotation touches the log.

Nothing here knows the meaning of a cell. Only this package and `muniment.evidence` import `cryptography`.
"""
