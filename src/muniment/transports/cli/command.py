"""One operation as a command: read the request, ask for confirmation, open the store, run, report.

An operation that may hide or destroy content asks first; `--yes` answers. Without a terminal to ask, it is refused
before the store is opened. A dry run changes nothing and asks nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from muniment.declaration.operation import Document, Operation, bound, perform
from muniment.declaration.surfaces import MANNERS
from muniment.errors import NotConfirmed
from muniment.events.changes import Transition
from muniment.transports.cli.fields import Field, fields_of, json_of, parameters_of, stream_typed, upload_field
from muniment.transports.cli.opening import opened
from muniment.transports.cli.output import page_on, require_writable, write_json, write_private
from muniment.transports.cli.plain_page import OutputPage
from muniment.transports.cli.store_options import SHARED, StoreOptions, door_options


def question_of(operation: Operation, request: Struct) -> str:
    """Return the question that confirms an operation: what it does, and whether that can be undone."""
    transition = next((value for value in msgspec.structs.astuple(request) if isinstance(value, Transition)), None)
    if transition is None:
        return f"Run `{operation.group} {operation.name}`? (content that it removes cannot be recovered)"
    outcome = "cannot be undone" if transition is Transition.ERASE else "reversible"
    return f"{transition.capitalize()} the turns? ({outcome})"


def command_of(operation: Operation, name: str | None = None) -> click.Command:
    """Return the command that runs an operation, under its own name or another."""
    fields = fields_of(operation.request, SHARED)
    upload = None if operation.upload is None else upload_field(operation.upload, operation.upload_help)
    own: list[click.Parameter] = []
    if MANNERS[operation.effect].destroys:
        own.append(click.Option(["--yes"], is_flag=True, help="Do not ask for confirmation."))
    if operation.report is Document:
        own.append(click.Option(["--out"], metavar="FILE", help="Write the document to a file, readable by you alone."))

    command = Verb(
        name or operation.name,
        params=[*parameters_of(fields if upload is None else [upload, *fields]), *own, *door_options()],
        help=f"{operation.summary}\n\n{operation.description}",
        short_help=operation.summary,
    )
    command.operation, command.fields, command.upload = operation, fields, upload
    return command


class Verb(click.Command):
    """The command of an operation."""

    operation: Operation
    fields: list[Field]
    upload: Field | None

    def invoke(self, ctx: click.Context) -> None:
        """Run the operation with what was typed and report on standard output."""
        door, operation, typed = ctx.ensure_object(StoreOptions), self.operation, ctx.params
        upload = None if self.upload is None else stream_typed(self.upload, typed)
        request = bound(operation, json_of(self.fields, typed))
        if MANNERS[operation.effect].destroys and not typed["yes"] and not typed.get("dry_run"):
            _ask(door, operation, request)
        if typed.get("out") is not None:
            require_writable(Path(typed["out"]))
        with opened(door, operation) as runtime:
            report = perform(getattr(runtime, operation.group), operation, request, upload)
        if isinstance(report, Document):
            _hand_over(report, typed["out"], as_json=door.as_json)
        elif door.as_json:
            write_json(report)
        else:
            _tell(report, page_on(sys.stdout))


def _ask(door: StoreOptions, operation: Operation, request: Struct) -> None:
    if not door.may_ask():
        raise NotConfirmed(at=operation.path, problem="nobody_to_ask")
    if not click.confirm(question_of(operation, request), err=True):
        raise NotConfirmed(at=operation.path, problem="declined")


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
