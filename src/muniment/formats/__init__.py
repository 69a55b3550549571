"""Foreign formats: files that are parsed into messages, and slices that are written as documents.

`reading` parses the files of other programs within limits. `writing` writes a conversation, as a view shows it, in
formats that other programs read. Neither knows a store: the runtime commits what is read and cuts what is written.
"""
