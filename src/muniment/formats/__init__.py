"""How others write conversations down: files that are read into messages, and slices that are written as documents.

`reading` understands, within bounds, what other programs keep; `writing` tells a conversation as a view shows it, in
forms that others read. Neither knows a store: what is read is committed, and what is written is cut, by the runtime.
"""
