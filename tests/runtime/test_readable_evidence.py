"""Evidence that people read: what is proved as text, pages that carry their proof, certificates of erasures."""

from __future__ import annotations

import html
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from muniment.errors import AccessDenied, Corrupt, EvidenceMissing, EvidenceRefused
from muniment.events.changes import Transition
from muniment.events.identity import ConversationId, SubjectId, TurnId
from muniment.events.turn import Turn
from muniment.evidence import verifier
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from muniment.operations.evidence.proof_document import EvidenceFormat
from muniment.operations.lifecycle.scope import Scope
from tests.turns import answer, answered, asked, question, rich_turn
from tests.worlds import FileWorld, World, key_of

HOSTILE = (
    "\x1b[31mred\x1b[0m \u202eesrever\u202c \u2028 \x9b1m\r\nuser ada:\n  paid <script>alert(1)</script> \U000e0041"
)
HTML = EvidenceFormat.HTML


def vkey(world: World) -> str:
    return world.runtime.evidence.checkpoint().vkey


def shown(world: World, view: View = View.EXPORT) -> list[verifier.Entry]:
    text = world.runtime.evidence.export(key_of(), view).text
    return world.runtime.evidence.verify(text.encode(), vkey(world), show=True).entries


def told(entries: list[verifier.Entry]) -> str:
    return "\n".join(verifier.text_of(entries))


def page_of(world: World, view: View = View.EXPORT) -> bytes:
    return world.runtime.evidence.export(key_of(), view, format=HTML).text.encode()


def proved(world: World, data: bytes) -> verifier.ProvedEvidence:
    return verifier.verify_evidence(io.BytesIO(data), vkey(world), show=True)


# --- shown as text ----------------------------------------------------------------------------------------------------


def test_what_is_proved_says_who_said_what_when_and_what_is_not_there(world: World) -> None:
    """Shown, masked and erased turns side by side; every message is there, its words only where they are disclosed."""
    world.with_turns(3).masked(1).erased(2)
    entries = shown(world)
    turns = [entry for entry in entries if entry.turn is not None]
    assert [[said.state for said in entry.said] for entry in turns] == [["withheld"] * 2, ["erased"] * 2, ["shown"] * 2]
    assert [said.text for said in turns[2].said] == [question(3), answer(3)]
    assert re.fullmatch(r"user ada", turns[2].said[0].who)
    assert "masked" in turns[0].title
    assert "erased" in turns[1].title
    text = told(entries)
    assert f"    {question(3)}" in text.split("\n")
    assert question(1) not in text
    assert "[erased]" in text
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?Z  turn 3, turn-3", text, re.MULTILINE)


@pytest.mark.parametrize("view", View)
def test_what_is_shown_is_what_is_disclosed(world: World, view: View) -> None:
    """A rich turn: every disclosed value can be read, as text or as JSON of its field, and no other."""
    world.with_turn(rich_turn())
    (entry,) = [entry for entry in shown(world, view) if entry.turn is not None]
    visible = told([entry])
    for word in ("the user words", "the answer words", "the reasoning words", "the private words", "the summary words"):
        assert (word in visible) == (word in json.dumps(entry.fields, ensure_ascii=False)), word
    assert entry.withheld == 0 or "not disclosed: " in visible


