"""An item of a framework as a message and a shape, and back again.

An item is a JSON object: a message, a call, a result, in the form of its framework. Its words become the parts of one
message, so that everything that holds for words holds for them. What is left is its shape: the item with a gap for each
text, and for each gap the part that belongs into it. `parted` takes an item apart, `whole` puts it together, exactly as
it was, or with what a view shows instead of its words. No word is kept twice.

| in the item | becomes |
|---|---|
| what the adapter names as a part | that part, wherever the item has its text |
| arguments of a call that are JSON in a text | the value, where its spelling can be restored |
| a `data:` URL in base64 | a blob |
| a short value of a known field of the item, or of one that an adapter names deeper in it | stays in the shape |
| a short value that says what an object is (`TYPED`) | stays in the shape |
| any other text that is not blank | a text part |
| numbers, names of members | stay in the shape |
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from math import isfinite
from typing import Any, NamedTuple

from muniment.errors import InvalidInput, NotCanonical
from muniment.events.message import (
    BlobPart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
    is_blank,
)
from muniment.kernel.canonical import encode, scan

Item = dict[str, Any]
Path = Sequence[str | int]

BLANK = re.compile(r"\s")
FORM_LENGTH_MAX = 128  # code points of a value that stays in the shape
# of an item; a field of an object in it is named with its path, without places in lists: `content.detail`
FIELDS_OF_FORM = frozenset({
    "author", "call_id", "created_at", "detail", "finish_reason", "format", "id", "index", "kind",
    "mime_type", "media_type", "model", "model_name", "name", "object", "part_kind", "phase", "provider",
    "provider_name", "role", "server_label", "status", "stop_reason", "timestamp", "tool_name", "type", "version",
    "tool_calls.id",
})  # fmt: skip
TYPED = frozenset({"type", "role", "part_kind", "kind"})
# what of the form may say who somebody is: these, and ids but those by which calls are told apart
NAMING = frozenset({"author", "id", "name"})
CALL_IDS = frozenset({"call_id", "tool_call_id"})
TOOLS = frozenset({"tool", "function"})
PLAIN_BLOB = "application/octet-stream"

ROLES: Mapping[str, Role] = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


class SpokenItem(NamedTuple):
    """Who says an item, and what of it is a part; texts that are in no part become text parts of their own."""

    role: Role
    parts: Sequence[Part] = ()


WordsOf = Callable[[Item], SpokenItem]


class Spelling(IntEnum):
    """How an item writes what a part holds."""

    PLAIN = 0
    BASE64 = 1
    DATA_URL = 2
    JSON_COMPACT = 3
    JSON_SPACED = 4
    JSON_COMPACT_ASCII = 5
    JSON_SPACED_ASCII = 6
    OBJECT = 7
    LIST = 8
    MAPPING = 9  # an object whose names somebody chose: empty when it is withheld


SPELLINGS = tuple(Spelling)
# spelling -> what separates a member from its value, and what writes it
JSON_SPELLINGS: Mapping[Spelling, tuple[str, json.JSONEncoder]] = {
    Spelling.JSON_COMPACT: (":", json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)),
    Spelling.JSON_SPACED: (": ", json.JSONEncoder(ensure_ascii=False)),
    Spelling.JSON_COMPACT_ASCII: (":", json.JSONEncoder(separators=(",", ":"))),
    Spelling.JSON_SPACED_ASCII: (": ", json.JSONEncoder()),
}


SHAPES_ENCODER = JSON_SPELLINGS[Spelling.JSON_COMPACT_ASCII][1]


class Gap(NamedTuple):
    """A place in an item whose value a part holds.

    `order` has, for each object of a value that is spelled as JSON, the places of its members among the sorted names.
    """

    path: Path
    part: int
    spelling: Spelling = Spelling.PLAIN
    order: Sequence[Sequence[int]] = ()


class ItemShape(NamedTuple):
    """What is left of an item without its words, the gaps where they were, and how many parts its message has."""

    item: Item
    gaps: Sequence[Gap]
    parts: int


class PartedItem(NamedTuple):
    """An item as who says it, the parts of its message, its shape, and its size: characters of JSON."""

    role: Role
    parts: list[Part]
    shape: ItemShape
    size: int


def words_by_role(item: Item) -> SpokenItem:
    """Return who says an item by its `role` or `type`; a tool, where neither tells. All its texts become text parts."""
    named = (item.get(field) for field in ("role", "type"))
    return SpokenItem(next((ROLES[name] for name in named if isinstance(name, str) and name in ROLES), Role.TOOL))


def parted(item: Mapping[str, Any], words_of: WordsOf, fields_of_form: frozenset[str] = FIELDS_OF_FORM) -> PartedItem:
    """Take an item apart; raises `request.invalid` for what is no JSON object."""
    try:
        role, shaping, formed = _shaped(item, words_of, fields_of_form)
    except TypeError:  # a type that JSON has not, though perhaps a form for it
        role, shaping, formed = _shaped(_plainly(item), words_of, fields_of_form)
    except RecursionError:
        raise InvalidInput(at="item", problem="too_deep") from None
    if all(map(is_blank, shaping.parts)):  # a message has to say something
        return PartedItem(Role.SYSTEM, [BlobPart(content=b"", mime_type=PLAIN_BLOB)], ItemShape(formed, (), 1), 0)
    return PartedItem(role, shaping.parts, ItemShape(formed, shaping.gaps, len(shaping.parts)), shaping.size)


def whole(shape: ItemShape, parts: Sequence[Part | str]) -> Item:
    """Return an item from its shape and its parts; a text in the place of a part says that this is withheld.

    The item is made of `shape.item`, which is not to be used again.
    """
    item = shape.item
    for gap in shape.gaps:
        part = parts[gap.part]
        _put(item, gap.path, _withheld(part, gap) if isinstance(part, str) else _spelled(part, gap))
    return item


def named_below(place: str, fields: Iterable[str]) -> frozenset[str]:
    """Return fields of the objects at a path, as they are named among the fields of form."""
    return frozenset(f"{place}.{field}" for field in fields)


def unnamed(form: Item) -> Item:
    """Return the form of an item, of which all words are withheld, without what may say who somebody is.

    What tools are called stays; so does what is in lists, which adapters name.
    """
    kinds = [each for field, each in form.items() if field in TYPED and isinstance(each, str)]
    is_of_tool = bool(CALL_IDS & form.keys()) or any(kind in TOOLS or kind.endswith("_call") for kind in kinds)
    return {
        field: unnamed(each) if isinstance(each, dict) else each
        for field, each in form.items()
        if not (isinstance(each, str) and _is_naming(field)) or (is_of_tool and field == "name")
    }


def _is_naming(field: str) -> bool:
    return field in NAMING or (field.endswith("_id") and field not in CALL_IDS)


def encode_shapes(shapes: Sequence[ItemShape]) -> bytes:
    """Return the shapes of the items of a turn as JSON."""
    return SHAPES_ENCODER.encode(shapes).encode()


def decode_shapes(data: bytes) -> list[ItemShape]:
    """Return the shapes that `encode_shapes` wrote."""
    return [
        ItemShape(
            item, [Gap(tuple(path), part, Spelling(spelling), order) for path, part, spelling, order in gaps], parts
        )
        for item, gaps, parts in json.loads(data)
    ]


# --- taking apart -----------------------------------------------------------------------------------------------------


def _shaped(item: Any, words_of: WordsOf, fields_of_form: frozenset[str]) -> tuple[Role, _Shaping, Item]:
    if type(item) is not dict:
        raise TypeError
    role, given = words_of(item)
    shaping = _Shaping(given, fields_of_form)
    return role, shaping, shaping.form(item, ())


def _plainly(item: Any) -> Item:
    """Return an item of types that JSON has a form for (a tuple, a word of an enum) as JSON has it."""
    try:
        plain = json.loads(json.dumps(item, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(at="item", problem="not_json") from None
    if type(plain) is not dict:
        raise InvalidInput(at="item", problem="not_json")
    return plain


class _Shaping:
    """Replaces the words of one item by gaps. A text that several parts have belongs to one after the other."""

    def __init__(self, given: Sequence[Part], fields_of_form: frozenset[str]) -> None:
        self.parts: list[Part] = []
        self.gaps: list[Gap] = []
        self.size = 0
        self._fields_of_form = fields_of_form
        self._texts: defaultdict[str, list[Gap]] = defaultdict(list)
        self._values: list[tuple[Any, Gap]] = []
        for part in given:
            self._add(part)

    def _add(self, part: Part) -> None:
        part, gaps = _known_by(part, len(self.parts))
        self.parts.append(part)
        for value, gap in gaps:
            if isinstance(value, str):
                self._texts[value].append(gap)
            else:
                self._values.append((value, gap))

    def form(self, value: Any, path: Path) -> Any:
        """Return a value with gaps (null) for the words in it."""
        kind = type(value)
        if kind is str:
            self.size += len(value)
            return value if not value or value.isspace() else self._gap(path, self._of_text(value))
        if kind is dict:
            return self._of_object(value, path)
        if kind is list:
            if (gap := self._known(value)) is not None:
                return self._gap(path, gap)
            return [self.form(each, (*path, place)) for place, each in enumerate(value)]
        if value is None or kind in {bool, int} or (kind is float and isfinite(value)):
            return value
        raise TypeError

    def _of_object(self, value: Item, path: Path) -> Any:
        if (gap := self._known(value)) is not None:
            return self._gap(path, gap)
        formed: Item = {}
        for name, each in value.items():
            if type(name) is not str:
                raise TypeError
            self.size += len(name)
            inside = (*path, name)
            formed[name] = each if self._is_form(inside, each) else self.form(each, inside)
        return formed

    def _known(self, value: Any) -> Gap | None:
        """Return the gap of a value that a part has."""
        if self._values and value:
            for known, gap in self._values:
                if known == value and json.dumps(known, sort_keys=True) == json.dumps(value, sort_keys=True):
                    return gap  # equal in type, too: 1 is no True
        return None

    def _is_form(self, path: Path, value: Any) -> bool:
        if type(value) is not str or len(value) > FORM_LENGTH_MAX or BLANK.search(value):
            return False
        member = str(path[-1])
        if member in TYPED:
            return True
        names = [name for name in path if isinstance(name, str)]
        if len(names) == 1 and member.endswith("_id"):
            return True
        return ".".join(names) in self._fields_of_form and not any("." in name for name in names)

    def _of_text(self, text: str) -> Gap:
        if text not in self._texts:
            self._add(_blob_of_url(text) or TextPart(content=text))
        known = self._texts[text]
        return known.pop(0) if len(known) > 1 else known[0]

    def _gap(self, path: Path, gap: Gap) -> None:
        self.gaps.append(Gap(path, gap.part, gap.spelling, gap.order))


def _known_by(part: Part, place: int) -> tuple[Part, list[tuple[Any, Gap]]]:
    """Return a part as it is kept, and the values by which it is found in an item."""
    if isinstance(part, TextPart | ReasoningPart):
        return part, [(part.content, Gap((), place))]
    if isinstance(part, UriPart):
        return part, [(part.uri, Gap((), place))]
    if isinstance(part, ToolCallResponsePart):
        return part, [(part.response, Gap((), place, _plain(part.response)))]
    if isinstance(part, ToolCallPart):
        text, gap = part.arguments, Gap((), place)
        value, spelling, order = _parsed(text) if isinstance(text, str) else (text, _plain(text), ())
        kept = ToolCallPart(name=part.name, id=part.id, arguments=value)
        return kept, [(text, gap._replace(spelling=spelling, order=order))]
    if isinstance(part, BlobPart):
        text = base64.b64encode(part.content).decode()
        url = f"data:{part.mime_type or ''};base64,{text}"
        return part, [(text, Gap((), place, Spelling.BASE64)), (url, Gap((), place, Spelling.DATA_URL))]
    return part, []


def _parsed(text: str) -> tuple[Any, Spelling, Sequence[Sequence[int]]]:
    """Return the value of a JSON object in a text and how to spell it again; the text itself for any other."""
    if not text.startswith("{"):
        return text, Spelling.PLAIN, ()
    try:
        value = json.loads(text)
        kept = value if scan(value) else json.loads(encode(value))  # numbers as the store has them
    except (ValueError, RecursionError, NotCanonical):
        return text, Spelling.PLAIN, ()
    order = [[sorted(each).index(name) for name in each] for each in _objects(value)]
    if all(places == sorted(places) for places in order):
        order = []
    for spelling, (separator, _) in JSON_SPELLINGS.items():
        if (separator in text or not value) and _json(kept, spelling, order) == text:
            return kept, spelling, order
    return text, Spelling.PLAIN, ()


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a value: each before those in it, and these in the order of the sorted names."""
    if isinstance(value, dict):
        yield value
        for name in sorted(value):
            yield from _objects(value[name])
    elif isinstance(value, list):
        for each in value:
            yield from _objects(each)


