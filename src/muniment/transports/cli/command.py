"""One operation as a command: read the request, ask for confirmation, open the store, run, report.

An operation that may hide or destroy content asks first; `--yes` answers. Without a terminal to ask, it is refused
before the store is opened. A dry run changes nothing and asks nothing.
"""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from textwrap import wrap
from typing import Any

import click
import msgspec
from msgspec import Struct

from muniment.declaration.operation import (
    Document,
    DocumentFolder,
    JudgedReport,
    Operation,
    ResultTable,
    bound,
    perform,
)
from muniment.errors import InvalidInput
from muniment.transports.cli.confirming import confirm, is_confirmed
from muniment.transports.cli.failure import VERDICT, Misfit
from muniment.transports.cli.fields import (
    Field,
    fields_of,
    json_of,
    parameters_of,
    stream_typed,
    upload_field,
    word_for,
)
from muniment.transports.cli.folders import hand_over_folder
from muniment.transports.cli.json_text import laid_out
from muniment.transports.cli.once import KEY_HELP, KEY_OPTION, performed_once, takes_one_key
from muniment.transports.cli.opening import opened
from muniment.transports.cli.output import page_on, require_writable, write_csv, write_json, write_private
from muniment.transports.cli.plain_page import OutputPage
from muniment.transports.cli.shell_paths import file_completion
from muniment.transports.cli.store_options import SHARED, StoreOptions, door_options

EXAMPLE_COLUMNS = 68  # of a line of an example, so that it fits a page of 80 with its margins


def command_of(operation: Operation, name: str | None = None) -> click.Command:
    """Return the command that runs an operation, under its own name or another."""
    fields = fields_of(operation.request, SHARED)
    upload = None
    if operation.upload is not None:
        upload = upload_field(operation.upload, operation.upload_help, several=operation.uploads_several)
    own: list[click.Parameter] = []
    if is_confirmed(operation):
        own.append(click.Option(["--yes"], is_flag=True, help="Do not ask for confirmation."))
    if operation.report is Document:
        own.append(
            click.Option(
                ["--out"],
                metavar="FILE",
                shell_complete=file_completion,
                help="Write the document to a file, readable by you alone.",
            )
        )

    if operation.report is DocumentFolder:
        own.append(
            click.Option(["--out"], metavar="DIR", help="Write the files below a directory, readable by you alone.")
        )
    if takes_one_key(operation, fields):
        own.append(click.Option([KEY_OPTION], metavar="TEXT", help=KEY_HELP))
    if issubclass(operation.report, ResultTable):
        own.append(click.Option(["--csv"], is_flag=True, help="Write the rows as CSV."))
    command = Verb(
        name or operation.name,
        params=[*parameters_of(fields if upload is None else [upload, *fields]), *own, *door_options()],
        help=f"{operation.summary}\n\n{operation.description}",
        short_help=operation.summary,
        epilog=call_of(operation, fields if upload is None else [upload, *fields]),
    )
    command.operation, command.fields, command.upload = operation, fields, upload
    return command


def call_of(operation: Operation, fields: list[Field]) -> str | None:
    """Return the shortest call of an operation that is complete, and what is in its files, for the help.

    None when its name alone is a complete call, and there are no files.
    """
    files = [field for field in fields if field.read is not None and field.example is not None]
    told = [_shortest_call(operation, fields)] if any(field.is_shown for field in fields) else []
    told += [f"The FILE of {field.flag}, for example:\n\n\b\n{laid_out(field.example, indent=2)}" for field in files]
    return "\n\n".join(told) or None


def _shortest_call(operation: Operation, fields: list[Field]) -> str:
    words = [field.name.upper() for field in fields[:1] if field.required]
    words += [f"--{field.name.replace('_', '-')} {word_for(field)}" for field in fields[len(words) :] if field.is_shown]
    verb = operation.name.replace("_", "-")
    call = wrap(f"muniment {operation.group} {verb} {' '.join(words)}", EXAMPLE_COLUMNS, break_on_hyphens=False)
    return "At least:\n\n\b\n  " + " \\\n      ".join(call)


class Verb(click.Command):
    """The command of an operation."""

    operation: Operation
    fields: list[Field]
    upload: Field | None

    def invoke(self, ctx: click.Context) -> int:
        """Run the operation with what was typed and report on standard output; a verdict becomes the exit code."""
        door, operation, typed = ctx.ensure_object(StoreOptions), self.operation, ctx.params
        try:
            upload = None if self.upload is None else stream_typed(self.upload, typed)
            request = bound(operation, json_of(self.fields, _with_format(self.fields, typed)))
        except InvalidInput as refused:
            if refused.problem == "missing_field":
                members = [field for field in self.fields if field.path[:-1] == (refused.at,)]
                offered = [] if any(field.required for field in members) else [field.flag for field in members]
                raise Misfit(refused.at, refused.problem, choices=offered, ctx=ctx) from None  # the help has a call
            raise
        if is_confirmed(operation) and not typed["yes"] and not typed.get("dry_run"):
            confirm(door, operation, request)
        if typed.get("out") is not None and operation.report is not DocumentFolder:
            require_writable(Path(typed["out"]))
        with opened(door, operation) as runtime:
            group = getattr(runtime, operation.group)
            key = typed["idempotency_key"] if takes_one_key(operation, self.fields) else None
            report = (
                perform(group, operation, request, upload)
                if key is None
                else performed_once(group, operation, request, key, upload)
            )
        if isinstance(report, Document):
            _hand_over(report, typed["out"], as_json=door.as_json)
        elif isinstance(report, DocumentFolder):
            hand_over_folder(report, typed["out"], as_json=door.as_json)
        elif typed.get("csv"):
            write_csv(report)
        elif door.as_json:
            write_json(report)
        else:
            _tell(report, page_on(sys.stdout))
        verdict = report.verdict if isinstance(report, JudgedReport) else None
        return 0 if verdict is None else VERDICT


def _with_format(fields: list[Field], typed: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed; a format that was not typed is the one that the name of the file ends with."""
    out, format_field = typed.get("out"), next((field for field in fields if field.name == "format"), None)
    if not out or format_field is None or typed["format"] is not None or not issubclass(format_field.kind, Enum):
        return typed
    ending = Path(out).suffix.removeprefix(".").lower()
    return {**typed, "format": ending} if ending in {word.value for word in format_field.kind} else typed


def _hand_over(document: Document, out: str | None, *, as_json: bool) -> None:
    """Write a document to the file that was named, or to standard output, and the facts about it beside."""
    if out is not None:
        write_private(Path(out), document.text)
    if as_json:
        content = msgspec.structs.asdict(document)
        write_json(content if out is None else {**content, "text": None, "out": out})
        return
    if out is None:
        sys.stdout.buffer.write(document.text.encode())
        sys.stdout.buffer.flush()
    page = page_on(sys.stderr)
    from muniment.transports.cli.scalars import said  # noqa: PLC0415 - loaded when there is something to say

    page.facts([(name, said(name, value)) for name, value in document.summary.items() if value is not None])


def _tell(report: Struct, page: OutputPage) -> None:
    from muniment.transports.cli.report_page import tell  # noqa: PLC0415 - a machine needs no words

    tell(report, page)
