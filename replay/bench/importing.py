"""Archives: what comes in line by line, and goes out again, beside plain rows of the same lines."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from muniment.events.identity import ConversationId, ConversationKey
from muniment.formats.writing.export_format import ExportFormat
from replay.bench.contestants import database
from replay.bench.figures import Amount, Figure, at_least
from replay.bench.scene import Measured, Measuring, Scene
from replay.measure import Rounds, timed_in_turns
from replay.stores import opened
from replay.zipf import CONVERSATION_TURNS, Dialogues

TURNS, TURNS_QUICK = 10_000, 200
ROUNDS, ROUNDS_QUICK = 3, 1
TURNS_MIN = 9_000  # per CPU-second
FLOOR = "floor: the same lines as plain JSON rows, one transaction"


def imported(scene: Scene) -> Measuring:
    """Import the same archive, each time into a new store: as JSON Lines, and as they are compressed."""
    count, rounds = (TURNS_QUICK, ROUNDS_QUICK) if scene.quick else (TURNS, ROUNDS)
    home = scene.fresh("import")
    plain, packed = home / "archive.jsonl", home / "archive.jsonl.gz"
    plain.write_bytes(b"".join(Dialogues().lines(count)))
    packed.write_bytes(gzip.compress(plain.read_bytes(), compresslevel=6))
    plainly = f"import of {count:,} turns of JSON Lines"
    works: dict[str, Callable[[], int]] = {
        plainly: partial(_import, home, plain),
        "the same, compressed": partial(_import, home, packed),
        FLOOR: partial(_insert, home, plain, count),
    }
    done = timed_in_turns(works, rounds)
    for name, each in done.items():
        yield Measured(
            Figure(
                subject="import",
                what=name,
                target=f">= {TURNS_MIN:,} turns per CPU-second" if name == plainly else None,
                measured=_rate(each),
                met=at_least(1000 / each.cpu.median, TURNS_MIN) if name == plainly else None,
                note=f"{1000 / each.wall.median:,.0f} turns/s; {plain.stat().st_size / 2**20:.1f} MiB of lines",
            )
        )
    yield from _exported(home, count, rounds)


def _exported(home: Path, count: int, rounds: int) -> Measuring:
    """Write every conversation out again, in the format for people and in the one that is read back."""
    runtime = opened(min(home.glob("store-*")))
    keys = [ConversationKey(conversation=ConversationId(f"dialogue-{n}")) for n in range(count // CONVERSATION_TURNS)]

    def export(form: ExportFormat) -> int:
        for key in keys:
            runtime.spaces.export(key, form)
        return count

    works = {str(form): partial(export, form) for form in (ExportFormat.MARKDOWN, ExportFormat.OTEL)}
    for form, each in timed_in_turns(works, rounds).items():
        yield Measured(Figure(subject="import", what=f"export of the same turns as {form}", measured=_rate(each)))
    runtime.close()


def _rate(each: Rounds) -> Amount:
    cpu = each.cpu
    return Amount(
        median=1000 / cpu.median, low=1000 / cpu.high, high=1000 / cpu.low, unit="turns per CPU-second", digits=0
    )


def _import(home: Path, file: Path) -> int:
    directory = home / f"store-{time.perf_counter_ns()}"
    directory.mkdir()
    with opened(directory) as runtime:
        return runtime.spaces.import_(str(file)).turns_committed


def _insert(home: Path, file: Path, count: int) -> int:
    """Read and insert the lines with nothing but the standard library."""
    rows = database(home / f"plain-{time.perf_counter_ns()}.db")
    rows.execute("CREATE TABLE lines (id INTEGER PRIMARY KEY, conversation TEXT NOT NULL, line TEXT NOT NULL)")
    rows.execute("BEGIN")
    with file.open() as lines:
        for line in lines:
            rows.execute(
                "INSERT INTO lines (conversation, line) VALUES (?, ?)", (json.loads(line)["conversation_id"], line)
            )
    rows.execute("COMMIT")
    rows.close()
    return count
