"""The verifier where evidence is odd: heads, pages, readable text of values that nobody foresaw."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from muniment.evidence import timestamps, verifier
from muniment.evidence.bundle import BundleHead, EarlierCheckpoint, ErasureHead, bundle, event_line
from muniment.evidence.tree import consistency_proof
from muniment.evidence.verifier import Refused, statement_line, verify_evidence
from tests.evidence import logs
from tests.evidence.authorities import ANY_CA, certified
from tests.evidence.logs import Log

STATEMENT = {"content_left": 0, "made_ms": 5, "outside": ["backups"], "places": [["keys", "1 destroyed"]]}


def certificate(log: Log, positions: list[int], statement: dict[str, object], extension: str | None = None) -> bytes:
    """Return the certificate of what is at these positions, with every field disclosed."""
    head = ErasureHead(log=log.id, size=log.size, statement=statement)
    line = statement_line(statement) if extension is None else extension
    note = log.signer.sign_checkpoint(log.signer.key.name, log.size, log.rows.frontier.root(), [line])
    events = [(at, event_line(log.exact[at], log.disclosures[at])) for at in positions]
    return b"".join(bundle(head, events, log.rows, note))


def erased_log() -> tuple[Log, dict[str, int]]:
    """Return a log with an erasure of two turns and of a message, and where things are."""
    log = Log("erased")
    stream = log.converse(["one", "two", "three"])
    request: dict[str, object] = {"request": {"reason": "r", "requester": "q", "requested_ms": 1}}
    span = log.append("turn.lifecycle", stream, request, refs={"through": 2}, reason="erase")
    alone = log.append("turn.lifecycle", stream, request, refs={"turn": 3, "message": 0}, reason="erase")
    other: dict[str, object] = {"request": {"reason": "another", "requester": "q", "requested_ms": 1}}
    later = log.append("turn.lifecycle", stream, other, refs={"first": 1, "through": 3}, reason="erase")
    blank = log.append("turn.lifecycle", stream, {}, refs={"turn": 1}, reason="erase")
    mask = log.append("turn.lifecycle", stream, {}, refs={"turn": 3}, reason="mask")
    rotated = log.append("key.rotated", 0, {"version": 2}, reason="erasure")
    requested = log.append("key.rotated", 0, {"version": 3}, reason="requested")
    removed = log.append("tools.removed", 0, request, reason="erase")
    other_removed = log.append("tools.removed", 0, other, reason="erase")
    sold = log.append("tools.removed", 0, request)
    whole = log.append("space.erased", 0, {})
    return log, {
        "opened": stream, "one": stream + 1, "three": stream + 3, "span": span, "alone": alone, "later": later,
        "blank": blank, "mask": mask, "rotated": rotated, "requested": requested, "whole": whole,
        "removed": removed, "other removed": other_removed, "sold": sold,
    }  # fmt: skip


LOG, AT = erased_log()


def judged(data: bytes) -> verifier.ProvedEvidence:
    return verify_evidence(io.BytesIO(data), LOG.signer.vkey, show=True)


def places(*names: str) -> list[int]:
    return sorted(AT[name] for name in names)


def test_a_certificate_counts_turns_and_messages_apart() -> None:
    evidence = judged(certificate(LOG, places("opened", "one", "three", "span", "alone", "rotated"), STATEMENT))
    assert (evidence.erasures, evidence.erased_turns, evidence.erased_messages) == (2, 2, 1)
    assert "  outside: backups" in list(verifier.lines_of(evidence))
    assert "  stated     1970-01-01 00:00:00.005Z" in list(verifier.lines_of(evidence))


@pytest.mark.parametrize(
    ("names", "counts"), [(("span", "removed"), (2, 2)), (("removed",), (1, 0))], ids=["with turns", "alone"]
)
def test_what_is_no_entry_is_erased_by_an_event_without_a_target(
    names: tuple[str, ...], counts: tuple[int, int]
) -> None:
    """Such as the words of a tool registry: it counts as an erasure, and of no turn."""
    evidence = judged(certificate(LOG, places(*names), STATEMENT))
    assert (evidence.erasures, evidence.erased_turns) == counts


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("opened", "one"), "certificate"),
        (("removed", "one", "opened"), "certificate"),
        (("span", "other removed"), "certificate"),
        (("span", "sold"), "foreign_event"),
        (("three", "span"), "certificate"),
        (("span", "later"), "certificate"),
        (("blank",), "certificate"),
        (("span", "mask"), "foreign_event"),
        (("span", "requested"), "foreign_event"),
    ],
)
def test_a_certificate_of_what_was_not_erased_is_refused(names: tuple[str, ...], code: str) -> None:
    with pytest.raises(Refused, match=code):
        judged(certificate(LOG, places(*names), STATEMENT))


@pytest.mark.parametrize(
    "wrong",
    [
        {"content_left": 1}, {"content_left": False}, {"made_ms": -1}, {"outside": "backups"}, {"outside": [1]},
        {"places": "x"}, {"places": [["one"]]}, {"places": [["a", 1]]}, {"more": 1},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_a_statement_of_another_form_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Refused, match="head"):
        judged(certificate(LOG, places("span"), {**STATEMENT, **wrong}))


def test_nothing_stands_behind_a_certificate_of_an_erasure() -> None:
    sound = certificate(LOG, places("span"), STATEMENT)
    for wrong in (sound + sound, b"".join(LOG.export(AT["opened"])) + sound):
        with pytest.raises(Refused, match="trailing"):
            judged(wrong)
    with pytest.raises(Refused, match="head"):
        judged(sound + b"".join(LOG.export(AT["opened"])))


def test_a_statement_that_was_not_signed_is_refused() -> None:
    with pytest.raises(Refused, match="statement"):
        judged(certificate(LOG, places("span"), STATEMENT, "erasure " + "A" * 43 + "="))


@pytest.mark.parametrize(
    "line",
    [
        b'{"earlier":5}', b'{"earlier":{"checkpoint":5,"consistency":[]}}', b'{"earlier":{"checkpoint":"x"}}',
        b'{"earlier":{"checkpoint":"x","consistency":[]}}', b'{"skipped":5}', b'{"skipped":[]}', b'{"skipped":["x"]}',
        b'{"checkpoint":5}',         b'{"earlier":', b"{}",
    ],
)  # fmt: skip
def test_closing_lines_of_another_form_are_refused(line: bytes) -> None:
    lines = LOG.export(AT["opened"])
    for at in (len(lines) - 2, len(lines) - 1):
        with pytest.raises(Refused):
            judged(b"".join([*lines[:at], line + b"\n", *lines[at:]]))


def test_behind_an_earlier_checkpoint_comes_only_the_last_one() -> None:
    log = Log("earlier")
    stream = log.converse(["one"])
    earlier = EarlierCheckpoint(note=log.checkpoint(), consistency=[])
    events = [(at, event_line(log.exact[at], {})) for at in (stream, stream + 1)]
    head = BundleHead(log=log.id, size=log.size, streams={stream: (1, 2)}, export={"view": "export"})
    lines = list(bundle(head, events, log.rows, log.checkpoint(), earlier))
    assert verify_evidence(io.BytesIO(b"".join(lines)), log.signer.vkey).events == 2
    for more in (lines[1], lines[2], lines[-2], b'{"skipped":[],"x":1}\n'):
        with pytest.raises(Refused):
            verify_evidence(io.BytesIO(b"".join([*lines[:-1], more, lines[-1]])), log.signer.vkey)
    other = Log("earlier").checkpoint()
    wrong = bundle(head, events, log.rows, log.checkpoint(), EarlierCheckpoint(note=other, consistency=[]))
    with pytest.raises(Refused, match="consistency"):
        verify_evidence(io.BytesIO(b"".join(wrong)), log.signer.vkey)
    odd = lines[1].replace(b'{"skipped":[', b'{"skipped":5,"z":[')
    with pytest.raises(Refused, match="skipped"):
        verify_evidence(io.BytesIO(b"".join([lines[0], odd, *lines[2:]])), log.signer.vkey)


def test_the_last_line_is_proved_with_what_came_before() -> None:
    """A log that ended is erased as a whole, and says so."""
    evidence = judged(b"".join(LOG.export(0, AT["opened"])))
    assert (evidence.complete, evidence.erasures, evidence.erased_turns) == (True, 5, 3)
    assert consistency_proof(LOG.rows, LOG.size, LOG.size) == []


# --- readable text ----------------------------------------------------------------------------------------------------


def entry_of(kind: str, fields: dict[str, object], **more: object) -> verifier.Entry:
    log = Log("odd")
    stream = log.append("conversation.opened", log.size, {})
    at = log.append(kind, stream, fields, **more)  # type: ignore[arg-type]  # refs and reason, as cases name them
    evidence = verify_evidence(io.BytesIO(log.receipt(at)), log.signer.vkey, show=True)
    return evidence.entries[0]


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "text", "content": "plain"}, "plain"),
        ({"type": "text", "content": 5}, '{"content":5,"type":"text"}'),
        ({"type": "text", "content": "x", "more": 1}, '{"content":"x","more":1,"type":"text"}'),
        ({"type": "reasoning", "content": "why"}, "[reasoning] why"),
        ({"type": "blob", "content": "AAAA", "mime_type": "image/png"}, '[blob {"mime_type":"image/png"}]'),
        (["no", "part"], '["no","part"]'),
        (7, "7"),
    ],
)
def test_any_part_can_be_read(part: object, text: str) -> None:
    entry = entry_of("turn.committed", {"message/0": {"role": "user"}, "message/0/content/0": part})
    assert (entry.said[0].who, entry.said[0].text) == ("user", text)


@pytest.mark.parametrize(
    ("fields", "who"),
    [
        (
            {"message/0": {"role": "user", "speaker_id": "ada", "observed_ms": 1000}},
            "user ada, 1970-01-01 00:00:01.000Z",
        ),
        ({"message/0": {"role": "assistant"}, "actor": {"agent_id": "a-1"}}, "assistant a-1"),
        ({"message/0": {"role": "tool"}, "actor": "nobody"}, "tool"),
        ({"message/0": "odd"}, "message 1"),
    ],
)
def test_the_speaker_is_the_one_that_is_disclosed(fields: dict[str, object], who: str) -> None:
    assert entry_of("turn.committed", fields).said[0].who == who


@pytest.mark.parametrize(
    ("kind", "refs", "reason", "title"),
    [
        ("turn.lifecycle", {"first": 1}, "hold", "hold: all turns"),
        ("turn.lifecycle", {"through": 3}, "erase", "erase: turns 1 to 3"),
        ("turn.lifecycle", {"turn": 2, "message": 0}, "erase", "erase: turn 2, message 1"),
        ("turn.redacted", {"turn": 2}, "legal", "turn.redacted, legal, turn 2"),
        ("export.issued", {"stream": 1, "through": 4}, None, "export recorded, up to event 4"),
        ("attr.recorded", {"turn": 2}, None, "attr.recorded, turn 2"),
    ],
)
def test_every_kind_of_event_has_a_title(kind: str, refs: dict[str, int], reason: str | None, title: str) -> None:
    assert entry_of(kind, {}, refs=refs, reason=reason).title == title


def test_a_conversation_whose_name_is_withheld_has_a_title() -> None:
    log = Log("odd")
    opened = log.append("conversation.opened", log.size, {})
    assert verify_evidence(io.BytesIO(log.receipt(opened)), log.signer.vkey, show=True).entries[0].title == (
        "conversation opened"
    )


def test_a_text_of_several_lines_is_indented_and_counts_what_is_hidden() -> None:
    shown = verifier.Utterance(who="user", text="a\nb", state="shown", hidden=2)
    entry = entry_of("turn.redacted", {"note": "first\nsecond"}, refs={"turn": 1}, reason="legal")
    made = replace(entry, said=(shown,), withheld=3)
    assert list(verifier.text_of([made]))[2:] == [
        "  user:", "    a", "    b", "    [2 parts withheld]", "  note: first", "    second",
        "  (not disclosed: 3 fields)",
    ]  # fmt: skip
    page = "\n".join(verifier._html_entry(made))
    assert "2 parts withheld" in page
    assert "not disclosed: 3 fields" in page


def test_a_time_beyond_all_calendars_is_a_number() -> None:
    assert verifier.clock_ms(2**62) == f"{2**62} ms"


# --- pages and files --------------------------------------------------------------------------------------------------


def page() -> bytes:
    proof = b"".join(LOG.export(AT["opened"]))
    return verifier.render_page(judged(proof), proof)


def test_a_page_without_one_sound_proof_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page()
    start = whole.index(b'id="proof">\n') + len(b'id="proof">\n')
    for broken in (
        verifier.PAGE_START + b"\n",
        whole[:start],
        whole.replace(b"</title>", b"\xff</title>"),
        whole[:start] + whole,
        verifier.PAGE_START + b'\n<script type="application/jsonl" id="proof">\n' + whole[: start - 60] + b"</script>",
    ):
        with pytest.raises(Refused):
            judged(broken)
    with pytest.raises(Refused, match="page"):
        verifier.render_page(judged(whole), b"<\n")
    monkeypatch.setattr(verifier, "PAGE_BYTES_MAX", 100)
    with pytest.raises(Refused, match="line_too_long"):
        judged(whole)


def test_the_command_checks_a_timestamp_with_a_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PEM or DER; a certificate that is none is refused, a file that is not there is misuse."""
    root = certified("root", basic=ANY_CA)
    (tmp_path / "page.html").write_bytes(page())
    base = ["verify", str(tmp_path / "page.html"), "--key", LOG.signer.vkey, "--timestamp-certificate"]
    for name, data in (("pem", root.pem.encode()), ("der", root.der)):
        (tmp_path / name).write_bytes(data)
        assert verifier.main([*base, str(tmp_path / name)]) == 1
        assert capsys.readouterr().out.startswith("REFUSED  timestamp_missing")
    (tmp_path / "none").write_bytes(b"none")
    assert verifier.main([*base, str(tmp_path / "none")]) == 1
    assert capsys.readouterr().out.startswith("REFUSED  certificate_malformed")
    assert verifier.main([*base, str(tmp_path / "absent")]) == 2


