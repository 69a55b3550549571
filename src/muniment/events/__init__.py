"""The vocabulary of the log: the events, their bodies and their permanent spelling.

`identity` has the types of names. `message` and `turn` are the input of a host. `records` lists the events. `labels`
splits an event into fields, each with a commitment of its own. `cells` packs bodies for encryption and reads every
version that was ever written. Nothing here decides, stores or encrypts.
"""
