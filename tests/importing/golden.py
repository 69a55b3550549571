"""What our own small files are understood as: `fixtures/imports/golden`, compared byte for byte by the tests.

For each file the report of its import, and every conversation that came of it as the lines of an `otel` export for the
raw owner. `python -m tests.importing.golden --write` makes them again; what changes is then read in the diff.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

import muniment
from muniment.events.identity import ConversationKey
from muniment.formats.writing.export_format import ExportFormat
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.space.options import Options

IMPORTS = Path(__file__).parents[2] / "fixtures/imports"
GOLDEN = IMPORTS / "golden"


def sources() -> list[Path]:
    """Return the files to import."""
    return sorted(path for path in IMPORTS.iterdir() if path.is_file())


def golden_of(source: Path) -> dict[str, str]:
    """Return the golden files of a file by their names."""
    with muniment.open("memory:", options=Options(sources=seeded_sources("golden"))) as runtime:
        report = runtime.spaces.import_(str(source))
        lines = [
            runtime.spaces.export(
                ConversationKey(conversation=each.conversation), ExportFormat.OTEL, View.RAW_OWNER
            ).text
            for each in sorted(runtime.conversations.list_().conversations, key=lambda one: one.conversation)
        ]
    told = msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
    return {f"{source.stem}.report.json": told, f"{source.stem}.otel.jsonl": "".join(lines)}


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    GOLDEN.mkdir(exist_ok=True)
    for source in sources():
        for name, text in golden_of(source).items():
            (GOLDEN / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
