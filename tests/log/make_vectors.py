"""Write `fixtures/vectors/log`: how events lie at rest in a log, worked out by hand.

Nothing of muniment is imported: headers in parts, places, sealed rows, heads, digests of names and words, all
spelled a second time from the primitives. The keys are those of `fixtures/vectors/crypto/keys_file.json`. One vector a
file; a vector that must be refused has exactly one fault, and says which. Like the events, what a release has stored
stays readable for ever: these files are only ever added to. Run `python -m tests.log.make_vectors` after that.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.by_hand import Vector, b64, keyed, leaf_of, made, msgpack
from tests.evidence.by_hand import jcs
from tests.log.log_by_hand import (
    INDEX_KEY,
    LABEL_SETS,
    LOG,
    TIME_MS,
    Draws,
    Log,
    head_tag,
    place,
    segments,
    usual_labels,
)

FOLDER = Path(__file__).parents[2] / "fixtures" / "vectors" / "log"

# --- headers in parts -------------------------------------------------------------------------------------------------


def digest_of(label: str) -> bytes:
    """Return what stands for the commitment of a field where its value does not matter."""
    return made(f"commitment of {label}", 32)


def header_vector(
    labels: list[str],
    *,
    number: int | None = None,
    columns: Vector | None = None,
    prev: bytes | None = None,
    reason: str | None = None,
    refs: dict[str, int] | None = None,
) -> Vector:
    """Describe a header: the columns of its row, what is stored beside them, and the exact bytes they stand for."""
    usual = {"position": 9, "stream": 4, "seq": 5, "turn_seq": None, "target_seq": None, "time": TIME_MS}
    row = usual | {"kind": "turn.committed"} | (columns or {})
    digests = [digest_of(label) for label in labels]
    kind_of = str(row["kind"]).partition(".")[0] if prev is None or row["turn_seq"] is not None else None
    told: Vector = {"opens": kind_of} if prev is None else {}
    if row["turn_seq"] is not None:
        told["entry"] = {kind_of: row["turn_seq"]}
    if row["target_seq"] is not None:
        told["target"] = row["target_seq"]
    exact = jcs(
        {
            "fields": {label: b64(digest) for label, digest in zip(labels, digests, strict=True)},
            "kind": row["kind"],
            "log": LOG,
            "pos": row["position"],
            "prev": None if prev is None else b64(prev),
            "reason": reason,
            "refs": refs or {},
            "seq": row["seq"],
            "stream": row["stream"],
            "t": row["time"],
            "v": 1,
            **told,
        }
    )
    spelled = number if number is not None else " ".join(labels)
    return {
        "what": "header",
        "log": LOG,
        "row": row | {"leaf": leaf_of(exact).hex()},
        "packed": msgpack([spelled, b"".join(digests), prev, reason, refs or {}, kind_of]).hex(),
        "exact": exact.decode(),
        "fault": None,
        "error": None,
    }


PREV = made("previous leaf", 32)
FIRST: Vector = {"position": 4, "stream": 4, "seq": 1}
TURN = {"turn_seq": 3}


def turn_header(messages: int, *, source: bool, number: int | None) -> Vector:
    """Describe the header of a usual turn."""
    labels = usual_labels(messages, source=source)
    return header_vector(labels, number=number, columns=TURN, prev=PREV)


def header_vectors() -> dict[str, Vector]:
    """Return the headers that must be accepted."""
    tools = sorted([*usual_labels(2, source=True), "tools", "tools/0/summary", "host_ref/0", "host_ref/0/label"])
    return {
        "header_space_opened": header_vector(
            ["name"], columns={"kind": "space.opened", "position": 0, "stream": 0, "seq": 1}
        ),
        "header_conversation_opened": header_vector(
            ["channel", "conversation"], columns=FIRST | {"kind": "conversation.opened"}
        ),
        "header_turn_1": turn_header(1, source=False, number=0),
        "header_turn_2": turn_header(2, source=False, number=1),
        "header_turn_16": turn_header(16, source=False, number=15),
        "header_turn_1_source": turn_header(1, source=True, number=16),
        "header_turn_16_source": turn_header(16, source=True, number=31),
        "header_turn_17": turn_header(17, source=False, number=None),
        "header_turn_tools": header_vector(tools, columns=TURN, prev=PREV),
        "header_lifecycle_turn": header_vector(
            ["request"], columns={"kind": "turn.lifecycle", "target_seq": 2}, prev=PREV, reason="mask"
        ),
        "header_lifecycle_through": header_vector(
            ["request"],
            columns={"kind": "turn.lifecycle", "target_seq": 0},
            prev=PREV,
            reason="erase",
            refs={"through": 300},
        ),
        "header_key_rotated": header_vector(
            ["version"], columns={"kind": "key.rotated"}, prev=PREV, reason="requested"
        ),
        "header_export_issued": header_vector(
            ["export"], columns={"kind": "export.issued"}, prev=PREV, refs={"stream": 1, "through": 70_000}
        ),
        "header_no_fields": header_vector(
            [], columns={"kind": "export.issued"}, prev=PREV, refs={"stream": 1, "through": 2}
        ),
    }


def header_faults() -> dict[str, Vector]:
    """Return the headers that must be refused."""
    good = header_vectors()["header_turn_2"]
    digests = b"".join(map(digest_of, usual_labels(2, source=False)))
    parts = {"labels": 1, "digests": digests, "prev": PREV, "reason": None, "refs": {}, "type": "turn"}

    def packed(fault: str, **changed: Any) -> Vector:
        return good | {"packed": msgpack(list((parts | changed).values())).hex(), "fault": fault}

    def raw(fault: str, data: bytes) -> Vector:
        return good | {"packed": data.hex(), "fault": fault}

    def column(name: str, value: str | int) -> Vector:
        return good | {"row": good["row"] | {name: value}, "fault": f"the column {name} says something else"}

    bytes_of_good = bytes.fromhex(good["packed"])
    found = {
        "digest_cut": packed("the last commitment lacks a byte", digests=digests[:-1]),
        "digest_longer": packed("a byte follows the commitments", digests=digests + b"\0"),
        "digest_missing": packed("a commitment is missing", digests=digests[:-32]),
        "digest_more": packed("there is a commitment too many", digests=digests + PREV),
        "digests_swapped": packed(
            "two commitments change places", digests=digests[32:64] + digests[:32] + digests[64:]
        ),
        "digests_number": packed("a number stands where the commitments should", digests=7),
        "labels_unknown": packed("there is no set of labels of this number", labels=32),
        "labels_huge": packed("the number of the set has 64 bits", labels=2**64 - 1),
        "labels_negative": packed("the number of the set is counted from the end", labels=-31),
        "labels_other": packed("the number is that of a longer set", labels=2),
        "labels_more": packed("there is a label too many", labels=LABEL_SETS[1] + " source"),
        "labels_twice": packed("a label is there twice", labels=LABEL_SETS[1].replace("delivery", "actor")),
        "labels_blank": packed("two blanks stand between two labels", labels=LABEL_SETS[1].replace(" ", "  ", 1)),
        "labels_nil": packed("there are no labels", labels=None),
        "prev_absent": packed("the previous leaf is not there", prev=None),
        "prev_other": packed("the previous leaf is another", prev=made("another leaf", 32)),
        "prev_cut": packed("the previous leaf lacks a byte", prev=PREV[:-1]),
        "reason_more": packed("there is a reason", reason="mask"),
        "refs_more": packed("there is a reference too many", refs={"through": 1}),
        "type_other": packed("the type of the entry is another", type="item"),
        "type_none": packed("the entry has no type", type=None),
        "type_number": packed("the type is a number", type=1),
        "refs_float": packed("a reference is a float", refs={"hold": 3.5}),
        "refs_list": packed("the references are a list", refs=[3]),
        "seventh_part": raw("something follows the type", msgpack([*parts.values(), None])),
        "sixth_missing": raw("there is no type at all", msgpack(list(parts.values())[:5])),
        "map": raw("the parts have names", msgpack(parts)),
        "cut": raw("the last byte is missing", bytes_of_good[:-1]),
        "longer": raw("a byte follows", bytes_of_good + b"\0"),
        "empty": raw("there is nothing", b""),
        "not_utf8": raw("the type is no UTF-8", bytes_of_good.replace(b"turn", b"tur\xff")),
        "position": column("position", 10),
        "stream": column("stream", 3),
        "seq": column("seq", 6),
        "kind": column("kind", "turn.lifecycle"),
        "time": column("time", TIME_MS + 1),
        "leaf": column("leaf", made("another leaf", 32).hex()),
        "log": good | {"log": b64(made("another log", 16)), "fault": "the log is another"},
    }
    return {f"header_bad_{name}": vector | {"error": "store.corrupt"} for name, vector in found.items()}


# --- rows, heads ------------------------------------------------------------------------------------------------------


def rows() -> dict[str, Vector]:
    """Return rows of the log that must open, by what they are, with what they open to."""
    log = Log()
    events = {"turn": log.events[2], "change_of_one": log.events[4], "change_of_all": log.events[6]}
    return {
        name: {
            "what": "row",
            "row": event["row"],
            "place": event["place"],
            "segments": segments().hex(),
            "seed": event["chance"]["seed"],
            "meta": event["meta"],
            "content": event["content"],
            "fault": None,
            "error": None,
        }
        for name, event in events.items()
    }


def row_vectors() -> dict[str, Vector]:
    """Return rows, good ones and those with a fault."""
    good = rows()["turn"]
    row, other = good["row"], Log().events[3]["row"]
    chance = Draws("chance of 2", has_content=True)
    meta = Log().events[2]["meta"]
    leaf, where = bytes.fromhex(row["leaf"]), place(row)
    changed: dict[str, tuple[str, Vector]] = {
        "position": ("the column position says something else", {"position": 3}),
        "stream": ("the column stream says something else", {"stream": 0}),
        "seq": ("the column seq says something else", {"seq": 3}),
        "kind": ("the column kind says something else", {"kind": "turn.lifecycle"}),
        "kind_unknown": ("the kind is unknown", {"kind": "turn.dreamt"}),
        "turn_seq": ("the column turn_seq says something else", {"turn_seq": 2}),
        "turn_seq_null": ("the column turn_seq is empty", {"turn_seq": None}),
        "target_seq": ("the column target_seq is not empty", {"target_seq": 1}),
        "target_seq_all": ("the column target_seq speaks of all turns", {"target_seq": 0}),
        "time": ("the column time says something else", {"time": TIME_MS}),
        "leaf": ("the leaf is that of another event", {"leaf": other["leaf"]}),
        "envelope_other": ("the envelope is that of another event", {"envelope": other["envelope"]}),
        "content_key_other": (
            "the envelope has the key of other content",
            {"envelope": chance.envelope(meta, leaf, where, made("another key", 32)).hex()},
        ),
        "content_other": ("the content is that of another event", {"content": other["content"]}),
        "place_short": (
            "the envelope is bound to a place without its kind",
            {"envelope": chance.envelope(meta, leaf, where[:48]).hex()},
        ),
    }
    missing: dict[str, tuple[str, Vector]] = {
        "envelope_missing": ("there is no envelope", {"envelope": None}),
        "content_missing": ("there is no content", {"content": None}),
        "content_key_missing": (
            "the envelope has no key for the content",
            {"envelope": chance.envelope(meta, leaf, where, b"").hex()},
        ),
    }
    found = {f"row_{name}": vector for name, vector in rows().items()}
    for error, faults in (("store.corrupt", changed), ("key.missing", missing)):
        for name, (fault, change) in faults.items():
            found[f"row_bad_{name}"] = good | {"row": row | change, "fault": fault, "error": error}
    damaged = bytes.fromhex(good["segments"])[:-1] + b"\0"
    fault = "the row of segment keys is damaged"
    found["row_bad_segments"] = good | {"segments": damaged.hex(), "fault": fault, "error": "store.corrupt"}
    return found


def head_vectors() -> dict[str, Vector]:
    """Return heads of streams."""
    good = {"what": "head", "head": Log().events[6]["head"], "fault": None, "error": None}
    head = good["head"]
    other = {name: {name: head[name] + 1} for name in ("stream", "seq", "turns", "messages", "changes", "names")}
    other["leaf"] = {"leaf": made("another leaf", 32).hex()}
    other["tag"] = {"tag": bytes(16).hex()}
    other["tag_cut"] = {"tag": head["tag"][:-2]}
    other["tag_of_other_key"] = {"tag": head_tag(head, bytes.fromhex(head["leaf"]), made("another key", 32)).hex()}
    found = {"head": good}
    for name, change in other.items():
        fault = f"{name.replace('_', ' ')} is not what the tag was made of"
        found[f"head_bad_{name}"] = good | {"head": head | change, "fault": fault, "error": "store.corrupt"}
    return found


# --- names, words -----------------------------------------------------------------------------------------------------


def names_vector(purpose: str, *parts: str) -> Vector:
    """Describe the digest under which something is found by its names."""
    digest = keyed(INDEX_KEY, purpose, *parts)[:16].hex()
    return {"what": "names", "purpose": purpose, "parts": list(parts), "digest": digest, "fault": None, "error": None}


def words_vector(turn: Vector, frame: Sequence[object], messages: list[list[object]]) -> Vector:
    """Describe the digest of a turn as it was handed over, and the bytes that it is made of."""
    words = msgpack([list(frame), messages])
    digest = keyed(INDEX_KEY, "turn-words", words).hex()
    return {"what": "words", "turn": turn, "words": words.hex(), "digest": digest, "fault": None, "error": None}


FULL_TURN: Vector = {
    "turn": "turn-1", "subject": "ada", "conversation": "talk", "channel": "mail", "chat": "chat-7",
    "delivery": "cancelled", "source": {"model": "m", "ingress": "system"}, "actor": {"agent_id": "agent"},
    "tools": [{"tool": "look", "id": "o", "summary": "found"}],
    "host_refs": [{"id": "17", "type": "case", "host": "crm", "label": "Größe"}],
    "external": True, "candidates": ["c"],
    "messages": [
        {"role": "user", "content": "Hello.", "observed_ms": 7},
        {"role": "assistant", "content": [{"type": "tool_call", "name": "look", "arguments": {"b": 1, "a": [1.5]}}]},
        {"role": "assistant", "authority": "assistant_self_claim", "speaker_id": "s", "speaker_kind": "k",
         "content": [{"type": "blob", "content": "AP8="}]},
    ],
}  # fmt: skip
FULL_FRAME: list[object] = [
    "turn-1", "ada", "mail", "talk", "chat-7", "cancelled", {"ingress": "system", "model": "m"}, {"agent_id": "agent"},
    [{"id": "o", "tool": "look", "summary": "found"}], [{"host": "crm", "type": "case", "id": "17", "label": "Größe"}],
    True, ["c"],
]  # fmt: skip
FULL_MESSAGES: list[list[object]] = [
    ["user", None, None, None, 7, [{"type": "text", "content": "Hello."}]],
    ["assistant", None, None, None, 0, [{"type": "tool_call", "name": "look", "arguments": {"a": [1.5], "b": 1}}]],
    ["assistant", "assistant_self_claim", "s", "k", 0, [{"type": "blob", "content": b"\x00\xff"}]],
]
USUAL_TURN: Vector = {
    "turn": "turn-1",
    "subject": "ada",
    "chat": "talk",
    "messages": [{"role": "user", "content": "Hi"}],
}
IN_PARTS: Vector = USUAL_TURN | {"messages": [{"role": "user", "content": [{"type": "text", "content": "Hi"}]}]}
USUAL_FRAME: list[object] = ["turn-1", "ada", "default", "talk", "talk", "delivered", {}, None, [], [], False, []]
USUAL_MESSAGES: list[list[object]] = [["user", None, None, None, 0, [{"type": "text", "content": "Hi"}]]]


def digest_vectors() -> dict[str, Vector]:
    """Return digests of names and words."""
    return {
        "names_conversation": names_vector("conversation", "mail", "talk"),
        "names_conversation_split": names_vector("conversation", "a__b", "c"),
        "names_conversation_split_elsewhere": names_vector("conversation", "a", "b__c"),
        "names_conversation_shifted": names_vector("conversation", "mailt", "alk"),
        "names_turn": names_vector("turn", "mail", "talk", "größe/1"),
        "names_alias": names_vector("alias", "ada", "mail", "chat-7"),
        "words": words_vector(FULL_TURN, FULL_FRAME, FULL_MESSAGES),
        "words_usual": words_vector(USUAL_TURN, USUAL_FRAME, USUAL_MESSAGES),
        "words_usual_in_parts": words_vector(IN_PARTS, USUAL_FRAME, USUAL_MESSAGES),
    }


def vectors() -> dict[str, Vector]:
    """Return every vector by the name of its file."""
    sets = {"what": "label_sets", "sets": LABEL_SETS, "fault": None, "error": None}
    return {
        "label_sets": sets,
        "log": Log().vector(),
        **header_vectors(),
        **header_faults(),
        **row_vectors(),
        **head_vectors(),
        **digest_vectors(),
    }


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, vector in vectors().items():
        text = json.dumps(vector, indent=1, sort_keys=True, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
