"""Bundles and receipts: any slice of any log convinces a third party, and no other slice does."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.errors import Corrupt
from muniment.evidence import verifier
from muniment.evidence.bundle import BundleHead, bundle, event_line
from muniment.evidence.verifier import Refused, main, read_lines, verify_bundle, verify_receipt
from tests.evidence.logs import Log

WORDS = ("Grüß Gott", "\u2028 and \U0001f600", 'quotes " and \\', "\x00\x1f\x7f", "")


def talk(seed: str = "talk") -> tuple[Log, int, int]:
    """Return a log with two conversations, and their streams."""
    log = Log(seed)
    return log, log.converse(WORDS), log.converse(["other"])


LOG, FIRST, SECOND = talk()
CERTIFICATE = LOG.certify(FIRST)
BUNDLE = LOG.export(FIRST, certificates=[CERTIFICATE], withhold=["actor"])
RECEIPT = LOG.receipt(FIRST + 1)


@settings(max_examples=30)
@given(st.lists(st.lists(st.text(max_size=8), max_size=4), min_size=1, max_size=4), st.data())
def test_any_streams_of_any_log_can_be_verified_with_the_public_key_alone(
    conversations: list[list[str]], data: st.DataObject
) -> None:
    """Whatever was said, in how many conversations, and whichever of them are exported: the bundle verifies."""
    log = Log(data.draw(st.sampled_from("abc")))
    streams = [log.converse(words) for words in conversations]
    chosen = data.draw(st.sets(st.sampled_from([0, *streams]), min_size=1))
    certified = data.draw(st.sets(st.sampled_from(sorted(chosen - {0})))) if chosen - {0} else set()
    certificates = [log.certify(stream) for stream in sorted(certified)]
    report = verify_bundle(log.export(*sorted(chosen), certificates=certificates), log.signer.vkey)
    assert [one.stream for one in report.streams] == sorted(chosen)
    assert {one.stream for one in report.streams if one.through is not None} == certified
    assert report.withheld == 0
    assert report.complete == (certified == chosen or report.events == log.size)


@pytest.mark.parametrize("level", [0, 4])
def test_stored_hashes_that_were_not_signed_make_no_bundle(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of what is exported, and those that stand for what is left out."""
    log, _, stream = talk()
    for _ in range(4):
        log.converse(WORDS)
    note = log.checkpoint()
    monkeypatch.setattr(log, "checkpoint", lambda: note)
    assert log.export(stream)
    exported = next(made.pos for made in log.headers if made.stream == stream)
    log.rows.levels[level][-1 if level else exported] = bytes(32)
    with pytest.raises(Corrupt):
        log.export(stream)


def test_a_bundle_tells_what_it_proved() -> None:
    report = verify_bundle(BUNDLE, LOG.signer.vkey)
    (stream,) = report.streams
    assert (stream.events, stream.turns, stream.through, stream.complete) == (6, 5, 6, True)
    assert report.complete
    assert (report.events, report.disclosed, report.withheld) == (7, 7, 5)
    assert (report.certified, report.export) == (True, {"view": "export"})
    assert (report.origin, report.size, report.view) == (LOG.signer.key.name, LOG.size, "export")
    assert base64.b64decode(report.root) == LOG.rows.frontier.root()


def test_a_certificate_of_an_earlier_state_needs_all_that_followed_in_the_log() -> None:
    """Where every event behind the certificate is here, the end is known; one that is absent could be of the stream."""
    log, first, second = talk()
    certificate = log.certify(first)
    log.append("turn.committed", first, {"actor": "agent"})
    report = verify_bundle(log.export(first, certificates=[certificate]), log.signer.vkey)
    assert report.complete
    assert report.streams[0].through == report.streams[0].events - 1
    log.append("turn.committed", second, {"actor": "agent"})
    assert not verify_bundle(log.export(first, certificates=[certificate]), log.signer.vkey).complete


