"""Binding: typed values or one refusal, and never a word of the input in it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.events.binding import REQUEST_BYTES_MAX, bind, deterministic, parse_json
from muniment.events.message import Message, Role, TextPart
from muniment.events.turn import Delivery, Turn
from tests.turns import plain_turn, rich_turn, turns

CANARY = "canary"


def minimal() -> dict[str, Any]:
    return {"turn": "t", "subject": "s", "messages": [{"role": "user", "content": "words"}]}


def with_message(message: Any) -> dict[str, Any]:
    return {**minimal(), "messages": [message]}


def call_of(arguments: Any) -> dict[str, Any]:
    return with_message({"role": "user", "content": [{"type": "tool_call", "name": "n", "arguments": arguments}]})


@given(turns)
def test_a_bound_value_is_the_value_and_binding_it_again_changes_nothing(turn: Turn) -> None:
    """bind(v) == v, from the struct and from plain data, and the same bytes come of all of them."""
    bound = bind(turn, Turn)
    assert bound == turn
    assert deterministic(bound) == deterministic(turn)
    assert bind(msgspec.to_builtins(turn, builtin_types=(bytes,)), Turn) == turn


@given(turns)
def test_json_and_python_give_the_same_value(turn: Turn) -> None:
    """parse_json(json(v)) == v."""
    assert parse_json(msgspec.json.encode(turn), Turn) == turn
    assert parse_json(msgspec.json.encode(turn).decode(), Turn) == turn


def test_what_was_bound_cannot_be_changed_by_the_caller() -> None:
    """The lists of a bound turn are its own."""
    turn = plain_turn(1)
    bound = bind(turn, Turn)
    turn.messages.append(Message(role=Role.USER, content="later"))
    assert len(bound.messages) == 2


@given(turns, turns)
def test_the_bytes_of_two_turns_are_equal_only_if_the_turns_are(left: Turn, right: Turn) -> None:
    """TR-20: what is digested covers every field."""
    assert (deterministic(left) == deterministic(right)) == (repr(left) == repr(right))


REFUSALS: list[tuple[Any, str | None, str]] = [
    ({**minimal(), "canary": 1}, None, "unknown_field"),
    ({**minimal(), "canary` - at `$.secret": 1}, None, "unknown_field"),
    ({**minimal(), "canary` - at `$.subject": 1}, "subject", "unknown_field"),  # words of our own tell nothing
    ({**minimal(), "delivery": CANARY}, "delivery", "unknown_word"),
    ({**minimal(), "delivery": "canary' - at `$.canary"}, "delivery", "unknown_word"),
    ({"turn": "t", "messages": []}, "subject", "missing_field"),
    ({**minimal(), "turn": 5}, "turn", "wrong_type"),
    ({**minimal(), "source": {"canary": 1}}, "source", "unknown_field"),
    (with_message({"role": CANARY, "content": ""}), "messages[0].role", "unknown_word"),
    (with_message({"role": "user"}), "messages[0].content", "missing_field"),
    (with_message({"role": "user", "content": 5}), "messages[0].content", "wrong_type"),
    (with_message({"role": "user", "content": [{"type": CANARY}]}), "messages[0].content[0].type", "unknown_word"),
    (
        with_message({"role": "user", "content": [{"type": "text", "content": "a", "canary": "b"}]}),
        "messages[0].content[0]",
        "unknown_field",
    ),
    ([CANARY], None, "wrong_type"),
    (CANARY, None, "wrong_type"),
    (None, None, "wrong_type"),
]


@pytest.mark.parametrize(("value", "at", "problem"), REFUSALS, ids=range(len(REFUSALS)))
def test_a_refusal_names_the_path_and_one_of_our_problems(value: Any, at: str | None, problem: str) -> None:
    """The same refusal for Python data and for JSON; the input is not in it."""
    for taken in (bind, parse_json):
        with pytest.raises(InvalidInput) as refused:
            taken(json.dumps(value) if taken is parse_json else value, Turn)
        assert (refused.value.at, refused.value.problem) == (at, problem)
        assert CANARY not in str(refused.value)
        assert refused.value.__cause__ is None
        assert refused.value.__suppress_context__


MISSPELT: list[tuple[Any, str | None, list[str]]] = [
    ({**minimal(), "convesation": 1}, "convesation", ["conversation"]),
    ({**minimal(), "source": {"protcol": 1}}, "source.protcol", ["protocol"]),
    (with_message({"role": "user", "contents": ""}), "messages[0].contents", ["content"]),
    (
        with_message({"role": "user", "content": [{"type": "tool_call", "name": "a", "argument": {}}]}),
        "messages[0].content[0].argument",
        ["arguments"],
    ),
    ({**minimal(), "zzz": 1}, "zzz", []),
    ({**minimal(), "Zzz": 1}, None, []),
    ({**minimal(), "z" * 65: 1}, None, []),
    ({**minimal(), "a b": 1}, None, []),
]


@pytest.mark.parametrize(("value", "at", "meant"), MISSPELT, ids=range(len(MISSPELT)))
def test_a_misspelt_field_of_a_request_is_named_with_what_was_meant(
    value: Any, at: str | None, meant: list[str]
) -> None:
    """Only a plain identifier is shown, and only to the caller who wrote it."""
    for is_request in (True, False):
        with pytest.raises(InvalidInput) as refused:
            bind(value, Turn, is_request=is_request)
        assert refused.value.problem == "unknown_field"
        assert refused.value.choices == tuple(meant)
        assert refused.value.at == at or not is_request
        assert is_request or at is None or not (refused.value.at or "").endswith(at.rpartition(".")[2])


def test_an_unknown_choice_lists_the_choices() -> None:
    with pytest.raises(InvalidInput) as refused:
        bind(with_message({"role": "boss", "content": ""}), Turn)
    assert set(refused.value.choices) == set(Role)
    with pytest.raises(InvalidInput) as refused:
        bind(with_message({"role": "user", "content": [{"type": "txt"}]}), Turn)
    assert {"text", "reasoning", "tool_call"} < set(refused.value.choices)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({**minimal(), "turn": "\ud800"}, "lone_surrogate"), ({**minimal(), "\udfff": 1}, "lone_surrogate"),
        (call_of("\ud800"), "lone_surrogate"), (call_of(2**64), "integer_too_large"),
        (call_of(-(2**63) - 1), "integer_too_large"), (call_of(object()), "wrong_type"),
        (call_of({(1, 2): 3}), "wrong_type"), ({1: 2}, "wrong_type"), (msgspec.Raw(b"\xc1"), "malformed"),
        (call_of(msgspec.Raw(b"\xa1\xff")), "malformed"), ({**minimal(), "turn": b"bytes"}, "wrong_type"),
        (Delivery.DELIVERED, "wrong_type"),
    ],
    ids=range(12),
)  # fmt: skip
def test_what_python_can_hold_and_json_cannot_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        bind(value, Turn)
    assert refused.value.problem == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not_json"), ("{", "not_json"), ("nul", "not_json"), ('{"turn":NaN}', "not_json"),
        ('{"turn":"\\ud800"}', "not_json"), (b'{"turn":"\xff"}', "not_json"), ("\ud800", "not_json"),
        ('{"turn":"a\nb"}', "not_json"), ("[" * 100_000, "wrong_type"), ('{"a":' * 100_000, "unknown_field"),
        ('{"turn":1e999}', "malformed"),
    ],
    ids=range(11),
)  # fmt: skip
def test_text_that_is_not_json_is_refused(text: str | bytes, problem: str) -> None:
    """Truncated, misspelt, not Unicode, without end: one error, whatever is wrong."""
    with pytest.raises(InvalidInput) as refused:
        parse_json(text, Turn)
    assert refused.value.problem == problem


def test_a_file_that_is_not_base64_is_refused() -> None:
    message = with_message({"role": "user", "content": [{"type": "blob", "content": "%canary"}]})
    with pytest.raises(InvalidInput) as refused:
        parse_json(json.dumps(message), Turn)
    assert (refused.value.at, refused.value.problem) == ("messages[0].content[0].content", "not_base64")


def test_a_tower_of_brackets_is_refused_as_too_deep() -> None:
    """Nested 10,000 deep, in JSON and in Python; the stack of the process is not at the mercy of a caller."""
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    for value in (call_of(deep), call_of(msgspec.Raw(b"\x91" * 10_000 + b"\xc0"))):
        with pytest.raises(InvalidInput) as refused:
            bind(value, Turn)
        assert refused.value.problem == "too_deep"
    with pytest.raises(InvalidInput, match="nested too deeply"):
        parse_json(json.dumps(call_of("HERE")).replace('"HERE"', "[" * 10_000 + "]" * 10_000), Turn)
    with pytest.raises(InvalidInput, match="nested too deeply"):
        deterministic(deep)


def gives_up(depth: int) -> bool:
    """Return whether a turn with a value of this depth is refused; any error but ours ends the test."""
    inner: Any = "bottom"
    for _ in range(depth):
        inner = [inner]
    try:
        deterministic(("frame", [[bind(call_of(inner), Turn)]]))
    except InvalidInput:
        return True
    return False


def test_there_is_no_depth_at_which_a_caller_sees_an_error_of_pythons() -> None:
    """Around the limit of the interpreter encoding, decoding and digesting give up at different depths."""
    shallow, deep = 0, 128
    while not gives_up(deep):
        shallow, deep = deep, deep * 2
    while deep - shallow > 1:
        middle = (shallow + deep) // 2
        shallow, deep = (shallow, middle) if gives_up(middle) else (middle, deep)
    refused = [gives_up(depth) for depth in range(max(0, deep - 100), deep + 100)]
    assert any(refused)
    assert not all(refused)


def test_a_request_above_the_limit_is_refused_before_it_is_read() -> None:
    """The size is reported; nothing is cut."""
    large = "x" * (REQUEST_BYTES_MAX + 1)
    for taken in (bind, parse_json):
        with pytest.raises(LimitExceeded) as refused:
            taken(large, Turn)
        assert refused.value.limit == REQUEST_BYTES_MAX
        assert refused.value.found is not None
        assert refused.value.found > REQUEST_BYTES_MAX


def test_a_million_parts_are_bound_or_refused_like_any_other_request() -> None:
    """Limits of counts are the business of admission; binding is bounded by bytes alone."""
    assert len(bind(Message(role=Role.USER, content=[TextPart(content="")] * 10**5), Message).parts()) == 10**5
    with pytest.raises(LimitExceeded):
        bind(Message(role=Role.USER, content=[TextPart(content="")] * 10**6), Message)


# --- the canary property ----------------------------------------------------------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every leaf and of every member of a JSON value."""
    if isinstance(value, dict):
        return [path, *(leaf for key, child in value.items() for leaf in leaves(child, (*path, key)))]
    if isinstance(value, list):
        return [path, *(leaf for place, child in enumerate(value) for leaf in leaves(child, (*path, place)))]
    return [path]


def replaced(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    """Return the value with what stands at a path replaced."""
    if not path:
        return leaf
    first, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[first] = replaced(value[first], tuple(rest), leaf)
    return copy


RICH = json.loads(msgspec.json.encode(rich_turn()))
quoted = st.sampled_from(
    ["{}", "{}` - at `$.{}", "{}' - at `$.{}", "{} - at `$.turn`", "$.{}", "`{}`", "\n{}", "\x00{}"]
)


@given(st.sampled_from(leaves(RICH)), quoted, st.sampled_from(["word", "list", "member", "number"]))
def test_no_error_text_contains_any_input(path: tuple[Any, ...], form: str, shape: str) -> None:
    """Take a valid turn, replace one leaf by a canary in any shape: no text, no field of the error repeats it."""
    canary = form.replace("{}", CANARY)
    leaf = {"word": canary, "list": [canary], "member": {canary: canary}, "number": 31337}[shape]
    value = replaced(RICH, path, leaf)
    for taken in (bind, parse_json):
        try:
            taken(json.dumps(value) if taken is parse_json else value, Turn)
        except MunimentError as refused:
            told = json.dumps([str(refused), repr(refused), refused.report()])
            assert CANARY not in told
            assert "31337" not in told
