"""Checkpoints, proofs, exports and audits through the front door: what a third party can check, and what he sees."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast

import pytest

from muniment.errors import (
    AccessDenied,
    CursorInvalid,
    EvidenceMissing,
    EvidenceRefused,
    FileUnavailable,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    UnknownConversation,
)
from muniment.events.changes import Transition
from muniment.events.identity import TurnId
from muniment.evidence import verifier
from muniment.evidence.bundle import BundleHead, bundle
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from muniment.kernel.digest import unb64url
from muniment.operations.evidence import certify, verify
from muniment.runtime.open import open_without_key
from tests.runtime.damage import space_of
from tests.turns import RICH, answer, question, rich_turn
from tests.worlds import FileWorld, World, key_of, memory_world

RICH_WORDS = {
    "the system words": {View.RAW_OWNER, View.MODEL_CONTEXT},
    "the user words": {View.RAW_OWNER, View.MODEL_CONTEXT, View.HOST_UI, View.EXPORT},
    "the reasoning words": {View.RAW_OWNER},
    "the response": {View.RAW_OWNER, View.MODEL_CONTEXT},
    "the diagnostic words": {View.RAW_OWNER},
    "the private words": {View.RAW_OWNER},
    "the answer words": {View.RAW_OWNER, View.MODEL_CONTEXT, View.HOST_UI, View.EXPORT},
    "the summary words": {View.RAW_OWNER, View.OPERATOR_AUDIT},
    "label of internal": {View.RAW_OWNER},
    "label of host_ui": {View.RAW_OWNER, View.HOST_UI},
    "id of internal": {View.RAW_OWNER},
    "id of export": {View.RAW_OWNER, View.HOST_UI, View.OPERATOR_AUDIT, View.EXPORT},
    "id of operator_audit": {View.RAW_OWNER, View.OPERATOR_AUDIT},
    "req-1": {View.RAW_OWNER, View.OPERATOR_AUDIT},
    "chat-7": {View.RAW_OWNER, View.OPERATOR_AUDIT},
}


def opened(text: str) -> str:
    """Return all that a bundle or receipt discloses, as text that can be searched."""
    lines = [json.loads(line) for line in text.splitlines()]
    values = [json.loads(unb64url(each)) for line in lines for each in line.get("disclosures", [])]
    return json.dumps(values, ensure_ascii=False)


def exported(world: World, view: View = View.EXPORT, *, certified: bool = True) -> str:
    return world.runtime.evidence.export(key_of(), view, certified).text


def verified(world: World, text: str) -> verifier.ProvedEvidence:
    vkey = world.runtime.evidence.checkpoint().vkey
    return verifier.verify_bundle(verifier.read_lines(io.BytesIO(text.encode())), vkey)


def test_a_certified_export_proves_that_nothing_was_left_out(world: World) -> None:
    world.with_turns(3).masked(2).with_turns(1)
    report = verified(world, exported(world))
    assert (report.complete, report.view, report.streams[0].turns) == (True, "export", 4)
    assert report.events == 1 + 4 + 1 + 1  # opened, turns, mask, certificate
    assert (report.certified, report.export) == (True, {"view": "export"})
    loose = verified(world, exported(world, certified=False))
    assert (loose.complete, loose.events) == (False, 6)


def test_an_old_export_under_a_newer_checkpoint_is_not_complete(world: World) -> None:
    """The first events and their certificate, proved once more after a mask: true, and not all that there is."""
    world.with_turns(2)
    events = exported(world).splitlines()
    assert verified(world, exported(world)).as_of_ms is not None
    world.masked(1)
    newer = world.runtime.evidence.checkpoint()
    held = [(json.loads(line)["header"]["pos"], line.encode()) for line in events if "header" in line]
    ledger = space_of(world).ledger
    head = BundleHead(log=ledger.log, size=newer.size, streams={1: (1, 3)}, export={"view": "export"})
    with ledger.reader() as reader:
        stale = b"".join(bundle(head, held, reader, newer.note)).decode()
    report = verified(world, stale)
    assert (report.complete, report.as_of_ms, report.streams[0].through) == (False, None, 3)


def test_a_conversation_is_exported_in_ranges_that_are_verified_as_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More events than a bundle may have: each range is a bundle, and one file of them is as good as one bundle."""
    world.with_turns(7)
    monkeypatch.setattr(certify, "BUNDLE_EVENTS_MAX", 3)
    export = world.runtime.evidence.export
    with pytest.raises(LimitExceeded, match="conversation"):
        export(key_of())
    parts = [export(key_of(), first_event=1, last_event=3)]
    world.erased(5)
    parts += [export(key_of(), first_event=4, last_event=6), export(key_of(), first_event=7)]
    assert [part.summary["through"] for part in parts] == [8, 9, 9]
    report = verified(world, "".join(part.text for part in parts))
    assert (report.complete, report.streams[0].turns, report.erased_turns) == (True, 7, 1)
    assert not verified(world, parts[2].text).complete
    for first, last in ((0, 1), (8, 7), (1, 99)):
        with pytest.raises(InvalidInput, match="event"):
            export(key_of(), first_event=first, last_event=last)


