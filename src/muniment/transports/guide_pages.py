"""The pages of the guide as the package ships them, without the marks around generated tables.

`TOPICS` is the reading order.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from msgspec import Struct

TOPICS = (
    "start", "concepts", "browsing", "search", "sql", "embedding", "context", "views", "redaction", "access",
    "lifecycle", "erasure", "attributes", "attachments", "evidence", "provenance", "memory", "notebook", "skills",
    "tools", "hosts", "serving", "clients", "mcp", "gateway", "events", "inspection", "keys", "backup", "archives",
    "limits", "profiles", "replay", "compare", "errors",
)  # fmt: skip
MARK = "<!-- "


class Chapter(Struct, frozen=True, kw_only=True):
    """One page of the guide."""

    topic: str
    title: str
    text: str


def pages() -> Traversable:
    """Return the directory of the guide, wherever the package is installed."""
    return files("muniment").joinpath("guide")


def chapter(topic: str) -> Chapter:
    """Return a page of the guide."""
    lines = pages().joinpath(f"{topic}.md").read_text(encoding="utf-8").splitlines()
    told = [line for line in lines if not line.startswith(MARK)]
    return Chapter(topic=topic, title=told[0].removeprefix("# "), text="\n".join(told) + "\n")
