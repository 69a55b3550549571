"""What tests of holds, retention and erasure share: worlds whose clock is moved by hand, and short ways to ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import muniment
from muniment.crypto.cell import OpenEnvelope
from muniment.errors import UnknownConversation
from muniment.events.identity import DEFAULT_SPACE, ConversationId, SubjectId, TurnId
from muniment.events.message import TextPart
from muniment.events.turn import Attribution, Turn
from muniment.evidence.pin import FilePin
from muniment.governance.limits import Limits
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.turns import TALK, answered, asked
from tests.worlds import OPERATOR, PINS, STORE, FileWorld, World, key_of, root_key

EVERYTHING = Scope(whole_space=DEFAULT_SPACE)
TALKING = Scope(conversation=TALK)
START_MS = 1_000


class Hands:
    """A clock whose hands are moved by the test."""

    def __init__(self) -> None:
        self.ms = START_MS

    def now_ms(self) -> int:
        """Return what it shows."""
        return self.ms


def by_hand(home: Path | None = None, limits: Limits = Limits()) -> tuple[World, Hands]:  # noqa: B008 - frozen
    """Return a world, in memory or in a directory, and its clock."""
    hands = Hands()

    def opened(times: int) -> muniment.Runtime:
        sources = replace(seeded_sources(f"custody-{times}"), clock=hands)
        if home is None:
            return muniment.open("memory:", keys=root_key(), options=Options(sources=sources, limits=limits))
        options = Options(sources=sources, pin=FilePin(home / PINS), limits=limits)
        return muniment.open(home / STORE, keys=root_key(), options=options)

    return (World(opened) if home is None else FileWorld(home, opened)), hands


def said(number: int, subject: str = "ada", conversation: str = TALK, acting: str | None = None) -> Turn:
    """Return a turn of two messages whose words have its number."""
    return Turn(
        turn=TurnId(f"turn-{number}"),
        subject=SubjectId(subject),
        conversation=ConversationId(conversation),
        messages=[asked(f"question {number} in {conversation}"), answered(f"answer {number} in {conversation}")],
        actor=None if acting is None else Attribution(acting_subject=acting),
    )


def talk(conversation: str) -> Scope:
    """Return the scope of a conversation."""
    return Scope(conversation=ConversationId(conversation))


def turn(number: int, conversation: str = TALK) -> Scope:
    """Return the scope of a turn."""
    return Scope(conversation=ConversationId(conversation), turn=TurnId(f"turn-{number}"))


def message(number: int, place: int, conversation: str = TALK) -> Scope:
    """Return the scope of a message of a turn."""
    return Scope(conversation=ConversationId(conversation), message=f"turn-{number}#{place}")


def of(subject: str) -> Scope:
    """Return the scope of a subject."""
    return Scope(subject=SubjectId(subject))


def hold(world: World, scope: Scope, reason: str = "a lawsuit") -> LifecycleReport:
    """Hold something."""
    return world.runtime.lifecycle.hold(scope, reason, OPERATOR)


def erase(world: World, scope: Scope) -> LifecycleReport:
    """Erase something."""
    return world.runtime.lifecycle.erase(scope, "asked for", OPERATOR)


def approval_calls(runtime: Runtime) -> dict[str, Callable[[], Any]]:
    """Return a call of every operation on approvals."""
    approvals = runtime.approvals
    return {
        "approvals.list": approvals.list_,
        "approvals.require": lambda: approvals.require([], "why", "who"),
        "approvals.confirm": lambda: approvals.confirm(0, "why", "who"),
        "approvals.refuse": lambda: approvals.refuse(0, "why", "who"),
    }


def words(world: World, conversation: str = TALK, view: View = View.RAW_OWNER) -> list[list[str]]:
    """Return the words that a view shows of a conversation, turn by turn."""
    try:
        shown = world.runtime.transcripts.replay(key_of(conversation), view, Limits().page_turns_max)
    except UnknownConversation:
        return []
    return [
        [part.content for each in one.messages for part in _parts(each) if isinstance(part, TextPart)]
        for one in shown.turns
    ]


def _parts(each: Any) -> list[Any]:
    return [] if each.redacted else list(each.parts)


def left(world: World, conversation: str = TALK) -> list[int]:
    """Return the turns of a conversation, by number, that have words."""
    return [number for number, shown in enumerate(words(world, conversation), start=1) if shown]


def with_subjects(world: World) -> World:
    """Fill a world with turns of several subjects in three conversations."""
    for number, subject in enumerate(("ada", "bob", "bob", "ada", "bob"), start=1):
        world.with_turn(said(number, subject))
    world.with_turn(said(1, "ada", "other", acting="bob")).with_turn(said(2, "ada", "other"))
    return world.with_turn(said(1, "ada", "third"))


def unnamed(world: FileWorld, position: int) -> None:
    """Let an event say nothing that can be read, as only a holder of the keys can do it; its content is as it was."""
    ledger = world.runtime._session.space.ledger
    with ledger.reader() as reader:
        row = reader.sealed(position)
    assert row is not None
    says_nothing = OpenEnvelope(b"", ledger.unsealed(row).key)
    ledger.transact(lambda writer: writer.tx.put_envelopes([(position, writer.sealed_envelope(row, says_nothing))]))
    world.reopened()