def test_an_old_certificate_under_a_newer_checkpoint_does_not_hide_what_followed() -> None:
    """What the certificate says is true of its own place in the log; nobody says what came between it and the end."""
    log, first, _ = talk()
    certificate = log.certify(first)
    log.append("turn.lifecycle", first, {}, refs={"turn": 1}, reason="mask")
    log.append("ref.derived", first, {}, refs={"turn": 2}, reason="withdrawn")
    report = verify_bundle(log.export(first, certificates=[certificate], before=certificate), log.signer.vkey)
    assert not report.complete
    again = log.certify(first)
    assert verify_bundle(log.export(first, certificates=[certificate, again]), log.signer.vkey).complete


def test_a_head_says_of_the_export_what_its_certificate_says() -> None:
    """The words are disclosed as the log recorded them: nobody shows them under the name of another view."""
    log, first, _ = talk()
    certificate = log.certify(first, view="raw_owner")
    with pytest.raises(Refused, match="certificate"):
        verify_bundle(log.export(first, certificates=[certificate], view="export"), log.signer.vkey)
    report = verify_bundle(log.export(first, certificates=[certificate], view="raw_owner"), log.signer.vkey)
    assert (report.complete, report.certified, report.view) == (True, True, "raw_owner")
    closed = log.export(first, certificates=[certificate], view="export", withhold=["export"])
    assert not verify_bundle(closed, log.signer.vkey).complete
    whole = verify_bundle(log.export(0, *{made.stream for made in log.headers}), log.signer.vkey)
    assert (whole.complete, whole.certified) == (True, False)


def test_events_of_the_space_may_come_along() -> None:
    """They are proved like any other; of another conversation nothing may come."""
    log, first, second = talk()
    rotated = log.append("key.rotated", 0, {"version": 2}, reason="erasure")
    certificate = log.certify(first, more=7)
    lines = log.export(first, certificates=[0, rotated, certificate])
    assert verify_bundle(lines, log.signer.vkey).complete
    with pytest.raises(Refused, match="foreign_event"):
        verify_bundle(log.export(first, certificates=[second, certificate]), log.signer.vkey)


def test_what_was_hidden_since_is_counted() -> None:
    log, first, _ = talk()
    log.append("turn.lifecycle", first, {}, refs={"turn": 1}, reason="mask")
    log.append("turn.lifecycle", first, {}, refs={"turn": 2}, reason="erase")
    log.append("turn.redacted", first, {"note": "n"}, refs={"turn": 3}, reason="legal")
    lines = log.export(first, certificates=[log.certify(first)], withhold=["note"])
    report = verify_bundle(lines, log.signer.vkey)
    assert (report.masks, report.redactions, report.erasures, report.withheld) == (1, 1, 1, 1)
    told = "\n".join(verifier.lines_of(report))
    assert "hidden     1 masks and 1 redactions are on record" in told
    assert "withheld" in told
    assert "the word of the log" in told


def parts_of(log: Log, stream: int) -> list[list[bytes]]:
    """Return a conversation of six events as bundles of two, each under a checkpoint of its own."""
    made, after = [], -1
    for last in (2, 4, 6):
        certificate = log.certify(stream, first=last - 1, last=last)
        end = next(one.pos for one in log.headers if (one.stream, one.seq) == (stream, last))
        made.append(log.export(stream, certificates=[certificate], after=after, before=end + 1))
        log.append("key.rotated", 0, {}, reason="requested")
        after = end
    return made


def lines_of(*parts: list[bytes]) -> list[bytes]:
    return [line for part in parts for line in part]


def test_bundles_of_ranges_are_verified_as_one() -> None:
    """Each event names the leaf before it, across checkpoints, and the last certificate says where the end is."""
    log, first, _ = talk()
    one, two, three = parts_of(log, first)
    report = verify_bundle(lines_of(one, two, three), log.signer.vkey)
    (stream,) = report.streams
    assert (stream.first, stream.last, stream.events, stream.turns, stream.through) == (1, 6, 6, 5, 6)
    assert (report.complete, report.certified, report.events) == (True, True, 9)
    whole = verify_bundle(log.export(first, certificates=[log.certify(first)]), log.signer.vkey)
    assert whole.disclosed == report.disclosed - 2


