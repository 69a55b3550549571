"""Options that are paths: the shell completes them, because it knows the disk."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def file_completion(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the path of a file."""
    return [CompletionItem(incomplete, type="file")]


def directory_completion(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the path of a directory."""
    return [CompletionItem(incomplete, type="dir")]
