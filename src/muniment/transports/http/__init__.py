"""HTTP: the operations of the catalogue as routes, for programs with a client key.

    http_app.py      the application: a route for each operation, health, OpenAPI
    client_connection.py one connection: how many there are, how long and how large a head may be
    request_guard.py what every request passes: host, origin, concurrency, request id, log
    call.py          one request: who calls, what is asked, the answer
    request_runtimes.py  what a request works with, closed behind it
    tokens.py        tokens of an issuer in place of client keys
    issuer_keys.py   the keys of that issuer
    token_metadata.py where clients learn who that is
    event_stream.py  feeds as Server-Sent Events
    query_string.py  a query string as the parameters of an operation
    body.py          bodies: bounded JSON, and uploads that are read while they come
    downloads.py     answers that are files
    problem.py       errors as problem documents (RFC 9457)
    metrics.py       what is counted, for Prometheus
    rates.py         how many requests a client may send
    openapi.py       all of it, described
    trace_context.py requests as parts of the traces of their callers
    serving.py       the server process
    workers.py       several of them, which one more looks after
    process_signals.py   what stops them

No module here knows an operation by name.
"""
