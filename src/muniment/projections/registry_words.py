"""Words about tool registries: what people wrote in snapshots, and why a registry was removed.

A removal with the reason `erase` is part of the erasure of a subject. It takes the words of everything that was said of
its registry before; its own reason says why they are gone, and stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from muniment.errors import Corrupt, KeyMissing
from muniment.events.changes import REPLACED, Transition
from muniment.events.records import EventKind
from muniment.events.tool_registries import ToolsRegistered, ToolsRemoved
from muniment.ledger.ledger import Ledger
from muniment.log.port import Reader, SealedRow
from muniment.projections.registry_names import registry_of

REGISTRY_KINDS = (EventKind.TOOLS_REGISTERED, EventKind.TOOLS_REMOVED)


def erased_registries(ledger: Ledger, reader: Reader, *, asked_for: bool = False) -> dict[str, int]:
    """Return the registries whose words were erased, with the position of the last removal that did so.

    `asked_for`: without those that an archive took the place of.
    """
    erased: dict[str, int] = {}
    for row in reader.of_kind(EventKind.TOOLS_REMOVED):
        header, _ = ledger.header(row)
        is_one = header.reason == Transition.ERASE and not (asked_for and REPLACED in header.refs)
        registry = _named(ledger, row) if is_one else None
        if registry is not None:
            erased[registry] = row.position
    return erased


def lost_with_registries(ledger: Ledger, reader: Reader, *, asked_for: bool = False) -> Iterator[int]:
    """Yield the positions of the events whose words are gone with a registry."""
    erased = erased_registries(ledger, reader, asked_for=asked_for)
    for kind in REGISTRY_KINDS if erased else ():
        for row in reader.of_kind(kind):
            if _is_before(ledger, row, erased):
                yield row.position


def is_lost_with_registry(ledger: Ledger, reader: Reader, row: SealedRow) -> bool:
    """Tell whether the words of what was said of a registry are gone with it."""
    erased = erased_registries(ledger, reader)
    return bool(erased) and _is_before(ledger, row, erased)


def _is_before(ledger: Ledger, row: SealedRow, erased: Mapping[str, int]) -> bool:
    registry = _named(ledger, row)
    return registry is not None and row.position < erased.get(registry, -1)


def _named(ledger: Ledger, row: SealedRow) -> str | None:
    """Return the registry that an event is about; None of one that does not open, so that nothing of it is read."""
    try:
        body = ledger.open(row).meta
    except (Corrupt, KeyMissing):
        return None
    assert isinstance(body, ToolsRegistered | ToolsRemoved), "rows of these kinds have these bodies"
    return registry_of(body)[0]
