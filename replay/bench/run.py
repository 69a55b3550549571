"""The benchmarks by name, and running them."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from replay.bench import (
    append,
    callers,
    derived,
    erasing,
    frames,
    hosts,
    importing,
    pages,
    proofs,
    redaction,
    served,
    side,
    start,
)
from replay.bench.figures import Figure
from replay.bench.footprint import footprint
from replay.bench.memory.beside import beside
from replay.bench.memory.recalling import projecting, recalling
from replay.bench.memory.remembering import remembering
from replay.bench.peers import missing, versions
from replay.bench.profile import Hot, hottest
from replay.bench.scene import Grown, Measured, Measuring, Scene
from replay.bench.search.study import search
from replay.machine import machine

# name -> what it runs on its own
BENCHES: dict[str, tuple[Callable[[Scene], Measuring], ...]] = {
    "append": (append.append, append.flushes, callers.sizes),
    "callers": (callers.callers,),
    "peers": (side.pages,),
    "import": (importing.imported,),
    "erasures": (erasing.flushes,),
    "start": (start.version,),
    "frames": (frames.frames,),
    "redaction": (redaction.found, redaction.speed),
    "search": (search,),
    "memory": (remembering, recalling, projecting, beside),
    "hosts": (hosts.hosts,),
    "served": (served.commits, served.page, served.mcp_start),
}

# name -> what it studies in a store that has grown to a size
STUDIES: dict[str, tuple[Callable[[Grown], Measuring], ...]] = {
    "page": (pages.pages,),
    "replay": (pages.whole,),
    "proofs": (proofs.checkpoints, proofs.inclusion, proofs.verification),
    "size": (pages.room,),
    "open": (pages.opening,),
    "rebuild": (derived.rebuilt,),
    "audit": (derived.audited,),
    "footprint": (footprint,),
    "erase": (erasing.erased,),
}

NAMES = (*BENCHES, *STUDIES)
SIZES, SIZES_QUICK, SIZE_LARGEST = (10_000, 100_000), (1_000,), 1_000_000


class Order(Struct, frozen=True, kw_only=True):
    """What is asked for."""

    names: tuple[str, ...] = NAMES
    peers: bool = False
    quick: bool = False
    million: bool = False
    scratch: Path | None = None


class Result(Struct, frozen=True, kw_only=True):
    """What came of a run; `profiles` by the figure that was missed."""

    machine: dict[str, str]
    at: str
    words: str
    quick: bool
    peers: str
    peers_missing: list[str]
    figures: list[Figure]
    profiles: dict[str, list[Hot]]


def run(order: Order, tell: Callable[[Figure], None]) -> Result:
    """Run what is asked for; tell each figure as it comes."""
    figures: list[Figure] = []
    profiles: dict[str, list[Hot]] = {}
    with tempfile.TemporaryDirectory(prefix="muniment-bench-", dir=order.scratch) as scratch:
        scene = Scene(Path(scratch), quick=order.quick, peers=order.peers, million=order.million)
        for measured in _measured(scene, order):
            figures.append(measured.figure)
            tell(measured.figure)
            if measured.figure.met is False and measured.path is not None:
                profiles[measured.figure.what] = hottest(measured.path)
        return Result(
            machine=machine(Path(scratch)),
            at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            words=scene.words.source,
            quick=order.quick,
            peers=versions() if order.peers else "",
            peers_missing=missing() if order.peers else ["all (not asked for)"],
            figures=sorted(figures, key=lambda one: SUBJECTS.index(one.subject)),
            profiles=profiles,
        )


def joined(results: Sequence[Result]) -> Result:
    """Return runs of the same code as one; what was measured again replaces what it was.

    Raises `ValueError` for runs of different commits, or of a different length.
    """
    first, last = results[0], results[-1]
    if len({(one.machine.get("commit"), one.quick) for one in results}) > 1:
        raise ValueError("runs of different code, or quick ones among others")
    figures = {(figure.subject, figure.what): figure for one in results for figure in one.figures}
    with_peers = next((one for one in results if one.peers), first)
    return Result(
        machine=last.machine,
        at=", ".join(dict.fromkeys(one.at for one in results)),
        words=first.words,
        quick=first.quick,
        peers=with_peers.peers,
        peers_missing=with_peers.peers_missing,
        figures=sorted(figures.values(), key=lambda one: SUBJECTS.index(one.subject)),
        profiles={what: hot for one in results for what, hot in one.profiles.items()},
    )


SUBJECTS = (
    "append",
    "callers",
    "import",
    "page",
    "replay",
    "rebuild",
    "audit",
    "proofs",
    "erase",
    "open",
    "footprint",
    "size",
    "start",
    "redaction",
    "search",
    "memory",
    "hosts",
    "served",
    "frames",
)


def _measured(scene: Scene, order: Order) -> Iterator[Measured]:
    for name in order.names:
        for bench in BENCHES.get(name, ()):
            yield from bench(scene)
    studies = [study for name in order.names for study in STUDIES.get(name, ())]
    if not studies:
        return
    gc.collect()
    gc.freeze()  # what the peers keep in memory is not walked again and again while ours is studied
    grown = Grown(scene)
    sizes = SIZES_QUICK if order.quick else (*SIZES, SIZE_LARGEST) if order.million else SIZES
    for size in sizes:
        grown.grow(size)
        for study in studies:
            yield from study(grown)
    grown.close()
    gc.unfreeze()
