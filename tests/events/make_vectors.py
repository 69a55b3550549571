"""Write `fixtures/vectors/events`: what cells and fields of every kind of event must be, worked out by hand.

Nothing of muniment is imported. One vector a file; a vector that must be refused has exactly one fault, and says which.

A cell that was stored once loads for ever, and a commitment that was made once stands for ever. So once a release has
written a version of a body, its files are never made anew and never edited: a new version of a body gets files of its
own beside them. Run `python -m tests.events.make_vectors` to add; the difference shows new files alone.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.by_hand import Vector, disclosed, made, msgpack, plain
from tests.events.bodies_by_hand import BODIES, CONTENTS, LEFT_CONTENT, LEFT_SALTS, USUAL_CONTENT, USUAL_META
from tests.events.items_by_hand import ITEM_WORDS, ITEMS
from tests.events.requests_by_hand import REQUESTS, WORDS

FOLDER = Path(__file__).parents[2] / "fixtures" / "vectors" / "events"
META_SEED, CONTENT_SEED = made("meta seed", 32), made("content seed", 32)


def cell_vector(cell: bytes, kind: str, cls: str, body: Vector | None, fault: tuple[str, str] | None = None) -> Vector:
    """Describe a cell in clear."""
    return {
        "what": "cell",
        "kind": kind,
        "class": cls,
        "version": 1,
        "seed": META_SEED.hex() if cls == "meta" else None,
        "cell": cell.hex(),
        "body": plain(body),
        "fault": fault and fault[0],
        "error": fault and fault[1],
    }


def fields_vector(kind: str, cls: str, body: Vector, texts: dict[str, str]) -> Vector:
    """Describe the fields of a body."""
    seed = META_SEED if cls == "meta" else CONTENT_SEED
    fields = [disclosed(seed, label, text) for label, text in sorted(texts.items())]
    return {
        "what": "fields",
        "kind": kind,
        "class": cls,
        "seed": seed.hex(),
        "body": plain(body),
        "fields": fields,
        "fault": None,
        "error": None,
    }


def good_vectors() -> dict[str, Vector]:
    """Return the vectors that must be accepted."""
    found: dict[str, Vector] = {}
    for name, (kind, body, texts) in (BODIES | REQUESTS | ITEMS).items():
        found[f"cell_{name}_v1"] = cell_vector(msgpack([1, META_SEED, body]), kind, "meta", body)
        found[f"fields_{name}_v1"] = fields_vector(kind, "meta", body, texts)
    for name, (kind, body, texts) in (CONTENTS | WORDS | ITEM_WORDS).items():
        cell = msgpack([1, None, body])
        found[f"cell_{name}_v1"] = cell_vector(cell, kind, "content", body)
        found[f"fields_{name}_v1"] = fields_vector(kind, "content", body, texts)
    cell = msgpack([1, LEFT_SALTS, LEFT_CONTENT])
    found["cell_turn_content_left_v1"] = cell_vector(cell, "turn.committed", "content", LEFT_CONTENT) | {
        "seed": {label: salt.hex() for label, salt in LEFT_SALTS.items()}
    }
    return found


def meta_fault(body: object, fault: str, *, kind: str = "space.opened", error: str = "store.corrupt") -> Vector:
    """Describe a cell of which nothing but the body is wrong."""
    return cell_vector(msgpack([1, META_SEED, body]), kind, "meta", None, (fault, error))


def content_fault(parts: object, fault: str) -> Vector:
    """Describe a content cell of which nothing but the parts is wrong."""
    cell = msgpack([1, None, USUAL_CONTENT | {"parts": parts}])
    return cell_vector(cell, "turn.committed", "content", None, (fault, "store.corrupt"))


def envelope_fault(cell: bytes, fault: str, error: str = "store.corrupt") -> Vector:
    """Describe a cell of which nothing but the envelope is wrong."""
    return cell_vector(cell, "space.opened", "meta", None, (fault, error))


def bad_vectors() -> dict[str, Vector]:
    """Return the vectors that must be refused."""
    body: Vector = {"name": "größe"}
    good = msgpack([1, META_SEED, body])
    request = {"reason": "asked for", "requester": "operator", "requested_ms": 1}
    return {
        "bad_version_newer": envelope_fault(msgpack([2, META_SEED, body]), "the version is 2", "store.newer"),
        "bad_version_zero": envelope_fault(msgpack([0, META_SEED, body]), "the version is 0"),
        "bad_version_text": envelope_fault(msgpack(["1", META_SEED, body]), "the version is text"),
        "bad_seed_short": envelope_fault(msgpack([1, META_SEED[:-1], body]), "the seed lacks a byte"),
        "bad_seed_long": envelope_fault(msgpack([1, META_SEED + b"\0", body]), "the seed has a byte too many"),
        "bad_no_body": envelope_fault(msgpack([1, META_SEED]), "there is no body"),
        "bad_fourth": envelope_fault(msgpack([1, META_SEED, body, None]), "something follows the body"),
        "bad_cut": envelope_fault(good[:-1], "the last byte is missing"),
        "bad_longer": envelope_fault(good + b"\0", "a byte follows the cell"),
        "bad_not_utf8": envelope_fault(good[:-1] + b"\xff", "the last byte of the name is no UTF-8"),
        "bad_body_list": meta_fault(["größe"], "the body is a list"),
        "bad_member_missing": meta_fault({}, "the name is missing"),
        "bad_member_more": meta_fault(body | {"more": 1}, "there is a member too many"),
        "bad_member_type": meta_fault({"name": 1}, "the name is a number"),
        "bad_kind": meta_fault(body, "the kind is unknown", kind="space.dreamt", error="store.newer"),
        "bad_kind_other": meta_fault(body, "the cell is of another kind", kind="key.rotated"),
        "bad_word": meta_fault(
            USUAL_META | {"delivery": {"turn": "turn-1", "status": "lost"}},
            "the delivery status is unknown",
            kind="turn.committed",
        ),
        "bad_plane": meta_fault(
            {
                "plane": "dream",
                "key": "k",
                "subject": "s",
                "created_ms": 0,
                "digest": "d",
                "source": {"space": "h", "channel": "c", "conversation": "t", "turn": "t-1"},
            },
            "the plane is unknown",
            kind="ref.derived",
        ),
        "bad_inner_member": meta_fault(
            {"request": request | {"more": 1}}, "there is an inner member too many", kind="turn.lifecycle"
        ),
        "bad_content_seed": cell_vector(
            msgpack([1, CONTENT_SEED, USUAL_CONTENT]),
            "turn.committed",
            "content",
            None,
            ("the content has a seed", "store.corrupt"),
        ),
        "bad_meta_without_seed": envelope_fault(msgpack([1, None, body]), "there is no seed"),
        "bad_part_type": content_fault([[{"type": "song", "content": "la"}]], "the type of a part is unknown"),
        "bad_part_untyped": content_fault([[{"content": "la"}]], "a part has no type"),
        "bad_part_flat": content_fault([{"type": "text", "content": "la"}], "a part stands where a message should"),
    }


def vectors() -> dict[str, Vector]:
    """Return every vector by the name of its file."""
    return good_vectors() | bad_vectors()


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, vector in vectors().items():
        text = json.dumps(vector, indent=1, sort_keys=True, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
