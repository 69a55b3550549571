"""What each limit of a store, or of all stores, applies to; and how its amount is said."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

LIMITS: dict[str, str] = {
    "message_bytes_max": "one message: its parts as canonical JSON",
    "message_parts_max": "parts in one message",
    "turn_bytes_max": "all messages of a turn together",
    "turn_messages_max": "messages in a turn",
    "turn_host_refs_max": "host references in a turn",
    "turn_tools_max": "tool observations in a turn",
    "turn_candidates_max": "ids of memory candidates in a turn",
    "turn_attributes_max": "attributes of a turn and its messages; a replaced one is not counted again",
    "attribute_bytes_max": "the value of an attribute as canonical JSON",
    "attributes_max": "attributes in one request",
    "attachment_bytes_max": "one attached file; no more than 16 GiB can be set",
    "page_turns_max": "turns (or conversations) in a page",
    "report_items_max": "turns, messages and references listed in a lifecycle report; counts are complete",
    "activity_ranges_max": "time ranges in one activity request",
    "derivations_max": "derived references in one request",
    "batch_turns_max": "turns in one batch of `transcripts.commit_many`",
    "batch_bytes_max": "all turns of a batch together, as JSON",
    "source_turns_max": "source turns of one derived reference",
    "candidates_max": "candidates for memory in one request",
    "item_bytes_max": "what a memory item says: topic, text, keywords, tags and entities together",
    "items_max": "memory items in use in a notebook (a subject and plane); the least certain is evicted beyond it",
    "tables_bytes_max": "the SQL tables of one view, in memory",
    "statement_seconds_max": "how long an SQL statement may run",
    "result_rows_max": "rows that an SQL statement returns",
    "result_bytes_max": "what an SQL statement returns, in characters",
}

# module and name of a limit that is the same for every store -> what it limits
FIXED: dict[tuple[str, str], str] = {
    ("events.binding", "REQUEST_BYTES_MAX"): "one request, or a request file on the command line",
    ("events.identity", "NAME_BYTES_MAX"): "a name: space, channel, conversation, chat, turn, subject, requester",
    ("operations.parameters", "REASON_BYTES_MAX"): "the reason of a lifecycle request",
    ("governance.annotation", "ATTRIBUTE_REASON_BYTES_MAX"): "the reason of an attribute",
    ("governance.annotation", "ATTRIBUTE_LINKS_MAX"): "links of an attribute",
    ("kernel.canonical", "DEPTH_MAX"): "levels of a JSON value: tool arguments, tool results, attribute values",
    ("kernel.canonical", "NODES_MAX"): "members and elements of such a value",
    ("kernel.cursor", "CURSOR_CHARS_MAX"): "a cursor",
    ("operations.evidence.certify", "BUNDLE_EVENTS_MAX"): "events in an export bundle",
    ("evidence.verifier", "LINE_BYTES_MAX"): "one line of a bundle that the verifier reads",
    ("formats.reading.lines", "LINE_BYTES_MAX"): "one line of an imported file",
    ("formats.reading.lines", "ITEM_BYTES_MAX"): "one conversation in an imported list or document",
    ("formats.reading.databases.langgraph", "VALUE_BYTES_MAX"): "one checkpoint in an imported database of LangGraph",
    ("formats.reading.turn_assembler", "CONVERSATIONS_MAX"): "conversations in an imported file",
    (
        "formats.reading.turn_assembler",
        "OPEN_CONVERSATIONS_MAX",
    ): "conversations that can be interleaved in an imported file",
    ("formats.reading.turn_assembler", "OPEN_BYTES_MAX"): "their messages that an import keeps in memory",
    ("operations.importing.import_report", "REPORTED_MAX"): "refused lines, and turns, that an import report lists",
    ("formats.reading.source_files", "FILES_MAX"): "files of one import",
    ("formats.reading.zip_members", "MEMBERS_MAX"): "files in an imported zip archive",
    ("formats.reading.zip_members", "MEMBER_BYTES_MAX"): "one file of an imported zip archive, unpacked",
    ("formats.reading.zip_members", "ARCHIVE_BYTES_MAX"): "all files of an imported zip archive, unpacked",
    ("formats.reading.zip_members", "STREAM_BYTES_MAX"): "a zip archive from standard input",
    ("formats.reading.zip_members", "DENSITY_MAX"): "unpacked bytes for each packed byte in a zip archive",
    ("crypto.root_sources", "PASSPHRASE_BYTES_MAX"): "a passphrase",
    (
        "crypto.keyring",
        "VERSIONS_MAX",
    ): "versions of a space key while rotations are incomplete",
    ("log.connection", "PATIENCE_S"): "how long a writer waits for other writers before `store.busy`",
    ("ledger.ledger", "CHECKPOINT_EVENTS"): "events between two signatures of the log",
}


def fixed_amounts() -> Iterator[tuple[str, str]]:
    """Yield the amount of every limit that is the same for every store, and what it applies to."""
    for (module, name), told in FIXED.items():
        yield amount(name.lower(), getattr(import_module(f"muniment.{module}"), name)), told


UNITS = {"s": "seconds", "seconds": "seconds", "chars": "characters", "events": "events", "bytes": "bytes"}


def amount(name: str, value: float | None) -> str:
    """Return a number with the unit that its name ends with."""
    if value is None:
        return "none"
    unit = UNITS.get(name.removesuffix("_max").removesuffix("_default").rpartition("_")[2], "")
    for size, larger in ((2**20, "MiB"), (2**10, "KiB")):
        if unit == "bytes" and value >= size and value % size == 0:
            return f"{value // size:,.0f} {larger}"
    return f"{value:,.0f} {unit}".rstrip()
