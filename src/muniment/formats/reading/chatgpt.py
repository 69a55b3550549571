"""The export of ChatGPT: each conversation is a tree of messages in `mapping`, with the leaf that was shown last.

The path from the root to `current_node` is the conversation. Every path that leaves it (a regenerated answer, an edited
question) is a branch: a separate conversation with the name `<conversation>~<node>`, after its first node. A branch has
only the nodes that are not on the path it leaves, down to its newest leaf; older children on the way are branches
themselves. Each turn of a branch refers to the conversation, and to the message where it leaves it, as its origin
(decision 0030).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from muniment.errors import InvalidInput, LimitExceeded
from muniment.events.binding import parse_json
from muniment.events.message import Message
from muniment.events.references import HostReference, Relation, Visibility
from muniment.formats.reading.chatgpt_message import read_message
from muniment.formats.reading.lines import ITEM_BYTES_MAX
from muniment.formats.reading.parsed_item import (
    ABSENT,
    ParsedItem,
    ParsingNotes,
    is_there,
    time_of,
    title_of,
    with_times,
)

TREE_NODES_MAX = 100_000
HOST = "chatgpt"  # the host of the references to an origin
BRANCH = "~"


class ChatgptChat(Struct, frozen=True, kw_only=True):
    """A conversation."""

    mapping: dict[str, msgspec.Raw]
    current_node: str | None = None
    conversation_id: str | None = None
    id: str | None = None
    create_time: Any = None
    title: Any = None


class ChatgptNode(Struct, frozen=True, kw_only=True):
    """A node of the tree; a root may have no message."""

    message: msgspec.Raw = ABSENT
    parent: str | None = None
    children: list[str] | None = None


class Path(NamedTuple):
    """Nodes down to a leaf, and the node of another path where this path leaves it."""

    nodes: list[str]
    leaves: str | None


def chatgpt(item: bytes) -> ParsedItem:
    """Parse a conversation and its branches; a malformed message is refused and the others are kept."""
    chat = parse_json(item, ChatgptChat, limit=ITEM_BYTES_MAX)
    name = chat.conversation_id or chat.id
    if not name:
        raise InvalidInput(at="conversation_id", problem="missing_field")
    notes = ParsingNotes()
    tree = _MessageTree(chat, notes)
    main, *others = _paths(tree.nodes, chat.current_node)
    branches = [
        ParsedItem(
            f"{name}{BRANCH}{path.nodes[0]}",
            messages,
            whole=True,
            origin=tuple(_origin(name, path.leaves)),
            title=title_of(chat.title),
        )
        for path in others
        if (messages := tree.messages(path))
    ]
    title = title_of(chat.title)
    return ParsedItem(name, tree.messages(main), whole=True, branches=tuple(branches), notes=notes, title=title)


def _origin(conversation: str, message: str | None) -> Iterator[HostReference]:
    for kind, name in (("conversation", conversation), ("message", message)):
        if name is not None:
            yield HostReference(host=HOST, type=kind, id=name, relation=Relation.ORIGIN, visibility=Visibility.HOST_UI)


class _MessageTree:
    """The nodes of a tree; messages are parsed on demand."""

    def __init__(self, chat: ChatgptChat, notes: ParsingNotes) -> None:
        if len(chat.mapping) > TREE_NODES_MAX:
            raise LimitExceeded(at="mapping", problem="too_many", limit=TREE_NODES_MAX, found=len(chat.mapping))
        self._indexes = {name: index for index, name in enumerate(chat.mapping)}
        self.nodes = {name: self._node(name, raw) for name, raw in chat.mapping.items()}
        self._started_ms = time_of(chat.create_time, notes)
        self._notes = notes

    def _node(self, name: str, raw: msgspec.Raw) -> ChatgptNode:
        try:
            return parse_json(bytes(raw), ChatgptNode)
        except InvalidInput as refusal:
            raise InvalidInput(at=f"mapping[{self._indexes[name]}]", problem=refusal.problem) from None

    def messages(self, path: Path) -> list[Message]:
        """Return the messages of a path."""
        messages: list[Message] = []
        for name in path.nodes:
            raw = self.nodes[name].message
            if is_there(raw):
                messages += self._notes.read(f"mapping[{self._indexes[name]}].message", read_message, raw)
        return with_times(self._started_ms, messages)


def _paths(nodes: dict[str, ChatgptNode], current: str | None) -> Iterator[Path]:
    """Yield the main path, then every other one; each node is on exactly one of them."""
    children, roots = _descent(nodes)
    main = _path_to(nodes, current) if current in nodes else _path_from(children, roots[-1]) if roots else []
    yield Path(main, None)
    on_main = set(main)
    waiting = [Path(main, None)]
    waiting += [Path(_path_from(children, root), None) for root in roots if root not in on_main]
    seen = len(main)
    for path in waiting:
        if path.nodes is not main:
            seen += len(path.nodes)
            yield path
        on_path = on_main if path.nodes is main else set(path.nodes)
        waiting += [
            Path(_path_from(children, child), name)
            for name in path.nodes
            for child in children[name]
            if child not in on_path
        ]
    if seen != len(nodes):
        raise InvalidInput(at="mapping", problem="cyclic")


def _descent(nodes: dict[str, ChatgptNode]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the children of every node, oldest first, and the nodes without a parent.

    A node names its own parent; the list of a parent only decides the order.
    """
    children: dict[str, dict[str, None]] = {name: {} for name in nodes}
    roots: list[str] = []
    for name, node in nodes.items():
        for child in node.children or []:
            if child in nodes and nodes[child].parent == name:
                children[name][child] = None
    for name, node in nodes.items():
        if node.parent in children:
            children[node.parent][name] = None
        else:
            roots.append(name)
    return {name: list(nodes) for name, nodes in children.items()}, roots


def _path_to(nodes: dict[str, ChatgptNode], leaf: str | None) -> list[str]:
    path: dict[str, None] = {}
    while leaf in nodes and leaf not in path:
        path[leaf] = None
        leaf = nodes[leaf].parent
    if leaf in path:
        raise InvalidInput(at="mapping", problem="cyclic")
    return list(path)[::-1]


def _path_from(children: dict[str, list[str]], name: str) -> list[str]:
    """Return the path from a node to its newest leaf. A child has one parent, so the path ends."""
    path = [name]
    while children[path[-1]]:
        path.append(children[path[-1]][-1])
    return path
