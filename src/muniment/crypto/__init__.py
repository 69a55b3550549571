"""Sealing: root keys and where they come from, the keys of a store and of a space, cells and bundles.

Keys form a line. The root key (never stored by us) wraps the keys of a store and of each space; a space key wraps one
bundle per event; a bundle holds the single-use keys of the event's cells. Destroying a key destroys what is below it,
and turning a key over re-wraps only the next link: no rotation touches the log.

Nothing here knows what a cell says. `cryptography` is imported in this package and in `muniment.evidence` only.
"""
