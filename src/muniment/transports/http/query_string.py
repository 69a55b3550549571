"""A query string as the parameters of an operation: text as it stands, JSON for anything else.

`?view=host_ui&limit=20&conversation={"conversation":"parcel-7"}`. The schema of the request says which is which, as the
OpenAPI document does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from muniment.declaration.http_wire import plain_parameters
from muniment.declaration.operation import Operation
from muniment.errors import InvalidInput

INTEGER_MAX = 1 << 63  # of 64 bits, as the OpenAPI document says


def json_of(operation: Operation, pairs: Iterable[tuple[str, str]]) -> bytes:
    """Return the parameters that a query gives as JSON; raises `request.invalid` for a repeated one and broken JSON."""
    known = plain_parameters(operation.request)
    given: dict[str, Any] = {}
    for name, value in pairs:
        if name in given:
            raise InvalidInput(at=name if name in known else "query", problem="repeated_name")
        given[name] = value if known.get(name, True) else parsed(value, at=name)
    try:
        return msgspec.json.encode(given)
    except UnicodeError:
        raise InvalidInput(at="query", problem="lone_surrogate") from None


def parsed(text: str | bytes, *, at: str | None = None) -> Any:
    """Return JSON as plain values; refuses what parsers disagree about: a repeated name, more than 64 bits."""
    try:
        return STRICT.decode(text if isinstance(text, str) else text.decode())
    except InvalidInput as refused:
        raise InvalidInput(at=at, problem=refused.problem) from None
    except UnicodeDecodeError:
        raise InvalidInput(at=at, problem="not_unicode") from None
    except ValueError:
        raise InvalidInput(at=at, problem="not_json") from None
    except RecursionError:
        raise InvalidInput(at=at, problem="too_deep") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidInput(problem="repeated_name")
    return found


def _integer(text: str) -> int:
    value = int(text)
    if not -INTEGER_MAX <= value < INTEGER_MAX:
        raise InvalidInput(problem="out_of_range")
    return value


def _no_number(_text: str) -> Any:
    raise InvalidInput(problem="not_json")  # NaN and Infinity


STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_int=_integer, parse_constant=_no_number)
