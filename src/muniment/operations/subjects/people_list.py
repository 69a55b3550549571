"""Who there is: everybody whose turns there are, who speaks in one or is named by one, counted."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from muniment.declaration.session import Session
from muniment.events.identity import SubjectId
from muniment.governance.cursor_lifetime import CursorLifetime, check_unchanged
from muniment.governance.listing import LifecycleFilter
from muniment.operations.page import Page, short_leaf
from muniment.projections.conversation_list import ConversationList, ListedConversation


class SubjectEntry(Struct, frozen=True, kw_only=True):
    """A subject: how many listed conversations and turns are about it, and when the first and last were observed.

    `turns` are its own; `named_in` are turns of others in which it speaks or is named.
    """

    subject: SubjectId
    conversations: int
    turns: int
    named_in: int
    first_observed_ms: int
    last_observed_ms: int


class SubjectsPage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A page of subjects by name."""

    subjects: list[SubjectEntry]
    has_more: bool
    next_cursor: str | None = None


class SubjectsMark(Struct, frozen=True, kw_only=True, array_like=True, forbid_unknown_fields=True):
    """How many subjects were shown, and the newest event that could change who is listed."""

    shown: int
    generation: int
    leaf: str
    term: CursorLifetime


class _Count:
    """What is known of one person so far."""

    __slots__ = ("conversations", "first_ms", "last_ms", "named_in", "turns")

    def __init__(self) -> None:
        self.conversations = self.turns = self.named_in = 0
        self.first_ms: int | None = None
        self.last_ms = 0

    def add(self, *, turns: int, named_in: int, first_ms: int, last_ms: int) -> None:
        """Take turns of one conversation."""
        self.turns += turns
        self.named_in += named_in
        self.first_ms = first_ms if self.first_ms is None else min(self.first_ms, first_ms)
        self.last_ms = max(self.last_ms, last_ms)


def list_subjects(session: Session, lifecycle: LifecycleFilter, limit: int, cursor: str | None) -> SubjectsPage:
    """Return a page of those whom listed turns are about; of a caller that speaks for one subject, that one alone."""
    page = Page(session, "subjects", SubjectsMark, limit, cursor)
    with session.seen.catalogue() as caught:
        mark = page.begin_run(caught.reader, lifecycle, str(page.limit))
        generation = caught.listing.generation(None)
        newest = (generation.position, short_leaf(generation.leaf))
        if mark is not None:
            check_unchanged((mark.generation, mark.leaf), newest)
        counts = _counted(caught.listing, lifecycle)
        names = sorted(
            (caught.listing.people[person], person)
            for person in counts
            if session.access.subject in {None, caught.listing.people[person]}
        )
    after = 0 if mark is None else mark.shown
    shown, more = page.cut(names[after : after + page.limit + 1])
    following = None
    if more:
        position, leaf = newest
        following = page.cursor_to(
            SubjectsMark(shown=after + len(shown), generation=position, leaf=leaf, term=page.term)
        )
    return SubjectsPage(
        subjects=[_entry(name, counts[person]) for name, person in shown], has_more=more, next_cursor=following
    )


def _entry(name: str, count: _Count) -> SubjectEntry:
    return SubjectEntry(
        subject=SubjectId(name),
        conversations=count.conversations,
        turns=count.turns,
        named_in=count.named_in,
        first_observed_ms=count.first_ms or 0,
        last_observed_ms=count.last_ms,
    )


def _counted(listing: ConversationList, lifecycle: LifecycleFilter) -> dict[int, _Count]:
    """Count the listed turns of everybody."""
    counts: dict[int, _Count] = {}
    for one in listing.conversations():
        here: set[int] = set()
        for person, own, first_ms, last_ms, turns in _of_conversation(one, lifecycle):
            count = counts.setdefault(person, _Count())
            count.add(turns=turns * own, named_in=turns * (not own), first_ms=first_ms, last_ms=last_ms)
            here.add(person)
        for person in here:
            counts[person].conversations += 1
    return counts


def _of_conversation(one: ListedConversation, lifecycle: LifecycleFilter) -> Iterator[tuple[int, bool, int, int, int]]:
    """Yield who is in listed turns of a conversation, whether as their subject, when they were, and how many."""
    entry, people = one.entry(lifecycle), one.people
    if entry is None:
        return
    owners = list(people.owned)
    if len(owners) == 1:
        yield owners[0], True, entry.first_ms, entry.last_ms, entry.turns
        if not people.others:
            return
    named: dict[int, list[int]] = {}
    for person, sequences in people.others.items():
        for sequence in sequences:
            named.setdefault(sequence, []).append(person)
    for side in one.shown(lifecycle):
        for observed_ms, sequence in zip(side.times, side.sequences, strict=True):
            if len(owners) > 1:
                yield people.owners[sequence - 1], True, observed_ms, observed_ms, 1
            for person in named.get(sequence, ()):
                yield person, False, observed_ms, observed_ms, 1
