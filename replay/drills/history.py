"""What concurrent callers saw of one conversation, and whether it can be explained by one caller after the other.

A conversation is a list that only grows. An append says at which place it stands, a read how long the list was and what
was in it. A history is linearizable when every call can be given a moment between its beginning and its end so that the
calls, one at a time in the order of these moments, give these very answers. For a growing list there is one order to
try: by place, each read behind the append of the last thing that it saw. It works when no call ends before one that
stands earlier in it begins.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Append(Struct, frozen=True, kw_only=True, tag="append"):
    """Somebody appended `item` and was told its place; several calls may append the same item."""

    began: int
    ended: int
    item: str
    place: int


class Read(Struct, frozen=True, kw_only=True, tag="read"):
    """Somebody read the list from its beginning and saw so many items, the last of which was `last`."""

    began: int
    ended: int
    length: int
    last: str


Call = Append | Read


def faults(calls: Iterable[Call]) -> list[str]:
    """Return why the calls on one conversation can not be explained; nothing when they can."""
    appends = [call for call in calls if isinstance(call, Append)]
    reads = [call for call in calls if isinstance(call, Read)]
    places: dict[str, int] = {}
    found = []
    if any(places.setdefault(append.item, append.place) != append.place for append in appends):
        found.append("an item has two places")
    items = {place: item for item, place in places.items()}
    if len(items) != len(places):
        found.append("a place has two items")
    if sorted(items) != list(range(1, len(items) + 1)):
        found.append("places are not dense")
    found += ["a read saw what was not there" for read in reads if read.length and items.get(read.length) != read.last]
    return found or _disorder(_firsts(appends), reads, _repeats(appends))


def _firsts(appends: list[Append]) -> list[Append]:
    """Return one append of each item: from the beginning of the earliest call to the end of the first that ended."""
    first: dict[str, Append] = {}
    for append in appends:
        known = first.get(append.item, append)
        first[append.item] = Append(
            began=min(known.began, append.began),
            ended=min(known.ended, append.ended),
            item=append.item,
            place=append.place,
        )
    return list(first.values())


def _repeats(appends: list[Append]) -> list[tuple[int, int, int]]:
    """Return (place, began, ended) of every append: a repeat is a look at the item, at any time after it is there."""
    return [(append.place, append.began, append.ended) for append in appends]


def _disorder(appends: list[Append], reads: list[Read], repeats: list[tuple[int, int, int]]) -> list[str]:
    ordered = [(append.place, 0, append.began, append.ended) for append in appends]
    ordered += [(read.length, 1, read.began, read.ended) for read in reads]
    ordered.sort()
    latest_begin = 0
    for place, _, began, ended in ordered:
        latest_begin = max(latest_begin, began)
        if ended < latest_begin:
            return [f"a call that stands at {place} ended before one that stands earlier began"]
    there = {append.place: append.began for append in appends}
    if any(ended < there[place] for place, _, ended in repeats):
        return ["a repeat was answered before the item was appended"]
    return []
