"""Replay: run histories against the product, compare projections, report the first difference; record histories.

A history is a fixture (`fixture`): a first line with every seed, then commands. `running` performs them through the
public interface on a store under test, compares the results with what the fixture expects, and measures the log and its
projections (`measuring`). `comparing` finds the first difference between two runs, `recording` turns a live space into
a fixture without any of its content, and `campaign` runs and compares files.
"""