@pytest.mark.parametrize("word", ["verify", "show"])
def test_the_command_tells_what_is_nested_deeply(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """A log may disclose what a reader of JSON still takes; the report does not give up before it."""
    log = Log("deep")
    deep: object = "end"
    for _ in range(600):
        deep = [deep]
    monkeypatch.setattr(logs, "encode", lambda value: json.dumps(value).encode())  # ours takes 64 levels
    position = log.append("turn.committed", log.converse(["hello"]), {"actor": deep})
    (tmp_path / "receipt").write_bytes(log.receipt(position))
    assert verifier.main([word, str(tmp_path / "receipt"), "--key", log.signer.vkey, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [entry["fields"]["actor"] for entry in told["entries"]] == ([deep] if word == "show" else [])


def test_the_command_writes_to_any_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a terminal cannot spell is spelt out."""
    log = Log("narrow")
    stream = log.converse(["Grüß \U0001f600"])
    (tmp_path / "bundle").write_bytes(b"".join(log.export(stream)))
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert verifier.main(["show", str(tmp_path / "bundle"), "--key", log.signer.vkey]) == 0
    sys.stdout.flush()
    assert b"Gr\\xfc\\xdf \\U0001f600" in written.getvalue()


def test_the_command_writes_to_what_is_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.html").write_bytes(page())
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    assert verifier.main(["verify", str(tmp_path / "page.html"), "--key", LOG.signer.vkey]) == 0
    assert written.getvalue().startswith("VERIFIED")


# --- DER --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [b"", b"\x30", b"\x30\x81\x05xxxxx", b"\x30\x80", b"\x30\x85\x00\x00\x00\x00\x01x", b"\x1f\x01x", b"\x30\x01xx"],
)
def test_only_one_spelling_of_der_is_read(data: bytes) -> None:
    with pytest.raises(Refused, match="timestamp_malformed"):
        verifier.parse_der(data)


def test_object_identifiers_are_read_or_refused() -> None:
    assert verifier.parse_der(bytes.fromhex("06092a864886f70d010702")).oid() == "1.2.840.113549.1.7.2"
    assert verifier.parse_der(bytes.fromhex("0602883703"[:8])).oid() == "2.999"
    for wrong in ("0600", "060180", "02012a"):
        with pytest.raises(Refused, match="timestamp_malformed"):
            verifier.parse_der(bytes.fromhex(wrong)).oid()


def test_a_note_without_a_token_has_no_timestamp() -> None:
    assert not timestamps.is_stamped(LOG.checkpoint())
    assert verifier.timestamps_of([LOG.checkpoint()], None) == ()
