"""The conversation of the demo in every format: `fixtures/exports`, compared byte for byte by the tests.

`python -m tests.exporting.golden --write` makes them again; what changes is then read in the diff.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import muniment
from muniment.events.binding import parse_json
from muniment.events.changes import Transition
from muniment.events.identity import ConversationId, ConversationKey
from muniment.events.turn import Turn
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.space.options import Options

FIXTURES = Path(__file__).parents[2] / "fixtures"
EXPORTS = FIXTURES / "exports"
SUFFIXES = {ExportFormat.MARKDOWN: "md", ExportFormat.OPENAI: "json", ExportFormat.OTEL: "jsonl"}
VIEWS = (View.EXPORT, View.RAW_OWNER)


def golden() -> dict[str, str]:
    """Return the documents by the names of their files; the second turn is masked."""
    turns = [parse_json(line, Turn) for line in (FIXTURES / "demo.jsonl").read_bytes().splitlines()]
    key = ConversationKey(conversation=turns[0].conversation or ConversationId(""), channel=turns[0].channel)
    with muniment.open("memory:", options=Options(sources=seeded_sources("exports"))) as runtime:
        for turn in turns:
            runtime.transcripts.commit(turn)
        runtime.lifecycle.request(key, Transition.MASK, "asked for", "desk", turns[1].turn)
        return {
            f"demo.{view}.{SUFFIXES[each]}": runtime.spaces.export(key, each, view).text
            for each in ExportFormat
            for view in VIEWS
        }


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    EXPORTS.mkdir(exist_ok=True)
    for name, text in golden().items():
        (EXPORTS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
