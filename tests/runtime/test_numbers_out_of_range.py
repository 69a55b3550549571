"""Whatever number a request holds, an operation answers, or refuses it with an error of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.declaration.operation import bound, perform
from muniment.errors import MunimentError
from muniment.runtime.catalogue import catalogue
from tests.worlds import World

TALK = {"conversation": "talk"}
WHY = {"reason": "why", "requester": "who"}
EDGES = [sign * (2**bits + by) for bits in (0, 31, 32, 53, 63, 64, 200) for by in (-1, 0, 1) for sign in (1, -1)]
NUMBERS = st.one_of(st.sampled_from(EDGES), st.integers())


def _attribute(**more: Any) -> dict[str, Any]:
    source = {"kind": "host_reported", "writer": "host", "written_ms": more.pop("written_ms", 0)}
    target = {"turn": "turn-1", "message": more.pop("message", None)}
    return {
        "conversation": TALK,
        "attributes": [
            {"id": "a", "target": target, "key": "host.x", "kind": "number", "value": 1, "source": source, **more}
        ],
    }


def _turn(number: int) -> dict[str, Any]:
    said = {"role": "user", "content": "words", "observed_ms": number}
    return {"turn": "turn-9", "subject": "anna", "conversation": "talk", "messages": [said]}


STATEMENT = {
    "subject": "anna", "kind": "fact", "topic": "t", "text": "words", "id": "i-1", "attested": True,
    "judgement": {"decision": "accept"},
}  # fmt: skip
FIRST_PART = {"turn": "turn-1", "message": 0, "part": 0}
# operation -> requests with a number in every place that holds one
PLACES: dict[str, list[Callable[[int], dict[str, Any]]]] = {
    "transcripts.commit": [lambda n: {"turn": _turn(n)}],
    "transcripts.commit_many": [lambda n: {"turns": [_turn(n)]}],
    "transcripts.replay": [lambda n: {"conversation": TALK, "limit": n}],
    "transcripts.timeline": [
        lambda n: {"conversation": TALK, "limit": n},
        *(
            lambda n, kind=kind, name=name: {"conversation": TALK, "anchor": {"at": kind, name: n}}
            for kind in ("before", "after", "around")
            for name in ("position", "sequence")
        ),
        lambda n: {"conversation": TALK, "anchor": {"at": "first_in_range", "from_ms": n, "until_ms": 2**53 - 1}},
        lambda n: {"conversation": TALK, "anchor": {"at": "first_in_range", "from_ms": 0, "until_ms": n}},
    ],
    "evidence.export": [
        lambda n: {"conversation": TALK, "first_event": n},
        lambda n: {"conversation": TALK, "last_event": n},
    ],
    "transcripts.latest": [lambda n: {"conversation": TALK, "n": n}],
    "transcripts.search": [
        lambda n: {"query": "question", "limit": n},
        lambda n: {"query": "question", "within": {"from_ms": n}},
        lambda n: {"query": "question", "within": {"until_ms": n}},
    ],
    "attachments.read": [
        lambda n: {"conversation": TALK, "attachment": {"turn": "turn-1", "message": n, "part": 0}},
        lambda n: {"conversation": TALK, "attachment": {"turn": "turn-1", "message": 0, "part": n}},
        lambda n: {"conversation": TALK, "attachment": FIRST_PART, "start": n},
        lambda n: {"conversation": TALK, "attachment": FIRST_PART, "length": n},
    ],
    "attachments.save": [
        lambda n: {"conversation": TALK, "attachment": {"turn": "turn-1", "message": n, "part": n}, "file": "/x/y"},
    ],
    "transcripts.context": [lambda n: {"conversation": TALK, "budget_tokens": n}],
    "transcripts.redact": [
        lambda n: {
            "conversation": TALK,
            "passage": {"turn": "turn-1", "message": n},
            "views": ["export"],
            "reason": "legal",
            "requester": "who",
        },
    ],
    "transcripts.annotate": [
        lambda n: _attribute(created_ms=n),
        lambda n: _attribute(updated_ms=n),
        lambda n: _attribute(written_ms=n),
        lambda n: _attribute(message=n),
        lambda n: _attribute(value=n),
        lambda n: _attribute(governance={"value_bytes_max": n}),
    ],
    "conversations.activity": [
        lambda n: {"ranges": [{"from_ms": n, "until_ms": 2**53 - 1}]},
        lambda n: {"ranges": [{"from_ms": 0, "until_ms": n}]},
    ],
    "conversations.list": [lambda n: {"limit": n}],
    "events.read": [lambda n: {"limit": n}],
    "subjects.list": [lambda n: {"limit": n}],
    "memory.remember": [
        lambda n: {"candidates": [{**STATEMENT, "observed_ms": n}], "requester": "who"},
        lambda n: {"candidates": [{**STATEMENT, "expires_ms": n}], "requester": "who"},
    ],
    "memory.list": [
        lambda n: {"subject": "anna", "view": "host_ui", "limit": n},
        lambda n: {"subject": "anna", "view": "host_ui", "after": n},
        lambda n: {"subject": "anna", "view": "host_ui", "selection": {"as_of_ms": n}},
    ],
    "memory.show": [lambda n: {"item": "i-1", "view": "host_ui", "as_of_ms": n}],
    "notebook.set_policy": [lambda n: {"action": "pause", "selector": {"everything": True}, "until_ms": n, **WHY}],
    "notebook.propose": [
        lambda n: {"candidates": [{**STATEMENT, "observed_ms": n}], "rationale": "why", "requester": "who"},
    ],
    "notebook.proposals": [
        lambda n: {"subject": "anna", "view": "host_ui", "limit": n},
        lambda n: {"subject": "anna", "view": "host_ui", "after": n},
    ],
    "memory.prompt": [
        lambda n: {"subject": "anna", "budget_tokens": n},
        lambda n: {"subject": "anna", "budget_tokens": 9, "query": "words", "composition": {"hits": n}},
        lambda n: {
            "subject": "anna",
            "budget_tokens": 9,
            "composition": {"conversation": "talk", "recent_messages": n},
        },
    ],
    "memory.recall": [
        lambda n: {"subject": "anna", "query": "words", "limit": n},
        lambda n: {"subject": "anna", "query": "words", "scope": {"as_of_ms": n}},
    ],
    "memory.journal": [lambda n: {"subject": "anna", "view": "host_ui", "day_ms": n}],
    "subjects.inspect": [lambda n: {"subject": "anna", "view": "host_ui", "length_max": n}],
    "skills.list": [lambda n: {"subject": "anna", "view": "host_ui", "limit": n}],
    "skills.edit": [
        lambda n: {"subject": "anna", "name": "runtime_skill__x", "edit": {"title": "t"}, "expected": n, **WHY},
    ],
    "tools.list": [lambda n: {"limit": n}],
    "memory.amend": [lambda n: {"item": "i-1", "amendment": {"type": "pin"}, "expected": n, **WHY}],
    "redactions.find": [lambda n: {"sought": {"text": "question"}, "limit": n}],
    "lifecycle.release": [lambda n: {"hold": n, **WHY}],
    "lifecycle.retain": [lambda n: {"keep_at_least_ms": n, **WHY}, lambda n: {"erase_after_ms": n, **WHY}],
    "lifecycle.apply_retention": [lambda n: {"requester": "who", "limit": n}],
    "lifecycle.certificate": [lambda n: {"position": n}],
    "evidence.disclosures": [lambda n: {"limit": n}],
    "evidence.links": [lambda n: {"conversation": TALK, "limit": n}],
    "evidence.inspect": [lambda n: {"limit": n}],
    "disclosure.reveal": [lambda n: {"conversation": TALK, "turn": "turn-1", "message": n, **WHY}],
    "approvals.list": [lambda n: {"limit": n}],
    "clients.create": [
        lambda n: {"client": "desk", "until_ms": n},
        lambda n: {"client": "desk", "scope": {"requests_per_minute": n}},
    ],
    "clients.rotate": [
        lambda n: {"client": "desk", "overlap_ms": n},
        lambda n: {"client": "desk", "until_ms": n},
    ],
    "approvals.require": [lambda n: {"acts": ["erase"], "within_ms": n, **WHY}],
    "approvals.confirm": [lambda n: {"approval": n, "reason": "why", "approver": "who"}],
    "approvals.refuse": [lambda n: {"approval": n, "reason": "why", "approver": "who"}],
    "tables.query": [
        lambda n: {"sql": "SELECT :n", "bindings": {"n": n}},
        lambda n: {"sql": "SELECT 1", "limit": n},
    ],
}


def _integers(schema: Any, place: Any, seen: tuple[str, ...] = ()) -> Iterator[None]:
    """Yield something for every place of a schema that holds an integer."""
    if "$ref" in place:
        if place["$ref"] in seen:
            return
        seen, place = (*seen, place["$ref"]), schema["$defs"][place["$ref"].rpartition("/")[2]]
    if place.get("type") == "integer":
        yield None
    more = place.get("additionalProperties")
    inner = [*place.get("anyOf", ()), *place.get("properties", {}).values(), place.get("items"), more]
    for each in inner:
        if isinstance(each, dict):
            yield from _integers(schema, each, seen)


def _holds_integers(request: type[Any]) -> bool:
    schema = msgspec.json.schema(request)
    return any(True for _ in _integers(schema, schema))


OPERATIONS = {operation.path: operation for operation in catalogue()}
MALFORMED = {"missing_field", "unknown_field", "unknown_word"}  # the table is wrong
NOT_REACHED = {"redactions.apply", "lifecycle.review", "lifecycle.hold", "lifecycle.erase", "provenance.record"}


def test_every_operation_that_takes_a_number_is_tried() -> None:
    holding = {path for path, operation in OPERATIONS.items() if _holds_integers(operation.request)}
    assert holding - set(PLACES) == NOT_REACHED & holding
    assert set(PLACES) <= holding


@pytest.mark.slow
@pytest.mark.parametrize(("path", "place"), [(path, n) for path, places in PLACES.items() for n in range(len(places))])
def test_no_number_of_a_request_ends_in_an_error_that_is_not_ours(world: World, path: str, place: int) -> None:
    world.with_turns(2)
    operation = OPERATIONS[path]
    group = getattr(world.runtime, operation.group)
    answered: list[object] = []

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(NUMBERS)
    def tried(number: int) -> None:
        try:
            answered.append(perform(group, operation, bound(operation, PLACES[path][place](number))))
        except MunimentError as refused:
            answered.append(refused)

    tried()
    malformed = [one for one in answered if isinstance(one, MunimentError) and one.problem in MALFORMED]
    assert not malformed, str(malformed[0])
