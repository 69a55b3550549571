"""The drills by name: break things on purpose and look what is lost. Each has a control that must fail.

Each has three sizes: its usual one when it is asked for by name, one for every run of the gate, and the figure that a
release is checked against.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from replay.drills.bitflip import bitflip
from replay.drills.canary import canary
from replay.drills.clock import clock
from replay.drills.diskfull import diskfull
from replay.drills.edits import edits
from replay.drills.erase import erase
from replay.drills.found import found
from replay.drills.governed import governed
from replay.drills.host_kill9 import host_kill9
from replay.drills.hostile import hostile
from replay.drills.interrupt import interrupt
from replay.drills.iofault import iofault
from replay.drills.isolation import isolation
from replay.drills.kill9 import kill9
from replay.drills.outcome import Outcome
from replay.drills.powercut import powercut
from replay.drills.race import race
from replay.drills.served_abuse import served_abuse
from replay.drills.served_kill9 import served_kill9
from replay.drills.soak import soak
from replay.drills.steps import steps
from replay.drills.writers import writers
from replay.drills.wrongkey import wrongkey


class Drill(Struct, frozen=True, kw_only=True):
    """A drill, given how many (None: its usual number) and a seed; of what; how many for the gate and for a release."""

    run: Callable[[int | None, int], Outcome]
    unit: str
    gate: int
    release: int


DRILLS: dict[str, Drill] = {
    "powercut": Drill(run=powercut, unit="power cuts", gate=10_000, release=1_000_000),
    "iofault": Drill(run=iofault, unit="faults", gate=250, release=3000),
    "diskfull": Drill(run=diskfull, unit="full disks", gate=3, release=100),
    "kill9": Drill(run=kill9, unit="killed writers", gate=20, release=1000),
    "host_kill9": Drill(run=host_kill9, unit="killed hosts an adapter", gate=10, release=300),
    "served_kill9": Drill(run=served_kill9, unit="killed servers", gate=3, release=100),
    "served_abuse": Drill(run=served_abuse, unit="damaged requests", gate=300, release=5000),
    "interrupt": Drill(run=interrupt, unit="interrupts", gate=600, release=10_000),
    "writers": Drill(run=writers, unit="turns a writer", gate=50, release=200),
    "race": Drill(run=race, unit="calls a thread", gate=20, release=400),
    "bitflip": Drill(run=bitflip, unit="bytes of 256 MiB", gate=500, release=20_000),
    "edits": Drill(run=edits, unit="edits", gate=100, release=2000),
    "wrongkey": Drill(run=wrongkey, unit="wrong keys", gate=1000, release=10_000),
    "canary": Drill(run=canary, unit="canaries", gate=1500, release=10_000),
    "erase": Drill(run=erase, unit="erasures", gate=24, release=1000),
    "steps": Drill(run=steps, unit="killed erasures", gate=8, release=300),
    "isolation": Drill(run=isolation, unit="pairs", gate=10, release=300),
    "hostile": Drill(run=hostile, unit="hostile inputs", gate=10_000, release=1_000_000),
    "governed": Drill(run=governed, unit="turns", gate=500, release=10_000),
    "search": Drill(run=found, unit="turns", gate=600, release=90_000),
    "soak": Drill(run=soak, unit="turns", gate=4000, release=1_000_000),
    "clock": Drill(run=clock, unit="rounds", gate=3, release=100),
}
