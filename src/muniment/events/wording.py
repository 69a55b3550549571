"""Words: what a person wrote in the body of an event that speaks of turns.

In memory a body holds its words where they belong. At rest they stand apart: `bare` is what the meta cell holds, and
`words_of` what the content cell of the same event holds, sealed under the content key of the event and committed label
by label. They are destroyed with the turns that the event is about; what is left then reads as "erased", an offset as
none. `records.WORDS` says which fields of which bodies are words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace


class Words(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The words of an event, by label: the member of its body, and the field of that member."""

    words: dict[str, str | int]


class WordField(NamedTuple):
    """A field that holds words: what stands in the meta cell instead, and what is read once the words are gone."""

    bare: str | None
    gone: str | None


WordFields = Mapping[str, WordField]
Body = TypeVar("Body", bound=Struct)


def words_of(body: Struct, fields: WordFields) -> Words | None:
    """Return the words of a body, or None where it has none."""
    found = {label: _value(body, label) for label in fields}
    words = {label: value for label, value in found.items() if value not in {None, fields[label].gone}}
    return Words(words=words) if words else None


def bare(body: Body, fields: WordFields) -> Body:
    """Return a body without its words."""
    return _with(body, {label: field.bare for label, field in fields.items()})


def without_words(body: Body, fields: WordFields, labels: Collection[str] | None = None) -> Body:
    """Return a body as it is read once its words are gone: those with these labels, or all that it has."""
    gone = [label for label in fields if _value(body, label) is not None] if labels is None else labels
    return _with(body, {label: fields[label].gone for label in gone})


def with_words(body: Body, words: Words) -> Body:
    """Return a bare body with its words."""
    return _with(body, words.words)


def _value(body: Struct, label: str) -> Any:
    member, _, name = label.partition("/")
    return getattr(getattr(body, member), name)


def _with(body: Body, values: Mapping[str, str | int | None]) -> Body:
    members: dict[str, dict[str, Any]] = {}
    for label, value in values.items():
        member, _, name = label.partition("/")
        members.setdefault(member, {})[name] = value
    return replace(body, **{member: replace(getattr(body, member), **named) for member, named in members.items()})
