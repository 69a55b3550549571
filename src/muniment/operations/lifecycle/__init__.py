"""What may happen to turns after they were committed: the noun group, and a module for each thing that it does.

`scope` finds the turns of a request, `guard` decides which of them may go, `reporting` describes them. `transition`
changes phases, `erase_turns` and `erase_space` destroy content, `holds` holds and releases, `retention` sets and
applies policies, `receipts` lists what the log has.
"""
