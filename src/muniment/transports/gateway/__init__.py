"""Foreign wire formats over HTTP, as tables over the catalogue, so that programs that speak them need no change.

    aliases.py           which foreign route means which operation, and what its members are called here: data
    translation.py       a foreign request as one of ours, by such a table
    memory_wire.py       the requests and answers of the memory gateway: /memories/search, add, flush
    memory_gateway.py    what the memory gateway does with them
    gateway_app.py       the application at these paths
    gateway_document.py  the same paths as the OpenAPI document says them

The memory gateway has its credentials in the body; all other routes take a client key as `/v1` does. No header says who
calls, from where, or for whom.
"""
