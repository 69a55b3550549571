"""The command line: `muniment GROUP VERB`, made from the catalogue.

`__main__` is the way in and the way out (exit codes, broken pipes). `app` is the tree of commands, grown as far as a
call needs it; `fields` turns the request of an operation into options and arguments, `command` runs one operation,
`door` knows which store is meant and how it is opened. `report` says a report in words through a `page`: a plain one
for pipes, a rich one for terminals. `failure` maps errors to exit codes. `demo` shows it all.

Nothing heavy is imported before it is needed: `muniment --version` loads neither a cipher nor a database.
"""
