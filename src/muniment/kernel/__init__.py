"""The ground floor: clock, ids, entropy, canonical JSON, digests, cursors.

Nothing here knows what a turn is. Everything above takes time, ids and entropy from `Sources` and from nowhere
else.
"""