def test_a_range_alone_is_proved_and_not_complete() -> None:
    log, first, _ = talk()
    one, two, three = parts_of(log, first)
    for part, turns in ((one, 1), (two, 2), (three, 2), (lines_of(one, two), 3), (lines_of(two, three), 4)):
        report = verify_bundle(part, log.signer.vkey)
        assert (report.complete, report.streams[0].turns) == (False, turns)


def test_ranges_in_another_order_twice_or_with_a_gap_are_refused() -> None:
    log, first, second = talk()
    one, two, three = parts_of(log, first)
    for wrong in ((two, one), (one, three), (one, one), (one, two, two), (one, two, three, one)):
        with pytest.raises(Refused, match="incomplete"):
            verify_bundle(lines_of(*wrong), log.signer.vkey)
    for cut in (lines_of(one[:-1], two), lines_of(one, two[:-1])):
        with pytest.raises(Refused):
            verify_bundle(cut, log.signer.vkey)
    with pytest.raises(Refused, match="head"):
        verify_bundle(lines_of(one, log.export(second)), log.signer.vkey)
    with pytest.raises(Refused, match="head"):
        verify_bundle(lines_of(one, log.export(first, view="raw_owner", after=first + 1)), log.signer.vkey)


def test_ranges_of_two_logs_or_two_histories_are_refused() -> None:
    """The key refuses the bundle of another log; the chain refuses another past under the same key."""
    log, first, _ = talk()
    other, elsewhere, _ = talk("other")
    fork = Log("talk")
    forked = fork.converse(["something else", *WORDS[1:]])
    fork.converse(["other"])
    assert fork.signer.vkey == log.signer.vkey
    one, two, three = parts_of(log, first)
    with pytest.raises(Refused, match="origin"):
        verify_bundle(lines_of(one, parts_of(other, elsewhere)[1]), log.signer.vkey)
    with pytest.raises(Refused, match="chain"):
        verify_bundle(lines_of(parts_of(fork, forked)[0], two, three), log.signer.vkey)


def test_a_certificate_of_another_range_certifies_nothing() -> None:
    log, first, _ = talk()
    certificate = log.certify(first, first=2, last=6)
    assert not verify_bundle(log.export(first, certificates=[certificate]), log.signer.vkey).certified
    beyond = log.certify(first, first=1, last=7)
    with pytest.raises(Refused, match="incomplete"):
        verify_bundle(log.export(first, certificates=[beyond]), log.signer.vkey)


def test_the_stream_of_the_space_is_certified_by_its_own_last_event() -> None:
    log, first, _ = talk()
    log.certify(0)
    assert verify_bundle(log.export(0), log.signer.vkey).complete
    log.append("turn.committed", first, {"actor": "agent"})
    report = verify_bundle(log.export(0), log.signer.vkey)
    assert not report.complete
    assert report.streams[0].through == 1


@settings(max_examples=400)
@given(st.data())
def test_a_bundle_with_any_changed_byte_is_refused(data: st.DataObject) -> None:
    """Any byte of any line, newlines included, to any other value: `Refused`, never another exception."""
    whole = b"".join(BUNDLE)
    at = data.draw(st.integers(0, len(whole) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[at]))
    changed = whole[:at] + bytes([new]) + whole[at + 1 :]
    with pytest.raises(Refused):
        verify_bundle(io.BytesIO(changed), LOG.signer.vkey)


