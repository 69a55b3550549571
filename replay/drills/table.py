"""The drills by name: break things on purpose and look what is lost. Each has a control that must fail."""

from __future__ import annotations

from collections.abc import Callable

from replay.drills.canary import canary
from replay.drills.diskfull import diskfull
from replay.drills.governed import governed
from replay.drills.iofault import iofault
from replay.drills.kill9 import kill9
from replay.drills.outcome import Outcome
from replay.drills.powercut import powercut
from replay.drills.writers import writers

# name -> the drill, given how many (None: its usual number) and a seed
DRILLS: dict[str, Callable[[int | None, int], Outcome]] = {
    "powercut": powercut,
    "iofault": iofault,
    "diskfull": diskfull,
    "kill9": kill9,
    "canary": canary,
    "writers": writers,
    "governed": governed,
}