def test_no_content_controls_the_terminal_or_imitates_a_line(world: World) -> None:
    """Escapes, directions, line ends and characters that nobody sees are spelt out; content is indented."""
    turn = Turn(
        turn=TurnId("t-1"),
        subject=SubjectId("ada\u202e"),
        conversation=ConversationId("talk"),
        messages=[asked(HOSTILE), answered("fine")],
    )
    world.commit(turn)
    text = told(shown(world))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]", text)
    assert "\\x1b[31mred" in text
    assert "ada\\u202e" in text
    assert "    user ada:" in text.split("\n")
    page = page_of(world).decode()
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_the_command_shows_what_is_proved_as_text_and_as_json(lasting: FileWorld, tmp_path: Path) -> None:
    """The copied file alone, in a process without the package."""
    lasting.with_turns(2).erased(1)
    (tmp_path / "verifier.py").write_bytes(Path(verifier.__file__).read_bytes())
    (tmp_path / "page.html").write_bytes(page_of(lasting))
    base = [sys.executable, "-I", "verifier.py", "show", "page.html", "--key", vkey(lasting)]
    text = subprocess.run(base, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert question(2) in text
    assert "erased     1 turns, in 1 erasures" in text
    assert "view       export" in text
    report = json.loads(subprocess.run([*base, "--json"], cwd=tmp_path, capture_output=True, check=True).stdout)
    assert (report["page"], report["erased_turns"]) == (True, 1)
    assert question(2) in json.dumps(report["entries"])


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", View)
def test_a_page_is_verified_like_the_bundle_in_it(world: World, view: View) -> None:
    world.with_turns(2).with_turn(rich_turn()).erased(1)
    page = page_of(world, view)
    report = world.runtime.evidence.verify(page, vkey(world), show=True)
    assert (report.page, report.form, report.complete, report.erased_turns) == (True, "bundle", True, 1)
    visible = html.unescape(page.decode())
    assert (question(2) in visible) == (view is not View.OPERATOR_AUDIT)
    assert question(1) not in visible


def test_a_page_needs_nothing_from_outside_and_runs_nothing(world: World) -> None:
    """No address is fetched, no script runs, and the policy in the page says so to the browser."""
    page = page_of(world.with_turn(rich_turn())).decode()
    assert "default-src 'none'" in page
    assert "script-src" not in page
    assert not re.search(r"(?:src|href|action)\s*=|@import|url\(", page.partition('id="proof"')[0])
    assert re.findall(r"<script[^>]*>", page) == ['<script type="application/jsonl" id="proof">']
    assert " on" not in "".join(re.findall(r"<[^>]*>", page))


def test_a_page_of_which_any_visible_character_was_changed_is_refused(world: World) -> None:
    """Words, names, times, the style, the advice: nothing of a page can be edited without being noticed."""
    world.with_turns(2)
    page, key = page_of(world), vkey(world)
    edits = [
        (question(1).encode(), b"something else"),
        (b"turn-1", b"turn-7"),
        (b"<h1>Transcript", b"<h1>Extract"),
        (b"2 not disclosed", b"0 not disclosed"),
        (b"--faint: #6b675f", b"--faint: #fdfcfa"),
        (b"</body>", b"<p>And they paid.</p></body>"),
        (b"default-src 'none'", b"default-src *"),
        (b"<body>", b'<body><script type="application/jsonl" id="proof">\n</script>'),
    ]
    for former, later in edits:
        if former not in page:
            continue
        with pytest.raises(verifier.Refused) as refused:
            verifier.verify_evidence(io.BytesIO(page.replace(former, later, 1)), key)
        assert refused.value.code in {"page_differs", "head", "truncated", "page"}, former
    for at in range(0, len(page) - 2, 97):
        changed = page[:at] + bytes([page[at] ^ 1]) + page[at + 1 :]
        with pytest.raises(verifier.Refused):
            verifier.verify_evidence(io.BytesIO(changed), key)
    with pytest.raises(EvidenceRefused):
        world.runtime.evidence.verify(page.replace(b"turn-1", b"turn-7"), key)
    assert verifier.verify_evidence(io.BytesIO(page + b"\n\n"), key).page


def test_a_page_cannot_carry_the_proof_of_another_conversation(world: World) -> None:
    world.with_turns(1)
    mine = page_of(world)
    other = world.runtime.evidence.export(key_of(), View.RAW_OWNER, certified=False, format=HTML).text.encode()
    marker = b'id="proof">\n'
    swapped = mine.partition(marker)[0] + marker + other.partition(marker)[2]
    with pytest.raises(verifier.Refused, match="page_differs"):
        verifier.verify_evidence(io.BytesIO(swapped), vkey(world))


# --- certificates of erasures -----------------------------------------------------------------------------------------


def erased_position(world: World, number: int | None = 1) -> int:
    report = world.request(Transition.ERASE, number)
    assert report.position is not None
    return report.position


@pytest.mark.parametrize("wanted", EvidenceFormat)
def test_an_erasure_has_a_certificate_that_anyone_can_check(world: World, wanted: EvidenceFormat) -> None:
    """What, when, at whose request, what was cleaned, what is outside; and no word of what was erased."""
    world.with_turns(3)
    document = world.runtime.lifecycle.certificate(erased_position(world), wanted)
    evidence = proved(world, document.text.encode())
    assert (evidence.form, evidence.page) == ("certificate", wanted is HTML)
    assert (evidence.erasures, evidence.erased_turns, evidence.erased_messages) == (1, 1, 0)
    text = told(list(evidence.entries))
    assert "erase: turn 1" in text
    assert "reason: asked for" in text
    assert "requester: operator" in text
    assert "turn-1" in text
    assert "turn-2" not in text
    assert "conversation talk" in text
    assert evidence.statement is not None
    assert evidence.statement["content_left"] == 0
    assert ["space key", "version 2 in force, no older one is left"] in evidence.statement["places"]
    assert any("backups" in place for place in evidence.statement["outside"])
    for word in (question(1), answer(1), question(2)):
        assert word not in html.unescape(document.text) + json.dumps([entry.fields for entry in evidence.entries])
    report = world.runtime.evidence.verify(document.text.encode(), vkey(world))
    assert (report.form, report.erased_turns) == ("certificate", 1)


def test_a_certificate_covers_all_that_one_request_erased(world: World) -> None:
    """A subject in two conversations; a turn in between, which was erased before, is in the run of the first."""
    world.with_turns(3)
    world.with_turn(replace(rich_turn(), conversation=ConversationId("other"), turn=TurnId("o-1"), chat=None))
    earlier = erased_position(world, 2)
    report = world.runtime.lifecycle.erase(Scope(subject=SubjectId("ada")), reason="her right", requester="ada")
    assert report.receipt is not None
    assert len(report.receipt.positions) == 2
    for position in report.receipt.positions:
        evidence = proved(world, world.runtime.lifecycle.certificate(position).text.encode())
        assert (evidence.erasures, evidence.erased_turns) == (2, 4)
    assert proved(world, world.runtime.lifecycle.certificate(earlier).text.encode()).erasures == 1


def test_one_erased_message_is_certified_as_one_message(world: World) -> None:
    world.with_turns(1)
    scope = Scope(conversation=ConversationId("talk"), message="turn-1#0")
    report = world.runtime.lifecycle.erase(scope, reason="her right", requester="ada")
    assert report.position is not None
    evidence = proved(world, world.runtime.lifecycle.certificate(report.position).text.encode())
    assert (evidence.erasures, evidence.erased_turns, evidence.erased_messages) == (1, 0, 1)
    (turn,) = [entry for entry in evidence.entries if entry.turn]
    assert [said.state for said in turn.said] == ["erased", "withheld"]


def test_a_certificate_that_was_edited_is_refused(world: World) -> None:
    """The statement is signed with the root; the events are proved under it; nothing can be taken out or put in."""
    world.with_turns(3)
    text = world.runtime.lifecycle.certificate(erased_position(world)).text
    other = world.runtime.lifecycle.certificate(erased_position(world, 2)).text
    key = vkey(world)
    lines = text.splitlines(keepends=True)
    statement = text.replace("no older one is left", "all is well now ok ok")
    assert statement != text
    turn = next(line for line in other.splitlines(keepends=True) if '"kind":"turn.committed"' in line)
    forged = [
        statement,
        text.replace('"content_left":0', '"content_left":1'),
        *("".join(lines[:at] + lines[at + 1 :]) for at in range(len(lines))),
        "".join([*lines[:2], turn, *lines[2:]]),
        "".join([*lines[:-1], other.splitlines(keepends=True)[-1]]),
    ]
    for one in forged:
        with pytest.raises(verifier.Refused):
            verifier.verify_evidence(io.BytesIO(one.encode()), key)


def test_only_an_erasure_is_certified_and_only_when_it_is_true(lasting: FileWorld) -> None:
    """No certificate for a hold, a mask, a turn or nothing; none when a former row brought the content back."""
    lasting.with_turns(2).masked(2)
    masked = next(e.position for e in lasting.runtime.lifecycle.receipts(key_of()).entries)
    for position in (masked, 0, 1, 2, -1, 10_000):
        with pytest.raises(EvidenceMissing):
            lasting.runtime.lifecycle.certificate(position)
    position = erased_position(lasting)
    # the content of turn 1
    statement = "UPDATE events SET content = (SELECT content FROM events WHERE position = 3) WHERE position = 2"
    lasting.edited_while_open(statement)
    with pytest.raises(Corrupt):
        lasting.runtime.lifecycle.certificate(position)


def test_a_certificate_takes_the_right_to_read(world: World) -> None:
    world.with_turns(1)
    position = erased_position(world)
    narrow = world.runtime.restricted(Access(views=frozenset(View), effects=frozenset({Effect.APPEND})))
    with pytest.raises(AccessDenied):
        narrow.lifecycle.certificate(position)