@settings(max_examples=200)
@given(st.data())
def test_a_receipt_with_any_changed_byte_is_refused(data: st.DataObject) -> None:
    """The same for receipts."""
    at = data.draw(st.integers(0, len(RECEIPT) - 1))
    blank = b" \t\r\n" if at == len(RECEIPT) - 1 else b""  # white space at the end says nothing
    new = data.draw(st.integers(0, 255).filter(lambda byte: byte != RECEIPT[at] and byte not in blank))
    with pytest.raises(Refused):
        verify_receipt(RECEIPT[:at] + bytes([new]) + RECEIPT[at + 1 :], LOG.signer.vkey)


@given(st.sets(st.integers(0, len(BUNDLE) - 1), min_size=1))
def test_a_bundle_without_some_of_its_lines_is_refused(gone: set[int]) -> None:
    """Any lines taken out: refused, the certificate alone excepted where the proof still needs it."""
    with pytest.raises(Refused):
        verify_bundle([line for number, line in enumerate(BUNDLE) if number not in gone], LOG.signer.vkey)


@given(st.permutations(range(len(BUNDLE))).filter(lambda order: order != sorted(order)))
def test_a_bundle_with_its_lines_in_another_order_is_refused(order: list[int]) -> None:
    """There is one order."""
    with pytest.raises(Refused):
        verify_bundle([BUNDLE[number] for number in order], LOG.signer.vkey)


@given(st.lists(st.binary(max_size=60).map(lambda line: line + b"\n"), max_size=4) | st.lists(st.binary(), max_size=3))
def test_garbage_is_refused_and_nothing_worse(lines: list[bytes]) -> None:
    """Whatever the bytes: `Refused`."""
    with pytest.raises(Refused):
        verify_bundle(lines, LOG.signer.vkey)
    with pytest.raises(Refused):
        verify_receipt(b"".join(lines), LOG.signer.vkey)


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 10_000 + b"]" * 10_000, b'{"disclosures":' + b"[" * 10_000 + b"]" * 10_000 + b',"header":{}}',
        b'{"bundle":' + b"9" * 10_000 + b"}", b'{"disclosures":["\\ud800"],"header":{}}', b"\xff\xfe", b"-0", b"1e999",
    ],
    ids=lambda line: repr(line[:20]),
)  # fmt: skip
def test_hostile_json_is_refused_on_every_line(line: bytes) -> None:
    for number in range(len(BUNDLE)):
        with pytest.raises(Refused):
            verify_bundle([*BUNDLE[:number], line + b"\n", *BUNDLE[number + 1 :]], LOG.signer.vkey)


def peak_of(turns: int) -> tuple[int, int]:
    """Return the most memory in KiB that writing and verifying a bundle of so many turns take."""
    log = Log("long")
    first, second = log.converse([]), log.converse([])
    for _ in range(turns):
        log.append("turn.committed", first, {"actor": "agent"})
        log.append("turn.committed", second, {"actor": "agent"})
    held = [(made.pos, event_line(exact, {})) for made, exact in zip(log.headers, log.exact, strict=True)]
    head = BundleHead(log=log.id, size=log.size, streams={first: (1, turns + 1)}, export={"view": "export"})
    chosen = [one for one, made in zip(held, log.headers, strict=True) if made.stream == first]
    tracemalloc.start()
    for _ in bundle(head, iter(chosen), log.rows, log.checkpoint()):
        pass
    written = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    report = verify_bundle(bundle(head, iter(chosen), log.rows, log.checkpoint()), log.signer.vkey)
    verified = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.events == turns + 1
    return written // 1024, verified // 1024


