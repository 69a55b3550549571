"""The vocabulary of the log: what can be said in an event, and how it is spelled for ever.

`identity` names things, `message` and `turn` are what a host hands over, `records` are the events, `labels` splits an
event into the fields that are committed one by one, `cells` packs them for sealing and reads every version ever
written, `schemas` publishes them. Nothing here decides, stores or encrypts.
"""
