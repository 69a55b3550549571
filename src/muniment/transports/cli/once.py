"""Commands that are carried out once, however often they are repeated: `--idempotency-key`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from muniment.declaration.idempotency import perform_once
from muniment.declaration.operation import Group, Operation, Request
from muniment.transports.cli.fields import Field

KEY_OPTION = "--idempotency-key"
KEY_HELP = "Do this once: a repeat with the same key and request shows the first answer again."
REPEATED = "This was done before, with the same key. Its answer:"


def takes_one_key(operation: Operation, fields: list[Field]) -> bool:
    """Tell whether a command can be called once, by a key.

    Not one that reads several files and folders, which is idempotent anyway, nor one that takes a key of its own.
    """
    return operation.takes_key and not operation.uploads_several and KEY_OPTION not in {each.flag for each in fields}


def performed_once(group: Group, operation: Operation, request: Request, key: str, upload: Any) -> Any:
    """Run an operation, or return what it reported when it was run under this key; then say so."""
    answer = perform_once(group, operation, request, key, upload)
    if answer.is_repeated:
        click.echo(REPEATED, err=True)
    return msgspec.json.decode(answer.report, type=operation.report)
