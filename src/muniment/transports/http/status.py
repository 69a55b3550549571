"""Which status of HTTP an error has: one table from kinds, and the few codes that HTTP has a word of its own for.

Three more are for requests that reach no operation: for a wrong method, a wrong host, and a head that is too long.
"""

from __future__ import annotations

from muniment.errors import Kind, MunimentError

STATUS: dict[Kind, int] = {
    Kind.INVALID: 400,
    Kind.DENIED: 403,
    Kind.MISSING: 404,
    Kind.CONFLICT: 409,
    Kind.CORRUPT: 500,
    Kind.UNAVAILABLE: 503,
    Kind.EXHAUSTED: 413,
}
STATUS_OF_CODE: dict[str, int] = {
    "access.not_authenticated": 401,
    "archive.refused": 422,
    "evidence.refused": 422,
    "model.unavailable": 409,
    "request.rate_exceeded": 429,
    "request.streams_exceeded": 429,
    "signer.unavailable": 409,
    "store.full": 507,
}
WRONG_METHOD = 405
WRONG_HOST = 421
HEAD_TOO_LARGE = 431
CODE_BEFORE_OPERATION: dict[int, str] = {
    WRONG_METHOD: "request.invalid",
    WRONG_HOST: "access.denied",
    HEAD_TOO_LARGE: "request.limit_exceeded",
}
RETRY_AFTER = frozenset({429, 503})  # they may say when to come back
PASSING = frozenset(
    {
        "access.issuer_unavailable",
        "evidence.timestamp_unavailable",
        "evidence.witness_unavailable",
        "request.busy",
        "store.busy",
        "store.closed",  # the server stops; whoever starts it again answers
    }
)  # of those that are answered with 503: what waiting helps against, without anybody doing anything
STATUSES = frozenset({*STATUS.values(), *STATUS_OF_CODE.values(), *CODE_BEFORE_OPERATION})
MEANINGS: dict[int, str] = {  # of all that an operation may be answered with: its method is right
    400: "The request is invalid.",
    401: "Missing or invalid client key.",
    403: "The key does not allow this.",
    404: "Not found, or not visible to this key.",
    409: "Contradicts the store or its setup.",
    413: "Limit exceeded.",
    421: "The host is not this server.",
    422: "What was sent does not verify.",
    429: "Too many requests from this client.",
    431: "The query or the headers are too long.",
    500: "The store failed a check.",
    503: "Not available now.",
    507: "The disk is full.",
}


def status_of(error: MunimentError) -> int:
    """Return the status that an error is answered with."""
    return STATUS_OF_CODE.get(error.code, STATUS[error.kind])
