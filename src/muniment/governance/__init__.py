"""Pure decisions: what of a turn is kept, what may happen to it, and what each view shows of it.

No clock, no store, no key, no logging: functions of values, and tables that the guide is generated from. `lifecycle`
knows what may happen to a turn, `views` who sees what, `slices` applies a view, `admission` decides what a commit
keeps, `limits` names the sizes that are refused, `access` the rights that a runtime was given.
"""
