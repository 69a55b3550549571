"""A foreign request as one of ours, by the table of its route. Pure; the operation checks what comes out."""

from __future__ import annotations

import difflib
import re
from typing import Any

from msgspec import Struct

from muniment.declaration.operation import Operation
from muniment.errors import InvalidInput
from muniment.transports.gateway.aliases import Alias, Members, Within

_NAME = re.compile(r"[a-z0-9_]{1,64}")
CLOSE_MAX = 3


class Speaker(Struct, frozen=True, kw_only=True):
    """For whom a client speaks, if its key says so, and what it is called."""

    subject: str | None
    client: str


def request_of(
    alias: Alias, operation: Operation, body: dict[str, Any], speaker: Speaker, place: str | None = None
) -> dict[str, Any]:
    """Return the request of an operation that a foreign one means; raises `request.invalid`."""
    given = body if alias.whole is None else {alias.whole: body}
    if place is not None:
        _check_place(alias, given, place)
    if alias.bound is not None:
        given = {name: value for name, value in given.items() if name != alias.bound.asked}
    request = _translated(alias.members, given, speaker, "")
    if place is not None:
        assert alias.place is not None, "its path ends with one"
        _put(request, alias.place, place)
    own = {"subject": speaker.subject, "requester": speaker.client}
    for name, value in own.items():
        if name in operation.request.__struct_fields__ and value is not None:
            request.setdefault(name, value)
    return request


def budget_of(alias: Alias, body: dict[str, Any]) -> int:
    """Return how many characters a foreign request allows for a text."""
    assert alias.bound is not None, "its answer is bounded"
    asked = body.get(alias.bound.asked)
    if asked is None:
        raise InvalidInput(at=alias.bound.asked, problem="missing_field")
    if type(asked) is not int:
        raise InvalidInput(at=alias.bound.asked, problem="wrong_type")
    if asked < 0:
        raise InvalidInput(at=alias.bound.asked, problem="out_of_range", found=asked)
    return asked


def chosen(aliases: list[Alias], body: dict[str, Any]) -> Alias:
    """Return which of the meanings of a route a request has."""
    if len(aliases) == 1:
        return aliases[0]
    said = [alias for alias in aliases if alias.when in body]
    if len(said) != 1:
        raise InvalidInput(at="body", problem="one_of", choices=[str(alias.when) for alias in aliases])
    return said[0]


def _translated(members: Members, given: dict[str, Any], speaker: Speaker, at: str) -> dict[str, Any]:
    request: dict[str, Any] = {}
    for name, value in given.items():
        target = members.named.get(name)
        if isinstance(target, Within):
            request[target.name] = _inside(target.members, value, speaker, f"{at}{name}")
        elif target is not None:
            _put(request, target, value)
        elif members.is_open:
            request[name] = value
        elif name not in members.ignored:
            raise _unknown(members, name, at)
    for name, fixed in members.fixed.items():
        request.setdefault(name, fixed)
    if members.of_subject and speaker.subject is not None:
        request.setdefault("subject", speaker.subject)
    return request


def _inside(members: Members, value: Any, speaker: Speaker, at: str) -> Any:
    """Return an object, or each of a list; anything else stays for the operation to refuse."""
    if isinstance(value, list):
        return [_inside(members, each, speaker, f"{at}[{place}]") for place, each in enumerate(value)]
    return _translated(members, value, speaker, f"{at}.") if isinstance(value, dict) else value


def _put(request: dict[str, Any], path: str, value: Any) -> None:
    """Set a member by its path; of two foreign names for one, only one may be given."""
    *outer, name = path.split(".")
    for each in outer:
        request = request.setdefault(each, {})
    if request.setdefault(name, value) != value:
        raise InvalidInput(at=path, problem="given_twice")


def _check_place(alias: Alias, given: dict[str, Any], place: str) -> None:
    """Refuse a body that is about another thing than its path."""
    if alias.also_in is None:
        return
    outer, _, name = alias.also_in.partition(".")
    said = given[outer].get(name, place)
    if said != place:
        raise InvalidInput(at=name, problem="differs")


def _unknown(members: Members, name: str, at: str) -> InvalidInput:
    if _NAME.fullmatch(name) is None:  # only what looks like a misspelt name of a member is said again
        return InvalidInput(at=at.rstrip(".") or "body", problem="unknown_field")
    choices = difflib.get_close_matches(name, members.named, CLOSE_MAX)
    return InvalidInput(at=f"{at}{name}", problem="unknown_field", choices=choices)
