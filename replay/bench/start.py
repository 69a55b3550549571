"""Starting: what the command line costs before it does anything."""

from __future__ import annotations

import resource
import subprocess
import sys

from replay.bench.figures import Figure, at_most
from replay.bench.scene import Measured, Measuring, Scene
from replay.measure import spread

VERSION_CPU_S_MAX = 0.15
RUNS = 15
COMMAND = (sys.executable, "-c", "from muniment.transports.cli.__main__ import main; main()", "--version")
BARE = (sys.executable, "-c", "pass")


def version(scene: Scene) -> Measuring:
    """Ask for the version in fresh processes, beside Python that does nothing."""
    ours, bare = [], []
    for _ in range(3 if scene.quick else RUNS):
        ours.append(_cpu_s(COMMAND))
        bare.append(_cpu_s(BARE))
    cost = spread(ours)
    yield Measured(
        Figure(
            subject="start",
            what="`muniment --version` in a fresh process: CPU",
            target=f"<= {VERSION_CPU_S_MAX} s",
            measured=cost.told("s"),
            met=at_most(cost.median, VERSION_CPU_S_MAX),
            note=f"Python that does nothing: {spread(bare).told('s')}",
        )
    )


def _cpu_s(command: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
