"""Many threads that meet a type for the first time at once."""

from __future__ import annotations

import subprocess
import sys

# A crash ends a process, so the crowd is let loose in one of its own; every round has types nobody has seen before.
CROWD = """
import sys, threading, types, msgspec
from muniment.events import binding

sys.setswitchinterval(1e-6)

def family():
    # Annotations are texts, as everywhere in the product: reading them is Python, where threads take turns.
    chain = [msgspec.defstruct("Depth0", [("number", "int | None", None)], module="crowd")]
    for depth in range(1, 20):
        fields = [("inner", f"Depth{depth - 1} | None", None), ("more", f"list[Depth{depth - 1}]", [])]
        chain.append(msgspec.defstruct(f"Depth{depth}", fields, module="crowd"))
    crowd = sys.modules["crowd"] = types.ModuleType("crowd")
    vars(crowd).update({each.__name__: each for each in chain})
    return [msgspec.defstruct(f"Outer{n}", [("inner", chain[-1])]) for n in range(4)]

def meet(start, into, read):
    start.wait()
    read(into)

DEEP = {"inner": {"inner": {"more": [{"more": []}]}}}

def packed(into):
    binding.bind({"inner": DEEP}, into)

def text(into):
    binding.parse_json(msgspec.json.encode({"inner": DEEP}), into)

for _ in range(60):
    for read in (packed, text):
        start = threading.Barrier(4)
        crowd = [threading.Thread(target=meet, args=(start, into, read)) for into in family()]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
"""


def test_types_may_be_met_first_by_many_threads_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", CROWD], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr[-500:].decode()