def test_bundles_of_any_length_are_written_and_verified_in_the_same_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither side keeps an event: five times as many take hardly more."""
    monkeypatch.setattr("muniment.evidence.bundle.EVENTS_AT_ONCE", 64)
    peak_of(10)  # what is made once and kept
    short, long = peak_of(400), peak_of(2000)
    assert all(after < 1.25 * before + 16 for before, after in zip(short, long, strict=True))


def test_a_line_without_end_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "LINE_BYTES_MAX", 1000)
    file = io.BytesIO(b"x" * 100_000)
    with pytest.raises(Refused, match="line_too_long"):
        verify_bundle(read_lines(file), LOG.signer.vkey)
    assert file.tell() == 1001


def test_a_refusal_tells_the_line_and_never_what_stood_there() -> None:
    changed = [*BUNDLE[:3], BUNDLE[3].replace(b'"turn.committed"', b'"canary.canary"'), *BUNDLE[4:]]
    with pytest.raises(Refused) as refused:
        verify_bundle(changed, LOG.signer.vkey)
    assert (refused.value.code, refused.value.at) == ("chain", "line 5")
    assert "canary" not in str(refused.value)


def test_a_key_of_another_log_verifies_nothing() -> None:
    third_party = Log("another log").signer.vkey
    with pytest.raises(Refused, match="origin"):
        verify_bundle(BUNDLE, third_party)
    with pytest.raises(Refused, match="signature_missing"):
        verify_receipt(RECEIPT, third_party)


@given(st.integers(0, LOG.size - 1))
def test_the_receipt_of_every_event_can_be_verified_alone(position: int) -> None:
    """The receipt of any position proves that header, and gives back the values that were disclosed."""
    report = verify_receipt(LOG.receipt(position), LOG.signer.vkey)
    assert report.header["pos"] == position
    assert report.disclosed.keys() == report.header["fields"].keys()
    assert report.checkpoint.size == LOG.size


def test_a_receipt_beyond_its_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "LINE_BYTES_MAX", len(RECEIPT) - 1)
    with pytest.raises(Refused, match="receipt_malformed"):
        verify_receipt(RECEIPT, LOG.signer.vkey)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def bundle_file(tmp_path: Path) -> Path:
    path = tmp_path / "export.jsonl"
    path.write_bytes(b"".join(BUNDLE))
    return path


@pytest.fixture
def receipt_file(tmp_path: Path) -> Path:
    path = tmp_path / "turn.tlog-proof"
    path.write_bytes(RECEIPT)
    return path


def test_the_command_reports_what_a_bundle_proves(bundle_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(bundle_file), "--key", LOG.signer.vkey]) == 0
    told = capsys.readouterr().out
    assert told.startswith("VERIFIED  7 events")
    assert "certified through event 6" in told
    assert f"complete   as of position {LOG.size - 1}, {verifier.clock_ms(LOG.headers[-1].t)}: " in told
    assert main(["verify", str(bundle_file), "--key", LOG.signer.vkey, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["verified"]
    assert report["complete"]


def test_the_command_does_not_call_an_uncertified_bundle_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "export.jsonl"
    path.write_bytes(b"".join(LOG.export(FIRST)))
    assert main(["verify", str(path), "--key", LOG.signer.vkey]) == 0
    told = capsys.readouterr().out
    assert "no certificate" in told
    assert "not proved" in told


def test_the_command_reports_what_a_receipt_proves(receipt_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(receipt_file), "--key", LOG.signer.vkey]) == 0
    told = capsys.readouterr().out
    assert told.startswith("VERIFIED  1 event of ")
    assert "a receipt does not speak of later events" in told
    assert "form       receipt" in told
    assert main(["show", str(receipt_file), "--vkey", LOG.signer.vkey, "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    assert (entry["position"], entry["kind"], entry["fields"]["actor"]) == (FIRST + 1, "turn.committed", "agent")


@pytest.mark.parametrize("ending", [b"", b"\n\n", b"\r\n", b" \n\t\n"])
def test_a_receipt_survives_what_tools_do_to_its_end(ending: bytes) -> None:
    """`jq -r` adds a newline, `$(...)` takes the last one away."""
    assert verify_receipt(RECEIPT.rstrip() + ending, LOG.signer.vkey).checkpoint.size == LOG.size
    with pytest.raises(Refused):
        verify_receipt(RECEIPT.rstrip() + b"\n\n\x0b", LOG.signer.vkey)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n \n", b" "])
def test_blank_lines_behind_a_bundle_say_nothing(ending: bytes) -> None:
    whole = b"".join(BUNDLE)
    assert verify_bundle(io.BytesIO(whole + ending), LOG.signer.vkey).complete
    with pytest.raises(Refused, match="trailing"):
        verify_bundle(io.BytesIO(whole + ending + b"\n{}\n"), LOG.signer.vkey)


def test_the_command_reads_a_bundle_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"".join(BUNDLE))))
    assert main(["verify", "-", "--key", LOG.signer.vkey]) == 0
    assert capsys.readouterr().out.startswith("VERIFIED")


def test_the_command_refuses_a_forged_bundle(bundle_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle_file.write_bytes(b"".join(BUNDLE).replace(b'"turn":2', b'"turn":3'))
    assert main(["verify", str(bundle_file), "--key", LOG.signer.vkey]) == 1
    assert capsys.readouterr().out == "REFUSED  incomplete  line 5\n"
    assert main(["verify", str(bundle_file), "--key", "no key", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"at": "", "code": "key_malformed", "verified": False}


def test_the_command_tells_a_file_that_it_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "absent"), "--key", LOG.signer.vkey]) == 2
    assert capsys.readouterr().err.startswith("cannot read the file")
    with pytest.raises(SystemExit) as usage:
        main(["verify"])
    assert usage.value.code == 2


def test_the_command_loads_nothing_of_the_package_but_the_verifier(bundle_file: Path) -> None:
    """What checks evidence is small enough to be read in one sitting."""
    program = (
        f"import runpy, sys; sys.path[:] = {sys.path!r}\n"
        f"sys.argv = ['verify', 'verify', {str(bundle_file)!r}, '--key', {LOG.signer.vkey!r}]\n"
        "try:\n    runpy.run_module('muniment.evidence', run_name='__main__')\n"
        "finally:\n    print(*sorted(m for m in sys.modules if m.split('.')[0] in {'muniment', 'msgspec'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] in {
        "muniment muniment.evidence muniment.evidence.verifier",
        "muniment muniment.evidence muniment.evidence.verifier muniment.version",
    }


def test_the_verifier_works_where_it_is_copied_to(tmp_path: Path, bundle_file: Path) -> None:
    """One file, the standard library and `cryptography`: no trace of the package is needed."""
    (tmp_path / "verifier.py").write_bytes(Path(verifier.__file__).read_bytes())
    program = (
        "import sys; sys.modules['muniment'] = None\n"
        "import verifier\n"
        f"print(verifier.verify_bundle(open({str(bundle_file)!r}, 'rb'), {LOG.signer.vkey!r}).events)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "7\n"


@pytest.mark.parametrize("command", [["verifier.py"], ["-m", "muniment.evidence"]])
def test_the_copied_file_is_a_command_that_ends_by_its_verdict(
    tmp_path: Path, bundle_file: Path, receipt_file: Path, command: list[str]
) -> None:
    """The same command line as `python -m muniment.evidence`: 0 verified, 1 refused, 2 misused or unreadable."""
    (tmp_path / "verifier.py").write_bytes(Path(verifier.__file__).read_bytes())

    def run(*arguments: str) -> tuple[int, str]:
        isolated = ["-I"] if "-m" not in command else []
        done = subprocess.run(
            [sys.executable, *isolated, *command, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        return done.returncode, done.stdout

    for file in (bundle_file, receipt_file):
        code, told = run("verify", str(file), "--key", LOG.signer.vkey)
        assert (code, told.partition(" ")[0]) == (0, "VERIFIED")
    forged = tmp_path / "forged"
    forged.write_bytes(b"".join(BUNDLE).replace(b'"turn":2', b'"turn":3'))
    assert run("verify", str(forged), "--key", LOG.signer.vkey) == (1, "REFUSED  incomplete  line 5\n")
    for misused in (["verify"], [], ["verify", str(tmp_path / "absent"), "--key", "x"], ["check", "x", "--key", "y"]):
        assert run(*misused)[0] == 2
