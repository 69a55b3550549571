"""Replay: run histories against the product, compare what is derived, report the first difference; record them.

A history is a fixture (`fixture`): a first line that names every source of chance, then commands. `running` performs
them through the front door on a store of a kind (`stage`), holds what comes back to what the fixture expects, and
measures the log and everything derived from it (`measuring`). `comparing` finds where two runs part, `recording` turns
a live space into a fixture without a word of it.
"""
