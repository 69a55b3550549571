"""Erasing: what a turn and a conversation cost by the size of the log, and how often the disk is flushed for it."""

from __future__ import annotations

from functools import partial

from muniment.events.identity import ConversationId, TurnId
from muniment.operations.lifecycle.scope import Scope
from muniment.runtime.runtime import Runtime
from replay.bench.figures import Amount, Figure, at_most, ranged
from replay.bench.scene import Grown, Measured, Measuring, Scene
from replay.disk import watched
from replay.measure import spread, timed
from replay.stores import opened

TURNS = 60
SINGLE = 3
TURN_CPU_MS_MAX = 20
CONVERSATION_RATIO_MAX = 2.0  # times one turn, where its turns are beside one another
BESIDE = "beside"  # a conversation that is there to be erased


def erased(grown: Grown) -> Measuring:
    """Erase turns one by one, then the conversation that they belong to; nothing of the one that grows."""
    name = f"{BESIDE}-{grown.turns}"
    for turn in grown.words.turns(name, 1, TURNS):
        grown.runtime.transcripts.commit(turn)
    singly = [timed(partial(_erase, grown.runtime, _turn(name, number))) for number in range(1, SINGLE + 1)]
    whole = timed(partial(_erase, grown.runtime, Scope(conversation=ConversationId(name))))
    cpu, wall = spread([one.cpu_ms for one in singly]), spread([one.wall_ms for one in singly])
    ratio = whole.cpu_ms * whole.pieces / cpu.median
    yield Measured(
        Figure(
            subject="erase",
            what=f"one turn erased from a log of {grown.turns:,} turns, receipt included: CPU",
            target=f"<= {TURN_CPU_MS_MAX} ms",
            measured=ranged(cpu, "ms", 1),
            met=at_most(cpu.median, TURN_CPU_MS_MAX),
            note=f"wall {wall.told('ms', 1)}; replaces the key of its segment of 1,024 events",
        )
    )
    yield Measured(
        Figure(
            subject="erase",
            what=f"a conversation of {TURNS - SINGLE} turns beside one another erased from the same log: CPU compared "
            "with one turn",
            target=f"<= {CONVERSATION_RATIO_MAX} x",
            measured=Amount(median=ratio, unit="x", digits=2),
            met=at_most(ratio, CONVERSATION_RATIO_MAX),
            note=f"{whole.cpu_ms * whole.pieces:,.1f} ms CPU, {whole.wall_ms * whole.pieces:,.1f} ms in all",
        )
    )


def flushes(scene: Scene) -> Measuring:
    """Count how often the disk is flushed for an erasure, of one turn and of a conversation."""
    with watched() as disk, opened(scene.fresh("erasing")) as runtime:
        for turn in scene.words.turns(BESIDE, 1, TURNS):
            runtime.transcripts.commit(turn)
        for what, scope in (
            ("one turn", _turn(BESIDE, 1)),
            (f"a conversation of {TURNS - 1} turns", Scope(conversation=ConversationId(BESIDE))),
        ):
            before = disk.wal_syncs + disk.other_syncs
            _erase(runtime, scope)
            yield Measured(
                Figure(
                    subject="erase",
                    what=f"flushes of SQLite's files for erasing {what} (counted below SQLite)",
                    measured=Amount(median=disk.wal_syncs + disk.other_syncs - before, unit="flushes", digits=0),
                    note="flushes of key files are not included",
                )
            )


def _turn(conversation: str, number: int) -> Scope:
    return Scope(conversation=ConversationId(conversation), turn=TurnId(f"turn-{number}"))


def _erase(runtime: Runtime, scope: Scope) -> int:
    report = runtime.lifecycle.erase(scope, "asked for", "bench")
    assert report.changed, "it was there"
    return report.affected_turns
