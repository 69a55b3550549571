"""A store on a disk that is really full, or that can only be read: each law in fresh processes, on a mounted disk.

What happens there is a story of its own process, which prints what it saw as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from replay.drills.small_disk import has_small_disks, on_small_disk

pytestmark = pytest.mark.skipif(not has_small_disks(), reason="no file system can be mounted here")

DISK_BYTES = 6 << 20
TOLD = """
import contextlib, json, os, subprocess, sys
from pathlib import Path
from replay.drills.small_disk import fill, read_only
import muniment
disk = Path(sys.argv[1])
os.environ |= {"HOME": str(disk), "XDG_STATE_HOME": str(disk / "state")}
os.environ.pop("MUNIMENT_STORE", None)

def commit(runtime, *numbers):
    for number in numbers:
        said = [{"role": "user", "content": f"word {number}"}]
        runtime.transcripts.commit({"conversation": "c", "turn": f"t{number}", "subject": "s", "messages": said})

def fresh(*words):
    done = subprocess.run([sys.executable, "-m", "muniment", *words], capture_output=True, text=True)
    return [done.returncode, done.stdout + done.stderr]

ERASE = ("lifecycle", "request", "c", "--transition", "erase", "--turn", "t2")

def left(*numbers):
    # somebody who is killed while the write-ahead log holds what was committed
    child = os.fork()
    if not child:
        commit(muniment.open(), *numbers)
        os._exit(0)
    os.waitpid(child, 0)

def log_of():
    return next(disk.glob("**/log.db"))
"""


def told(tmp_path: Path, story: str) -> Any:
    """Tell a story on a small disk; return what it printed last."""
    done = on_small_disk(tmp_path, DISK_BYTES, [sys.executable, "-c", TOLD + story, str(tmp_path)])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


LOOKING = """
looked = {name: fresh(*name.split()) for name in (
    "transcripts replay c --json", "system health --json", "evidence audit --json", "evidence inspect --json",
    "spaces usage --json", "transcripts search word --json", "evidence export c --no-certified",
)}
"""


# What leaves the store is put on record first; where that is impossible, nothing leaves.
UNRECORDED = {"evidence export c --no-certified"}


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["with muniment.open() as runtime: commit(runtime, 1, 2, 3)", "left(1, 2, 3)"])
def test_a_fresh_process_on_a_full_disk_reads_reports_and_erases(ending: str, tmp_path: Path) -> None:
    """Whether the last writer closed its store or was killed; what is erased is gone, and the rest is there."""
    looked, erased, again, key_versions, ballast = told(
        tmp_path,
        f"{ending}\nfill(disk)\n{LOOKING}"
        """
erased = fresh(*ERASE, "--reason", "x", "--requester", "me", "--yes", "--json")
again = fresh("transcripts", "replay", "c", "--json")
health = fresh("system", "health", "--json")
(disk / "filling").unlink()
fresh("system", "health")
versions = json.loads(health[1]).get("key_versions", 1)
print(json.dumps([looked, erased, again, versions, len(list(disk.glob("**/ballast")))]))
""",
    )
    refused = {name for name, (code, _) in looked.items() if code != 0}
    assert refused == UNRECORDED or (ending.startswith("left") and not refused), looked  # its log has room in it
    assert all("store.full" in looked[name][1] for name in refused), looked
    assert all(f"word {number}" in looked["transcripts replay c --json"][1] for number in (1, 2, 3))
    assert erased[0] == 0, erased
    assert again[0] == 0
    assert "word 1" in again[1]
    assert "word 2" not in again[1]
    assert (key_versions, ballast) == (1, 1)


def test_a_fresh_process_on_a_full_disk_says_that_nothing_can_be_committed(tmp_path: Path) -> None:
    """The refusal is `store.full`, and the store is whole afterwards."""
    refused, after = told(
        tmp_path,
        """
with muniment.open() as runtime: commit(runtime, 1)
fill(disk)
turn = json.dumps({"conversation": "c", "turn": "t2", "subject": "s",
    "messages": [{"role": "user", "content": "word 2" * 100_000}]})
(disk / "state" / "turn.json").write_text("")
done = subprocess.run([sys.executable, "-m", "muniment", "transcripts", "commit", "-"],
    input=turn, capture_output=True, text=True)
(disk / "filling").unlink()
print(json.dumps([[done.returncode, done.stderr], fresh("evidence", "inspect")]))
""",
    )
    assert (refused[0], "store.full" in refused[1]) == (8, True), refused
    assert after[0] == 0, after


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["with muniment.open() as runtime: commit(runtime, 1, 2, 3)", "left(1, 2, 3)"])
def test_a_store_that_can_only_be_read_is_read_and_audited(ending: str, tmp_path: Path) -> None:
    """On a medium that nobody can write to; writes are refused as such, and nothing is read that is not so."""
    looked, refused, opened = told(
        tmp_path,
        f"{ending}\nwith read_only(disk):\n    exec({LOOKING!r})\n"
        """
    refused = [fresh(*words) for words in (
        (*ERASE, "--reason", "x", "--requester", "me", "--yes"),
        ("evidence", "export", "c"), ("spaces", "rotate"),
    )]
    runtime = muniment.open()
    opened = [runtime.system.health().sound, len(runtime.conversations.list_().conversations)]
    runtime.close()
print(json.dumps([looked, refused, opened]))
""",
    )
    assert {name for name, (code, _) in looked.items() if code != 0} == UNRECORDED, looked
    assert all(f"word {number}" in looked["transcripts replay c --json"][1] for number in (1, 2, 3))
    assert [(code, "store.read_only" in said) for code, said in refused] == [(7, True)] * 3, refused
    assert opened == [True, 1]


def test_a_log_whose_last_writes_wait_beside_it_is_not_read_without_them(tmp_path: Path) -> None:
    """A write-ahead log without its index cannot be read there; the error says what to do, and a copy is read."""
    refused, copied = told(
        tmp_path,
        """
left(1, 2, 3)
log_of().with_name("log.db-shm").unlink()
with read_only(disk):
    refused = [fresh("transcripts", "replay", "c"), fresh("evidence", "audit")]
print(json.dumps([refused, fresh("transcripts", "replay", "c")]))
""",
    )
    assert [(code, "store.read_only" in said, "copy" in said) for code, said in refused] == [(7, True, True)] * 2
    assert copied[0] == 0


def test_a_writer_elsewhere_is_seen_where_a_store_can_only_be_read(tmp_path: Path) -> None:
    """A second, read-only way to the same files follows what is written through the first, and is never half right."""
    seen = told(
        tmp_path,
        """
import shutil
with muniment.open() as runtime: commit(runtime, 1)
other = disk / "other"
other.mkdir()
subprocess.run(["mount", "--bind", str(disk / ".local"), str(other)], check=True)
subprocess.run(["mount", "-o", "remount,bind,ro", str(other)], check=True)
there = lambda: muniment.open(other / "share" / "muniment")
def count(runtime):
    return [len(runtime.transcripts.replay({"conversation": "c"}).turns), runtime.system.health().sound]
still = there()
seen = [count(still)]
with muniment.open() as writer:
    commit(writer, 2)
    with there() as during:
        seen.append(count(during))
        commit(writer, 3)
        seen.append(count(during))
    seen.append(count(still))
seen.append(count(still))
with muniment.open() as writer: commit(writer, 4)
seen.append(count(still))
still.close()
print(json.dumps(seen))
""",
    )
    assert seen == [[1, True], [2, True], [3, True], [3, True], [3, True], [4, True]]
