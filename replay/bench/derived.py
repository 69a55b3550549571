"""What is made from the log: every projection once more, and the audit that holds all of it against its evidence."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from muniment.governance.views import View
from muniment.space.space import Space
from replay.bench.figures import Amount, Figure
from replay.bench.scene import Grown, Measured, Measuring
from replay.measure import timed
from replay.stores import inside

INDEX_TURNS_MAX = 200_000  # the index of a million is measured where searches are


def _catalogue(space: Space) -> None:
    space.catalogue.drop()
    space.transcript.drop()
    space.catalogue.digests()


def _index(space: Space) -> None:
    space.indexes.drop()
    with space.indexes.caught_up(View.HOST_UI):
        pass


REBUILT: dict[str, tuple[Callable[[Space], None], int | None]] = {
    "catalogue, changes and links, and their digests": (_catalogue, None),
    "search index of one view": (_index, INDEX_TURNS_MAX),
}


def rebuilt(grown: Grown) -> Measuring:
    """Forget each projection and make it from the log alone."""
    engine = inside(grown.directory)
    for name, (rebuild, most) in REBUILT.items():
        if most is not None and grown.turns > most:
            continue
        cpu = time.process_time()
        rebuild(engine)
        cpu = time.process_time() - cpu
        yield Measured(
            Figure(
                subject="rebuild",
                what=f"{name}, rebuilt from a log of {grown.turns:,} turns",
                measured=Amount(median=grown.turns / cpu, unit="turns per CPU-second", digits=0),
            )
        )
    engine.store.close()


def audited(grown: Grown) -> Measuring:
    """Audit the whole log: headers, chains, tree, checkpoints."""
    done = timed(partial(_audit, grown))
    yield Measured(
        Figure(
            subject="audit",
            what=f"audit of a log of {grown.turns:,} turns: headers, chains, tree and signed checkpoints",
            measured=Amount(median=1000 / done.cpu_ms, unit="events per CPU-second", digits=0),
            note=f"{done.pieces:,} events in {done.wall_ms * done.pieces / 1000:.1f} s; no secret key is needed",
        )
    )


def _audit(grown: Grown) -> int:
    return sum(one.events for one in grown.runtime.evidence.audit().spaces)
