"""Starting: what the command line costs before it does anything."""

from __future__ import annotations

import resource
import subprocess
import sys
from functools import partial

from replay.bench.figures import Figure, at_most, ranged
from replay.bench.scene import Measured, Measuring, Scene
from replay.measure import in_turns, spread

VERSION_CPU_S_MAX = 0.15
RUNS = 15
COMMAND = (sys.executable, "-c", "from muniment.transports.cli.__main__ import main; main()", "--version")
BARE = (sys.executable, "-c", "pass")


def version(scene: Scene) -> Measuring:
    """Ask for the version in fresh processes, beside Python that does nothing."""
    runs = {"ours": partial(cpu_s, COMMAND), "bare": partial(cpu_s, BARE)}
    done = in_turns(runs, 2 if scene.quick else RUNS)
    cost = spread(done["ours"])
    yield Measured(
        Figure(
            subject="start",
            what="`muniment --version` in a new process: CPU",
            target=f"<= {VERSION_CPU_S_MAX} s",
            measured=ranged(cost, "s"),
            met=at_most(cost.median, VERSION_CPU_S_MAX),
            note=f"empty Python program: {spread(done['bare']).told('s')}",
        )
    )


def cpu_s(command: tuple[str, ...]) -> float:
    """Return the CPU time of a command in a fresh process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
