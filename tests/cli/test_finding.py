"""How listings, timelines and activity are told."""

from __future__ import annotations

import json

import pytest

from tests.cli.shell import Shell

KEY = ("order-LF-20418", "--channel", "web-chat")


def test_conversations_are_told_in_one_table(filled: Shell) -> None:
    """CT-01: the digest is for machines."""
    told = filled.must("transcripts", "conversations").out.splitlines()
    assert told[0] == "conversations:"
    assert told[1].split("  ")[0] == "channel"
    assert told[2].split() == [
        "web-chat", "order-LF-20418", "5", "17", "2026-06-15", "08:30:14Z", "2026-06-15", "08:34:08Z", "no", "6",
    ]  # fmt: skip
    assert len(told) == 3
    entry = json.loads(filled.must("transcripts", "conversations", "--json").out)["conversations"][0]
    assert len(entry["digest"]) == 64


def test_a_page_of_conversations_ends_with_its_cursor(filled: Shell) -> None:
    """PG-01: and the cursor leads on."""
    turn = json.loads((filled.directory / "turns/1.json").read_text())
    filled.must("transcripts", "commit", "-", typed=json.dumps({**turn, "conversation": "line\u2028break"}))
    told = filled.must("transcripts", "conversations", "--limit", "1").out
    cursor = told.split("next cursor")[1].strip()
    rest = filled.must("transcripts", "conversations", "--limit", "1", "--cursor", cursor).out
    assert "line\\u2028break" in rest
    assert "next cursor" not in rest


def test_a_space_without_conversations_says_so(filled: Shell) -> None:
    assert filled.must("transcripts", "conversations", "--channel", "nowhere").out == "no conversations\n"


def test_a_timeline_is_told_as_a_replay_with_a_cursor_for_each_direction(filled: Shell) -> None:
    """CT-04: turns first, then the turn that the page is around."""
    request = ("transcripts", "timeline", *KEY, "--at", "around", "--turn", "turn-3", "--limit", "2")
    told = filled.must(*request).out
    turns = [line.split("  ")[1] for line in told.splitlines() if line[:1].isdigit()]
    assert turns == ["turn-2", "turn-3"]
    assert "My money back, please." in told
    assert "around turn 3  turn-3" in told
    for direction, wanted in (("older", ["turn-1"]), ("newer", ["turn-4", "turn-5"])):
        cursor = told.split(f"{direction} cursor")[1].split()[0]
        page = filled.must(*request, "--cursor", cursor).out
        assert [line.split("  ")[1] for line in page.splitlines() if line[:1].isdigit()] == wanted
        assert "around turn" not in page


def test_the_place_of_a_message_is_told_by_the_message(filled: Shell) -> None:
    told = filled.must("transcripts", "timeline", *KEY, "--at", "around", "--message", "turn-3#1", "--limit", "1").out
    assert "around turn 3  turn-3#1" in told


def test_activity_is_told_in_one_table(filled: Shell) -> None:
    """CT-15: a range without turns has no places."""
    ranges = [{"from_ms": 0, "until_ms": 5}, {"from_ms": 5, "until_ms": 9_000_000_000_000}]
    told = filled.must("transcripts", "activity", "-", typed=json.dumps(ranges)).out.splitlines()
    assert told[0] == "activity:"
    assert told[2].split() == ["1970-01-01", "00:00:00Z", "1970-01-01", "00:00:00Z", "0"]
    assert told[3].split()[4:] == [
        "5", "order-LF-20418", "1", "2026-06-15", "08:30:14Z", "order-LF-20418", "5", "2026-06-15", "08:34:08Z",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("timeline", "nowhere"), 4, "transcript.unknown_conversation"),
        (("timeline", *KEY, "--at", "after", "--turn", "none"), 4, "transcript.unknown_place"),
        (("timeline", *KEY, "--at", "after"), 2, "missing place"),
        (("timeline", *KEY, "--limit", "0"), 2, "limit: must be at least 1"),
        (("conversations", "--limit", "0"), 2, "limit: must be at least 1"),
        (("conversations", "--cursor", "x"), 2, "cursor.invalid"),
    ],
)
def test_what_cannot_be_found_ends_as_its_kind_says(
    arguments: tuple[str, ...], code: int, told: str, filled: Shell
) -> None:
    ran = filled.run("transcripts", *arguments)
    assert (ran.code, told in ran.err) == (code, True)


def test_a_stale_cursor_is_a_conflict(filled: Shell) -> None:
    """PG-07."""
    told = filled.must("transcripts", "timeline", *KEY, "--limit", "1").out
    cursor = told.split("older cursor")[1].split()[0]
    filled.must(
        "lifecycle", "request", *KEY, "--transition", "mask", "--reason", "why", "--requester", "who", "--turn",
        "turn-1", "--yes",
    )  # fmt: skip
    ran = filled.run("transcripts", "timeline", *KEY, "--limit", "1", "--cursor", cursor)
    assert (ran.code, "cursor.stale" in ran.err) == (5, True)
