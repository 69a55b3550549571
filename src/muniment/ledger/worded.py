"""The words of an event put back where they belong in its body, or said to be gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from muniment.events.records import WORDS
from muniment.events.wording import Words, with_words, without_words

if TYPE_CHECKING:
    from muniment.evidence.header import Field
    from muniment.kernel.digest import Salts
    from muniment.ledger.ledger import Ledger, OpenedEvent


def worded(ledger: Ledger, opened: OpenedEvent) -> OpenedEvent:
    """Return an event with its words; words that the header commits to and that were destroyed read as erased.

    Raises `KeyMissing` where only one of a cell and its key is left.
    """
    fields = WORDS.get(type(opened.meta))
    if fields is None:
        return opened
    if opened.key is None and opened.row.content is None:
        header, _ = ledger.header(opened.row)
        return replace(opened, meta=without_words(opened.meta, fields, header.fields.keys() & fields.keys()))
    _, words = ledger.kept_content(opened)
    assert isinstance(words, Words), "the table of content has no other body for it"
    return replace(opened, meta=with_words(opened.meta, words))


def readable_fields(ledger: Ledger, opened: OpenedEvent) -> list[tuple[Salts, list[Field]]]:
    """Return all fields of an event that can still be read, by where their salts come from."""
    parts: list[tuple[Salts, list[Field]]] = [(opened.meta_seed, ledger.meta_fields(opened))]
    if opened.key is not None:
        salts, content = ledger.content(opened)
        parts.append((salts, ledger.content_fields(opened, content)))
    return parts
