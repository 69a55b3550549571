"""`python -m muniment.evidence`: verify an evidence bundle or a receipt with only the public key of the log.

Exit code 0: verified. 1: refused. 2: the command line is invalid or the file cannot be read. Only the verifier is
imported.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from muniment.evidence.verifier import (
    LINE_BYTES_MAX,
    BundleReport,
    ReceiptReport,
    Refused,
    read_lines,
    verify_bundle,
    verify_receipt,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the file that the command line names and print what it proves."""
    options = _parser().parse_args(arguments)
    try:
        with _open(options.file) as file:
            if options.command == "verify":
                report: BundleReport | ReceiptReport = verify_bundle(read_lines(file), options.key)
            else:
                report = verify_receipt(file.read(LINE_BYTES_MAX + 1), options.key)
    except OSError as error:
        sys.stderr.write(f"cannot read the file: {error.strerror}\n")
        return 2
    except Refused as refused:
        facts = {"verified": False, "code": refused.code, "at": refused.at}
        _write(json.dumps(facts, sort_keys=True) if options.json else f"REFUSED  {refused.code}  {refused.at}".rstrip())
        return 1
    facts = {"verified": True, **asdict(report)}
    _write(json.dumps(facts, sort_keys=True) if options.json else "\n".join(_lines(report)))
    return 0


def _open(file: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m muniment.evidence", description="Check evidence offline.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("verify", "check an export bundle"), ("verify-receipt", "check the receipt of one event")):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("file", help="the file to check, or - for standard input")
        command.add_argument(
            "--key", "--vkey", required=True, metavar="VKEY", help="the public key of the log: name+hash+base64"
        )
        command.add_argument("--json", action="store_true", help="report in JSON")
    return parser


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")


def _lines(report: BundleReport | ReceiptReport) -> Iterator[str]:
    return _bundle_lines(report) if isinstance(report, BundleReport) else _receipt_lines(report)


def _bundle_lines(report: BundleReport) -> Iterator[str]:
    yield f"VERIFIED  {report.events} events of {report.origin}, under the root of {report.size}"
    yield f"  root       {report.root}"
    yield f"  view       {report.view} (declared by the exporter)"
    yield f"  disclosed  {report.disclosed} fields, {report.withheld} withheld"
    for stream in report.streams:
        certified = "no certificate" if stream.through is None else f"certified through event {stream.through}"
        yield f"  stream {stream.stream}: {stream.events} events, {stream.turns} turns, {certified}"
    yield "  complete   " + ("yes: nothing is absent" if report.complete else "not proved: later events may be absent")


def _receipt_lines(report: ReceiptReport) -> Iterator[str]:
    header: dict[str, Any] = report.header
    yield f"VERIFIED  event {header['pos']} ({header['kind']}) of {report.origin}, under the root of {report.size}"
    yield f"  root       {report.root}"
    yield f"  stream     {header['stream']}, event {header['seq']}"
    yield f"  disclosed  {len(report.disclosed)} of {len(header['fields'])} fields"


if __name__ == "__main__":
    sys.exit(main())
