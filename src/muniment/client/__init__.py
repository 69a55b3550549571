"""The client: a runtime whose operations run in the process that serves the store.

    connect.py             `connect`, and the runtime that it returns
    destination.py         where the server is, the key that is shown to it, time-outs and attempts
    exchange.py            one call: what is sent, what an answer means, when it is sent again; no network
    uploads.py             an upload as the body of a request
    received_file.py       a file as the answer to one
    problems.py            problem documents as the errors that they are
    remote_store.py        calls over a pool of connections
    async_remote_store.py  the same on an event loop

No module here knows an operation by name. A call is bound here as it is beside the store, so that a request with a
mistake in it is refused before it is sent; rights are tested where the store is.
"""