@pytest.mark.parametrize("view", View)
def test_an_export_discloses_what_its_view_shows_and_no_more(world: World, view: View) -> None:
    """RP-08, RP-10, EX-01: word by word, each compared with its commitment by the verifier."""
    world.with_turn(rich_turn())
    text = exported(world, view)
    verified(world, text)
    for word, views in RICH_WORDS.items():
        assert (word in opened(text)) == (view in views), word


def test_masked_and_erased_words_are_in_no_export(world: World) -> None:
    """LC-13: commitments stay, so every proof still holds; the words and their salts are gone."""
    world.with_turns(3)
    before = verified(world, exported(world, View.RAW_OWNER))
    world.masked(1).erased(2)
    for view in View:
        text = exported(world, view)
        report = verified(world, text)
        for number in (1, 2):
            assert question(number) not in opened(text)
            assert answer(number) not in opened(text)
        assert (question(3) in opened(text)) == (view is not View.OPERATOR_AUDIT)
        assert report.streams[0].turns == before.streams[0].turns == 3


def test_an_export_made_before_an_erasure_still_verifies(world: World) -> None:
    world.with_turns(2)
    text = exported(world)
    world.erased(1)
    assert verified(world, text).complete


def test_the_operation_verifies_what_it_exported_and_refuses_one_word_changed(world: World) -> None:
    """No store is needed; a forged copy is refused with the reason as its problem."""
    world.with_turns(2)
    text, vkey = exported(world), world.runtime.evidence.checkpoint().vkey
    report = world.runtime.evidence.verify(text.encode(), vkey)
    assert (report.complete, report.streams[0].turns, report.events) == (True, 2, 4)
    assert report.disclosed > 0
    for forged in (text.replace('"seq":2', '"seq":3', 1), text[:-2], text.replace("\n", "\n\n", 1), ""):
        with pytest.raises(EvidenceRefused) as refused:
            world.runtime.evidence.verify(forged.encode(), vkey)
        assert refused.value.problem
    with pytest.raises(EvidenceRefused):
        world.runtime.evidence.verify(b"\xff\n", vkey)
    for no_stream in (5, io.StringIO(text), None):
        with pytest.raises(InvalidInput, match="bundle"):
            world.runtime.evidence.verify(cast("Any", no_stream), vkey)


def test_a_bundle_is_read_from_a_stream_or_a_file(world: World, tmp_path: Path) -> None:
    """An upload: bytes, a stream, which stays open, or the path of a file."""
    text, vkey = exported(world.with_turns(2)), world.runtime.evidence.checkpoint().vkey
    (tmp_path / "bundle").write_text(text)
    stream = io.BytesIO(text.encode())
    reports = [world.runtime.evidence.verify(each, vkey) for each in (text.encode(), stream, tmp_path / "bundle")]
    assert reports[0] == reports[1] == reports[2] == world.runtime.evidence.verify(str(tmp_path / "bundle"), vkey)
    assert not stream.closed
    with pytest.raises(FileUnavailable, match="bundle"):
        world.runtime.evidence.verify(tmp_path / "nothing", vkey)


def test_a_key_of_another_log_verifies_nothing(world: World) -> None:
    text, other = exported(world.with_turns(1)), memory_world("other")
    for vkey in (other.runtime.evidence.checkpoint().vkey, "no key at all"):
        with pytest.raises(EvidenceRefused):
            world.runtime.evidence.verify(text.encode(), vkey)
    other.close()


@pytest.mark.parametrize("view", View)
def test_a_receipt_proves_one_turn_and_discloses_what_the_view_shows(world: World, view: View) -> None:
    world.with_turns(1).with_turn(rich_turn())
    proof = world.runtime.evidence.prove(key_of(), RICH, view)
    report = verifier.verify_receipt(proof.text.encode(), str(proof.summary["vkey"]))
    assert report.header["pos"] == proof.summary["position"]
    shown = json.dumps(report.disclosed, ensure_ascii=False)
    for word, views in RICH_WORDS.items():
        if not word.startswith("chat"):  # the alias is an event of its own
            assert (word in shown) == (view in views), word


def test_what_is_not_there_cannot_be_proved(world: World) -> None:
    world.with_turns(1)
    evidence = world.runtime.evidence
    events = world.runtime.spaces.usage().events
    with pytest.raises(EvidenceMissing):
        evidence.prove(key_of("talk"), TurnId("nobody"))
    with pytest.raises(UnknownConversation):
        evidence.prove(key_of("nowhere"), TurnId("turn-1"))
    for certified in (True, False):
        with pytest.raises(UnknownConversation):
            evidence.export(key_of("nowhere"), View.EXPORT, certified)
    assert world.runtime.spaces.usage().events == events


