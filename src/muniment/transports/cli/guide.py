"""`muniment guide`: the pages of the guide, which the package ships as Markdown.

A pipe gets the source of a page, a terminal gets it rendered.
"""

from __future__ import annotations

import sys

import click
from msgspec import Struct

from muniment.transports.cli.fields import ChoiceParam
from muniment.transports.cli.output import page_on, write_json
from muniment.transports.cli.plain_page import StyledText, TextStyle
from muniment.transports.cli.store_options import StoreOptions, door_options
from muniment.transports.guide_pages import TOPICS, Chapter, chapter


class Topic(Struct, frozen=True, kw_only=True):
    """A page of the guide and its title."""

    topic: str
    title: str


class Topics(Struct, frozen=True, kw_only=True):
    """The pages of the guide."""

    topics: list[Topic]


def guide_command() -> click.Command:
    """Return the command `guide`."""
    topic = click.Argument(["topic"], required=False, type=ChoiceParam(list(TOPICS)), metavar="[TOPIC]")
    return click.Command(
        "guide",
        callback=_run,
        params=[topic, *(option for option in door_options() if option.name == "json")],
        help=f"Print a page of the guide, or list the pages.\n\nPages: {', '.join(TOPICS)}.",
        short_help="Print a page of the guide, or list the pages.",
    )


@click.pass_context
def _run(ctx: click.Context, topic: str | None) -> None:
    door = ctx.ensure_object(StoreOptions)
    if topic is not None:
        _tell_chapter(chapter(topic), door)
        return
    topics = [Topic(topic=name, title=chapter(name).title) for name in TOPICS]
    if door.as_json:
        write_json(Topics(topics=topics))
    else:
        page = page_on(sys.stdout)
        page.facts([(topic.topic, StyledText(topic.title)) for topic in topics])
        page.line()
        page.line(StyledText("`muniment guide TOPIC` prints a page.", TextStyle.FAINT))


def _tell_chapter(told: Chapter, door: StoreOptions) -> None:
    if door.as_json:
        write_json(told)
    elif sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 - nothing in a pipe pays for colours

        from muniment.transports.cli.rich_page import Leaf  # noqa: PLC0415 - the same

        Console(file=sys.stdout).print(Leaf(told.text))
    else:
        sys.stdout.buffer.write(told.text.encode())
        sys.stdout.buffer.flush()
