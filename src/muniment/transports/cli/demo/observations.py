"""Observing the result of a step: in pages, in files, and through a verifier in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from muniment.errors import MunimentError
from muniment.governance.slices import SliceTurn
from muniment.governance.views import View
from muniment.operations.transcripts.replay import Slice
from muniment.runtime.runtime import Runtime
from muniment.transports.cli.demo.stage import DemoStage, DemoTable
from muniment.transports.cli.scalars import moment
from muniment.transports.cli.turn_page import message_words, withheld_field


def numbered(sequences: list[int | None]) -> bool:
    """Return whether sequences count from 1."""
    return sequences == list(range(1, len(sequences) + 1))


def found_on_disk(store: Path, texts: list[str]) -> bool:
    """Return whether a file of a store holds one of the texts, in UTF-8 or UTF-16."""
    sought = [text.encode(encoding) for text in texts for encoding in ("utf-8", "utf-16-le", "utf-16-be")]
    files = [path.read_bytes() for path in store.rglob("*") if path.is_file()]
    return any(one in file for file in files for one in sought)


def text_of(page: Slice) -> str:
    """Return everything that a page shows."""
    return json.dumps(msgspec.to_builtins(page), ensure_ascii=False)


def side_by_side(shown: list[Slice], place: int) -> list[list[str]]:
    """Return a row for each message of a turn, its tools and its references, with a cell for each view."""
    turns = [page.turns[place] for page in shown]
    number = str(turns[0].sequence)
    rows = []
    for index, message in enumerate(turns[0].messages):
        cells = [message_of(page, turn, index) for page, turn in zip(shown, turns, strict=True)]
        rows.append([number, message.role, *cells])
    observed = ["\n".join(f"{tool.tool}: {tool.summary}" for tool in turn.tools) for turn in turns]
    references = [references_of(page, turn) for page, turn in zip(shown, turns, strict=True)]
    return [*rows, [number, "observation", *observed], [number, "refers to", *references]]


def message_of(page: Slice, turn: SliceTurn, number: int) -> str:
    """Return a message as a page shows it."""
    items = [item for item in page.items if item.turn == turn.turn]
    return "\n".join(words.text for words in message_words(turn.messages[number], items))


def references_of(page: Slice, turn: SliceTurn) -> str:
    """Return the host references of a turn as a page shows them."""
    shown = [f"{ref.type} {ref.id}" + (f": {ref.label}" if ref.label else "") for ref in turn.host_refs]
    hidden = [withheld_field(item).text for item in page.items if item.turn == turn.turn and item.host_ref is not None]
    return "\n".join(shown + hidden)


def of_turn(page: Slice, place: int, title: str) -> DemoTable:
    """Return a turn as a page shows it, message by message."""
    turn = page.turns[place]
    rows = [
        [message.role, message.speaker_id, moment(message.observed_ms), message_of(page, turn, number)]
        for number, message in enumerate(turn.messages)
    ]
    return DemoTable(title=title, columns=["who", "speaker", "when", "content"], rows=rows)


def streams(proved: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the conversations of a verified bundle."""
    streams: list[dict[str, Any]] = proved.get("streams", [])
    return [one for one in streams if one["stream"] != 0]


def verifier(stage: DemoStage, path: Path) -> dict[str, Any]:
    """Run the verifier as a third party would: in an empty directory, with only the file and the public key."""
    elsewhere = stage.directory / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "muniment.evidence", "show", str(path), "--key", stage.vkey, "--json"],
        capture_output=True,
        check=False,
        cwd=elsewhere,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(elsewhere)},
    )
    proved: dict[str, Any] = json.loads(done.stdout)
    assert proved["verified"] is (done.returncode == 0), "the report of the verifier and its exit code agree"
    return proved


def noticed(stage: DemoStage, store: Path) -> tuple[str, str]:
    """Open a store and read all of it; return when a problem was noticed, and its code."""
    try:
        with stage.opened(store) as runtime:
            return read_all(stage, runtime)
    except MunimentError as refused:
        return "on opening", refused.code


def read_all(stage: DemoStage, runtime: Runtime) -> tuple[str, str]:
    """Return when a problem was noticed while reading all of a store, and its code."""
    fault = runtime.system.health().fault
    if fault is not None:
        return "on opening", fault
    try:
        runtime.transcripts.replay(stage.key, View.RAW_OWNER)
    except MunimentError as refused:
        return "on reading", refused.code
    return "no", ""