def test_a_view_that_was_not_granted_is_not_exported_either(world: World) -> None:
    world.with_turns(1)
    effects = frozenset({Effect.READ, Effect.APPEND})
    narrow = world.runtime.restricted(Access(views=frozenset({View.EXPORT}), effects=effects))
    assert narrow.evidence.export(key_of()).text
    with pytest.raises(AccessDenied):
        narrow.evidence.export(key_of(), View.RAW_OWNER)
    with pytest.raises(AccessDenied):
        narrow.evidence.prove(key_of(), TurnId("turn-1"), View.RAW_OWNER)


def test_a_head_is_signed_once(world: World) -> None:
    """A repeat returns the same note; another event makes another one."""
    world.with_turns(1)
    first, again = world.runtime.evidence.checkpoint(), world.runtime.evidence.checkpoint()
    assert first == again
    assert world.with_turns(1).runtime.evidence.checkpoint().size == first.size + 1


def test_an_audit_needs_no_key_and_can_be_held_to_one(lasting: FileWorld) -> None:
    """Header-only: everything is read once; with a key given only the log of that key counts."""
    lasting.with_turns(20).erased(3)
    vkey = lasting.runtime.evidence.checkpoint().vkey
    with open_without_key(lasting.store) as third_party:
        free = third_party.evidence.audit()
        held = third_party.evidence.audit(vkey)
        with pytest.raises(EvidenceMissing):
            third_party.evidence.audit(vkey[:-4] + "AAAA")
    assert (free.spaces[0].key, held.spaces[0].key) == ("self-declared", "given")
    assert free.spaces[0].turns == held.spaces[0].turns == 20


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET time = time + 1 WHERE position = 3",
        "UPDATE events SET target_seq = 2 WHERE target_seq IS NOT NULL",
        "UPDATE events SET leaf = zeroblob(32) WHERE position = 3",
        "UPDATE events SET header = x'00' WHERE position = 3",
        "DELETE FROM events WHERE position = 3",
        "UPDATE nodes SET hash = zeroblob(32)",
        "UPDATE checkpoints SET note = note || 'x'",
        "UPDATE checkpoints SET size = 1000 WHERE size = (SELECT max(size) FROM checkpoints)",
        "UPDATE frontier SET range = zeroblob(length(range))",
        "UPDATE meta SET value = x'00' WHERE name = 'vkey'",
        "DELETE FROM meta WHERE name = 'vkey'",
    ],
)
def test_an_audit_refuses_an_edited_log(lasting: FileWorld, statement: str) -> None:
    lasting.with_turns(20).masked(1)
    with lasting.broken_into() as raw:
        assert raw.execute(statement).rowcount
    with open_without_key(lasting.store) as third_party, pytest.raises(MunimentError) as refused:
        third_party.evidence.audit()
    assert refused.value.code == "store.corrupt"


def test_who_received_an_export_and_what_for_is_kept_in_the_log(world: World) -> None:
    """The certificate is an event of the space; its names are sealed and shown to nobody by default."""
    world.with_turns(1)
    world.runtime.evidence.export(key_of(), View.EXPORT, certified=True, recipient="the court", purpose="discovery")
    receipt = world.request(Transition.ERASE).receipt
    assert receipt is not None
    assert any("certified export" in line for line in receipt.outside)
    assert "the court" not in exported(world)


@pytest.mark.parametrize("text", ["", " a", "a\nb", "x" * 513])
def test_who_received_an_export_is_named_in_canonical_text(world: World, text: str) -> None:
    world.with_turns(1)
    events = world.runtime.spaces.usage().events
    for recipient, purpose, at in ((text, None, "recipient"), (None, text, "purpose")):
        with pytest.raises(InvalidInput) as refused:
            world.runtime.evidence.export(key_of(), View.EXPORT, certified=True, recipient=recipient, purpose=purpose)
        assert refused.value.at == at
    assert world.runtime.spaces.usage().events == events


def test_errors_of_evidence_never_hold_a_name(world: World) -> None:
    for attempt in (
        lambda: world.runtime.evidence.export(key_of("canary")),
        lambda: world.runtime.evidence.prove(key_of("canary"), TurnId("canary")),
        lambda: world.runtime.evidence.verify(b"canary", "canary"),
        lambda: world.runtime.transcripts.replay(key_of("canary"), cursor="canary"),
    ):
        with pytest.raises((UnknownConversation, EvidenceRefused, CursorInvalid)) as refused:
            attempt()
        assert "canary" not in str(refused.value)


def test_a_bundle_is_read_up_to_a_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit it is verified; one byte more is refused before the rest is read."""
    evidence = world.with_turns(1).runtime.evidence
    bundle, vkey = evidence.export(key_of()).text.encode(), evidence.checkpoint().vkey
    monkeypatch.setattr(verify, "UPLOAD_BYTES_MAX", len(bundle))
    assert evidence.verify(bundle, vkey).events
    monkeypatch.setattr(verify, "UPLOAD_BYTES_MAX", len(bundle) - 1)
    with pytest.raises(LimitExceeded) as refused:
        evidence.verify(bundle, vkey)
    assert (refused.value.at, refused.value.limit) == ("bundle", len(bundle) - 1)
