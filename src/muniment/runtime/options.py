"""How a store is opened, beyond where it is."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from muniment.evidence.pin import Pin
from muniment.governance.limits import Limits
from muniment.kernel.sources import Sources, system_sources

Progress = Callable[[str, int, int], None]  # what is being done, how much is done, of how much


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """Report progress to nobody."""


class Options(Struct, frozen=True, kw_only=True):
    """How a store is opened. `pin` None takes the file pin of the settings; a store in memory then has none."""

    create: bool = True
    pin: Pin | None = None
    limits: Limits = Limits()
    sources: Sources = system_sources()
    progress: Progress = no_progress


DEFAULTS = Options()
