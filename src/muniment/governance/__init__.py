"""Pure decisions: what a commit keeps of a turn, what may happen to it later, and what each view shows of it.

No clock, no store, no key, no logging: functions of values, and tables that the guide is generated from. `phases` has
the lifecycle of a turn, `views` what each view shows, `slices` applies a view. `admission` decides what a commit keeps,
`limits` names the sizes that are refused, `access` has the rights of a runtime.
"""
