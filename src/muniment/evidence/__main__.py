"""`python -m muniment.evidence`: check a bundle or a receipt with nothing but the public key of the log.

Exit code 0: proved. 1: refused. 2: the command or the file cannot be read. Nothing of the package but the verifier is
loaded.
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
    """Check the file that the command line names and print what it proves."""
    asked = _parser().parse_args(arguments)
    try:
        with _opened(asked.file) as file:
            if asked.command == "verify":
                proved: BundleReport | ReceiptReport = verify_bundle(read_lines(file), asked.key)
            else:
                proved = verify_receipt(file.read(LINE_BYTES_MAX + 1), asked.key)
    except OSError as problem:
        _say(f"cannot read the file: {problem.strerror}", to_errors=True)
        return 2
    except Refused as refused:
        told = {"verified": False, "code": refused.code, "at": refused.at}
        _say(json.dumps(told, sort_keys=True) if asked.json else f"REFUSED  {refused.code}  {refused.at}".rstrip())
        return 1
    facts = asdict(proved)
    _say(json.dumps({"verified": True, **facts}, sort_keys=True) if asked.json else "\n".join(_sentences(proved)))
    return 0


def _opened(file: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m muniment.evidence", description="Check evidence offline.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, told in (("verify", "check an export bundle"), ("verify-receipt", "check the receipt of one event")):
        command = commands.add_parser(name, help=told, description=told)
        command.add_argument("file", help="the file to check, or - for standard input")
        command.add_argument(
            "--key", "--vkey", required=True, metavar="VKEY", help="the public key of the log: name+hash+base64"
        )
        command.add_argument("--json", action="store_true", help="report in JSON")
    return parser


def _sentences(proved: BundleReport | ReceiptReport) -> Iterator[str]:
    if isinstance(proved, BundleReport):
        return _bundle_sentences(proved)
    return _receipt_sentences(proved)


def _bundle_sentences(proved: BundleReport) -> Iterator[str]:
    yield f"VERIFIED  {proved.events} events of {proved.origin}, under the root of {proved.size}"
    yield f"  root       {proved.root}"
    yield f"  view       {proved.view} (the exporter's word)"
    yield f"  disclosed  {proved.disclosed} fields, {proved.withheld} withheld"
    for stream in proved.streams:
        certified = "no certificate" if stream.through is None else f"certified through event {stream.through}"
        yield f"  stream {stream.stream}: {stream.events} events, {stream.turns} turns, {certified}"
    yield "  complete   " + ("yes: nothing is absent" if proved.complete else "not proved: later events may be absent")


def _receipt_sentences(proved: ReceiptReport) -> Iterator[str]:
    header: dict[str, Any] = proved.header
    yield f"VERIFIED  event {header['pos']} ({header['kind']}) of {proved.origin}, under the root of {proved.size}"
    yield f"  root       {proved.root}"
    yield f"  stream     {header['stream']}, event {header['seq']}"
    yield f"  disclosed  {len(proved.disclosed)} of {len(header['fields'])} fields"


def _say(text: str, *, to_errors: bool = False) -> None:
    (sys.stderr if to_errors else sys.stdout).write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
