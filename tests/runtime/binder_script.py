"""What a release with binders would do, run with a copy of the package that has them (see `test_entries`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import muniment
from muniment import ConversationKey, Message, Role, Turn
from muniment.events import records
from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.events.changes import LifecycleRequest, Transition, TurnLifecycle
from muniment.events.records import EventKind, RotationCause
from muniment.evidence.bundle import BundleHead, bundle, event_line
from muniment.evidence.verifier import entry_of, verify_bundle, verify_receipt
from muniment.ledger.drafts import Change, draft, encoded
from muniment.ledger.ledger import Ledger, Writer
from muniment.log.port import Reader, SealedRow
from muniment.operations.lifecycle.receipt import event_proof
from muniment.runtime.runtime import Runtime
from muniment.space.healing import Healing
from muniment.space.options import Options
from muniment.space.space import Space

KEY = ConversationKey(conversation="talk")
TEXTS = ["likes tea", "has a cat", "lives in Oslo"]
HOME = Path(sys.argv[1])
SCOPE = ArchiveScope(kind=ScopeKind.SUBJECT, subject="ada")


def opened(name: str = "store") -> Runtime:
    """Open a store of this run."""
    return muniment.open(HOME / name, keys=f"file:{HOME}/root.key", options=Options())


def sheet(ledger: Ledger, text: str, topic: str) -> Any:
    """Return the draft of a sheet."""
    content = records.SheetContent(text=text)  # type: ignore[attr-defined]  # of the copy
    meta = records.SheetMeta(topic=topic)  # type: ignore[attr-defined]  # of the copy
    kind = EventKind("sheet.recorded")
    return draft(ledger.entropy, kind, 1, meta, content=encoded(content))


def name(ledger: Ledger, *parts: str) -> bytes:
    """Return the digest of a name of the binder."""
    return ledger.name_digest("sheet", *parts)


def write(space: Space) -> dict[str, object]:
    """Open a binder of three sheets, each with an id and a topic; give the second topic to the third sheet."""
    ledger = space.ledger
    binder = records.BinderOpened(plane="long_term")  # type: ignore[attr-defined]  # of the copy

    def record(writer: Writer) -> list[int]:
        stream = writer.change(Change(EventKind("binder.opened"), 1, binder), stream=None).position
        numbers = []
        for number, text in enumerate(TEXTS, 1):
            placed = writer.append(sheet(ledger, text, f"topic-{number}"), stream=stream)
            numbers.append(placed.turn_seq or 0)
            for digest in (name(ledger, "id", str(number)), name(ledger, "topic", str(number))):
                writer.claim(digest, stream, placed.position)
        return numbers

    def move(writer: Writer) -> bool:
        former, third = name(ledger, "topic", "2"), writer.find(name(ledger, "id", "3"))
        assert third is not None
        writer.rename(former, name(ledger, "former topic", "2"))
        writer.flush()
        stream = binder_of(writer.tx)
        writer.claim(former, stream, third)
        writer.flush()
        return writer.find(former) == third

    numbers = ledger.transact(record)
    moved = ledger.transact(move)
    with ledger.reader() as reader:
        second = ledger.names.find(reader, name(ledger, "id", "2"))
        free = ledger.names.find(reader, name(ledger, "former topic", "2")) == second
    return {"sheets": numbers, "names": 2, "moved": moved, "renamed_free": free}


def binder_of(reader: Reader) -> int:
    """Return the stream of the binder."""
    return next(head.stream for head in reader.stream_heads() if head.type == "binder")


def rows(space: Space) -> list[SealedRow]:
    """Return the sheets."""
    with space.ledger.reader() as reader:
        return reader.turns(binder_of(reader), 1, 9)


def texts(space: Space) -> list[str]:
    """Return the texts of the sheets that have one."""
    kept = [space.ledger.open(row) for row in rows(space) if row.content is not None]
    return [space.ledger.content(one)[1].text for one in kept]  # type: ignore[union-attr]  # of the copy


def erase(space: Space, number: int, *, destroys: bool = True) -> None:
    """Erase a sheet; or only say so, as if its content had come back."""
    request = LifecycleRequest(reason="asked", requester="ada", requested_ms=1)

    def plan(writer: Writer) -> None:
        body, refs = TurnLifecycle(request=request), {"turn": number}
        stream = binder_of(writer.tx)
        writer.change(Change(EventKind("sheet.changed"), 1, body, refs, Transition.ERASE), stream)
        writer.flush()
        (row,) = writer.tx.turns(stream, number, number)
        assert not destroys or writer.destroy_content(row)

    space.rotate(RotationCause.ERASURE, plan)


def in_space(work: Callable[[Runtime, Space], Any]) -> Any:
    """Do something with the store freshly opened."""
    with opened() as runtime:
        return work(runtime, runtime._session.space)


def bundled(runtime: Runtime, space: Space) -> dict[str, object]:
    """Verify a bundle of both streams, and the receipt of a sheet."""
    ledger = space.ledger
    signed, vkey = space.checkpoint(), runtime.evidence.checkpoint().vkey
    with ledger.reader() as reader:
        streams = {head.stream: (1, head.seq) for head in reader.stream_heads() if head.stream}
        events = [row for row in reader.sealed_events(0, 10_000) if row.stream in streams]
        lines = [(row.position, event_line(ledger.header(row)[1], {})) for row in events]
        size = reader.frontier().size
        head = BundleHead(log=ledger.log, size=size, streams=streams, export={"view": "export"})
        made = list(bundle(head, lines, reader, signed.note))
        (first, *_) = reader.turns(binder_of(reader), 1, 1)
        _, receipt = event_proof(space, reader, first.position, size, signed.note)
    proved = verify_bundle(made, vkey)
    told = {"turns": sum(one.turns for one in proved.streams), "events": proved.events, "erased": proved.erased_turns}
    entry, _ = entry_of(verify_receipt(receipt.encode(), vkey).header)
    return {"verified": {**told, "streams": len(proved.streams)}, "receipt": entry}


def main() -> None:
    """Go through everything that reads a log; print what was found."""
    found: dict[str, Any] = {}
    with opened() as runtime:
        space = runtime._session.space
        runtime.transcripts.commit(Turn(turn="t-1", subject="ada", conversation="talk", messages=[hello()]))
        found["written"] = write(space)
        runtime.transcripts.commit(Turn(turn="t-2", subject="ada", conversation="talk", messages=[hello()]))
        runtime.spaces.backup(str(HOME / "early"))
        erase(space, 2)
        after = rows(space)[1]
        found["erased"] = {"content": after.content is None, "text_of_others": texts(space)}
        found["search"] = {word: len(runtime.transcripts.search(word).hits) for word in ("hello", "tea")}
        found["replay"] = [turn.turn for turn in runtime.transcripts.replay(KEY).turns]
        runtime.archives.export(str(HOME / "archive"), SCOPE, PrivateMaterial.INCLUDE)
        found |= bundled(runtime, space)
    found["reopened"] = in_space(looked_at)
    found["healed"] = heal()
    with opened("other") as runtime:
        came = runtime.archives.import_((HOME / "archive").read_bytes(), SCOPE, PrivateMaterial.INCLUDE)
        found["archive"] = {"documents": came.conversations_inserted, "inserted": came.turns_inserted}
    with opened() as runtime:
        runtime.spaces.restore(str(HOME / "early"), replace=True)
        space = runtime._session.space
        gone = rows(space)[1].content is None
        found["restored"] = {"sound": sound(runtime), "sheet": not gone, "texts": texts(space)}
    sys.stdout.write(json.dumps(found))


def hello() -> Message:
    """Return something that is said."""
    return Message(role=Role.USER, content="hello")


def sound(runtime: Runtime) -> bool:
    """Tell whether an inspection finds nothing."""
    return not runtime.evidence.inspect().findings


def looked_at(runtime: Runtime, space: Space) -> dict[str, object]:
    """Attest, audit and inspect."""
    runtime.evidence.audit()
    findings = [finding.kind for finding in runtime.evidence.inspect().findings]
    with space.ledger.reader() as reader:
        head = space.ledger.head(reader, binder_of(reader))
        assert head is not None
    return {
        "sound": runtime.system.health().sound, "findings": findings,
        "changes": head.changes, "type": head.type, "names": head.names,
    }  # fmt: skip


def heal() -> dict[str, object]:
    """Let the third sheet be erased with its content left; say what the next opening does about it."""
    with opened() as runtime:
        space = runtime._session.space
        erase(space, 3, destroys=False)
        with space.ledger.reader() as reader:
            came = [one.position for one in Healing(space.ledger, space.transcript).returned(reader)]
    with opened() as runtime:
        row = rows(runtime._session.space)[2]
        return {"came_back": came == [row.position], "content": row.content is not None, "sound": sound(runtime)}


if __name__ == "__main__":
    main()
