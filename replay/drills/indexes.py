"""Indexes at rest with changed bits: what a search finds does not change, and a changed index is not used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from muniment.errors import MunimentError
from muniment.governance.views import View
from muniment.ledger.snapshots import PREFIX, SUFFIX
from muniment.runtime.runtime import Runtime
from replay.drills.asking import Asking
from replay.drills.everything import Verdict
from replay.drills.flips import Flip, files_of
from replay.stores import keeping_small_indexes, opened

QUESTION = Asking(query="the order and with what a coffee for to")


class Indexes:
    """The indexes of a closed store, one file for each view that was searched. Nobody else uses the store meanwhile."""

    def __init__(self, home: Path) -> None:
        self._home = home
        with keeping_small_indexes(), opened(home) as runtime:
            self._before = _found(runtime)
        self._held = {path: (home / path).read_bytes() for path in files_of(home)}
        assert len(self.sizes) == len(View), "each was kept"
        with opened(home) as runtime:
            assert _found(runtime) == self._before, "they are what they were made of"
            assert all(one.from_snapshot for one in runtime.system.health().indexes), "who looks uses them"
        self.counts: Counter[Verdict] = Counter()
        self.silent: list[Flip] = []

    @property
    def sizes(self) -> dict[Path, int]:
        """The files of the indexes, and how large they are."""
        return {path: len(held) for path, held in self._held.items() if path.suffix == SUFFIX}

    def changed(self, flips: Sequence[Flip]) -> None:
        """Change a bit in some indexes, one in each; judge them."""
        for path, held in self._held.items():
            (self._home / path).write_bytes(held)
        for flip in flips:
            bad = bytearray(self._held[flip.path])
            bad[flip.at] ^= 1 << flip.bit
            (self._home / flip.path).write_bytes(bad)
        with opened(self._home) as runtime:
            found = _found(runtime)
            refused = {one.view for one in runtime.system.health().indexes if one.refused is not None}
        for flip in flips:
            view = View(flip.path.name.removeprefix(PREFIX).removesuffix(SUFFIX))
            if found[view] != self._before[view]:
                self.counts[Verdict.SILENT] += 1
                self.silent.append(flip)
            else:
                self.counts[Verdict.REFUSED if view in refused else Verdict.HARMLESS] += 1


def _found(runtime: Runtime) -> dict[View, object]:
    """Return what a search finds under each view; an error is no answer that may come of an index."""
    found: dict[View, object] = {}
    for view in View:
        try:
            found[view] = QUESTION.ask(runtime, view)
        except MunimentError as refused:
            found[view] = refused.code
    return found
