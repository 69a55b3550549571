"""Evidence: checkpoints, inclusion proofs, and what a third party needs to check an export."""

from __future__ import annotations

import io
import time
from functools import partial

from muniment.events.identity import TurnId
from muniment.evidence import verifier
from muniment.evidence.tree import inclusion_proof
from muniment.governance.views import View
from replay.bench.contestants import CONVERSATION
from replay.bench.figures import Amount, Figure, at_least, at_most, ranged
from replay.bench.scene import Grown, Measured, Measuring
from replay.measure import Round, Work, spread, timed
from replay.stores import inside
from replay.words import key_of

CHECKPOINT_MS_MAX = 0.3
PROOF_MS_MAX = 0.3
VERIFY_EVENTS_MIN = 15_000
TIMES = 50
PROOFS = 500
EXPORT_TURNS_MAX = 20_000


def checkpoints(grown: Grown) -> Measuring:
    """Sign the head: the checkpoint alone, and the whole operation on heads that have none yet."""
    engine = inside(grown.directory)

    def sign() -> int:
        for _ in range(TIMES):
            with engine.store.reader() as reader:
                engine.notary.sign(reader, reader.frontier())
        return TIMES

    signed = [timed(sign) for _ in range(5)]
    cpu, wall = spread([one.cpu_ms for one in signed]), spread([one.wall_ms for one in signed])
    yield Measured(
        Figure(
            subject="proofs",
            what=f"checkpoint at {grown.turns:,} turns: head read, root computed, signed",
            target=f"<= {CHECKPOINT_MS_MAX} ms",
            measured=ranged(wall, "ms"),
            met=at_most(wall.median, CHECKPOINT_MS_MAX),
            note=f"CPU {cpu.told('ms')}",
        ),
        sign,
    )
    engine.store.close()
    rounds: list[Round] = []
    for _ in range(TIMES):
        grown.grow(grown.turns + 1)
        rounds.append(timed(partial(_checkpoint, grown)))
    cpu, wall = spread([one.cpu_ms for one in rounds]), spread([one.wall_ms for one in rounds])
    yield Measured(
        Figure(
            subject="proofs",
            what="the whole operation: signed, stored, pinned, and flushed in both places: CPU",
            measured=ranged(cpu, "ms"),
            note=f"wall {wall.told('ms')}, with three disk flushes",
        )
    )


def _checkpoint(grown: Grown) -> int:
    grown.runtime.evidence.checkpoint()
    return 1


def inclusion(grown: Grown) -> Measuring:
    """Prove turns from all over the log: the proof alone, and the whole receipt through the front door."""
    engine = inside(grown.directory)
    with engine.store.reader() as reader:
        size = reader.frontier().size
        stride = max(1, size // PROOFS)

        def prove() -> int:
            return len([inclusion_proof(reader, position, size) for position in range(0, size, stride)])

        proofs = [timed(prove) for _ in range(5)]
        cpu, wall = spread([one.cpu_ms for one in proofs]), spread([one.wall_ms for one in proofs])
        yield Measured(
            Figure(
                subject="proofs",
                what=f"inclusion proof in a log of {size:,} events: p50",
                target=f"<= {PROOF_MS_MAX} ms",
                measured=ranged(wall, "ms"),
                met=at_most(wall.median, PROOF_MS_MAX),
                note=f"CPU {cpu.told('ms')}",
            ),
            prove,
        )
    engine.store.close()
    receipts = timed(_receipts(grown))
    yield Measured(
        Figure(
            subject="proofs",
            what="receipt of one turn: found, decrypted, proved and verified: CPU",
            measured=Amount(median=receipts.cpu_ms, unit="ms"),
            note=f"wall {receipts.wall_ms:.3f} ms",
        )
    )


def _receipts(grown: Grown) -> Work:
    def work() -> int:
        for number in range(1, TIMES + 1):
            turn = TurnId(f"turn-{number * grown.turns // (TIMES + 1) + 1}")
            grown.runtime.evidence.prove(key_of(CONVERSATION), turn)
        return TIMES

    return work


def verification(grown: Grown) -> Measuring:
    """Export everything, and verify it offline, as a third party would."""
    if grown.turns > EXPORT_TURNS_MAX:
        return
    cpu = time.process_time()
    bundle = grown.runtime.evidence.export(key_of(CONVERSATION), View.EXPORT)
    cpu = time.process_time() - cpu
    events = int(str(bundle.summary["events"]))
    yield Measured(
        Figure(
            subject="proofs",
            what=f"certified export of {events:,} events as one bundle",
            measured=Amount(median=events / cpu, unit="events per CPU-second", digits=0),
        )
    )
    key = str(bundle.summary["vkey"])
    text = bundle.text.encode()
    cpu = time.process_time()
    report = verifier.verify_bundle(verifier.read_lines(io.BytesIO(text)), key)
    cpu = time.process_time() - cpu
    rate = report.events / cpu
    yield Measured(
        Figure(
            subject="proofs",
            what=f"offline verification of an export of {report.events:,} events ({report.disclosed:,} values)",
            target=f">= {VERIFY_EVENTS_MIN:,} events per CPU-second",
            measured=Amount(median=rate, unit="events per CPU-second", digits=0),
            met=at_least(rate, VERIFY_EVENTS_MIN),
            note=f"{len(text) / 2**20:.1f} MiB of bundle",
        ),
        lambda: verifier.verify_bundle(verifier.read_lines(io.BytesIO(text)), key),
    )