def _blob_of_url(text: str) -> BlobPart | None:
    """Return the content of a `data:` URL that can be written again from it."""
    head, marked, body = text.partition(";base64,")
    if not marked or not head.startswith("data:"):
        return None
    try:
        content = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None
    if base64.b64encode(content).decode() != body:
        return None
    return BlobPart(content=content, mime_type=head[len("data:") :])


# --- putting together -------------------------------------------------------------------------------------------------


def _put(item: Item, path: Path, value: Any) -> None:
    inside: Any = item
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value


def _spelled(part: Part, gap: Gap) -> Any:
    if isinstance(part, TextPart | ReasoningPart):
        return part.content
    if isinstance(part, BlobPart):
        text = base64.b64encode(part.content).decode()
        return text if gap.spelling is Spelling.BASE64 else f"data:{part.mime_type or ''};base64,{text}"
    if isinstance(part, UriPart):
        return part.uri
    if isinstance(part, ToolCallPart):
        spelled = gap.spelling in JSON_SPELLINGS
        return _json(part.arguments, gap.spelling, gap.order) if spelled else part.arguments
    assert isinstance(part, ToolCallResponsePart), "no other part has a gap"
    return part.response


def _withheld(marker: str, gap: Gap) -> Any:
    """Return what says that a part is withheld, of the type that the item has there; a list is empty."""
    if gap.spelling is Spelling.LIST:
        return []
    if gap.spelling is Spelling.MAPPING:
        return {}
    if gap.spelling is Spelling.OBJECT:
        return {"withheld": marker}
    if gap.spelling is Spelling.BASE64:
        return base64.b64encode(marker.encode()).decode()
    return json.dumps({"withheld": marker}) if gap.spelling in JSON_SPELLINGS else marker


def _plain(value: Any) -> Spelling:
    return Spelling.OBJECT if isinstance(value, dict) else Spelling.LIST if isinstance(value, list) else Spelling.PLAIN


def _json(value: Any, spelling: Spelling, order: Sequence[Sequence[int]]) -> str:
    return JSON_SPELLINGS[spelling][1].encode(_ordered(value, iter(order)))


def _ordered(value: Any, orders: Iterator[Sequence[int]]) -> Any:
    """Return a value with the members of its objects in a recorded order; sorted by name where they have changed."""
    if isinstance(value, list):
        return [_ordered(each, orders) for each in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value)
    places = next(orders, ())
    members = {name: _ordered(value[name], orders) for name in names}
    if sorted(places) != list(range(len(names))):
        return members
    return {names[place]: members[names[place]] for place in places}
