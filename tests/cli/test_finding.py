"""How listings, timelines and activity are told."""

from __future__ import annotations

import json

import pytest

from muniment.declaration.operation import Operation
from muniment.runtime.catalogue import catalogue
from muniment.transports.cli.command import command_of
from muniment.transports.cli.fields import json_of
from muniment.transports.cli.store_options import StoreOptions
from tests.cli.shell import Shell

KEY = ("order-LF-20418", "--channel", "web-chat")


def test_conversations_are_told_in_one_table(filled: Shell) -> None:
    """CT-01: the digest is for machines."""
    told = filled.must("conversations", "list").out.splitlines()
    assert told[0] == "conversations:"
    assert told[1].split("  ")[0] == "conversation"
    assert told[2].split() == [
        "web-chat/order-LF-20418", "5", "17", "2026-06-15", "08:30:14Z", "2026-06-15", "08:34:08Z", "no", "6",
    ]  # fmt: skip
    assert told[3].split() == ["web-chat/order-LF-20418"]
    assert [line.split(":")[0] for line in told[4:]] == ["  user", "  assistant"]
    entry = json.loads(filled.must("conversations", "list", "--json").out)["conversations"][0]
    assert len(entry["digest"]) == 64


def test_a_page_of_conversations_ends_with_its_cursor(filled: Shell) -> None:
    """PG-01: and the cursor leads on."""
    turn = json.loads((filled.directory / "turns/1.json").read_text())
    filled.must("transcripts", "commit", "-", typed=json.dumps({**turn, "conversation": "line\u2028break"}))
    told = filled.must("conversations", "list", "--limit", "1").out
    cursor = told.split("next cursor")[1].strip()
    rest = filled.must("conversations", "list", "--limit", "1", "--cursor", cursor).out
    assert "line\\u2028break" in rest
    assert "next cursor" not in rest


def test_a_space_without_conversations_says_so(filled: Shell) -> None:
    assert filled.must("conversations", "list", "--channel", "nowhere").out == "no conversations\n"


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
    told = filled.must("conversations", "activity", "-", typed=json.dumps(ranges)).out.splitlines()
    assert told[0] == "activity:"
    rows = " ".join(told[2:]).split()
    assert rows[:5] == ["1970-01-01", "00:00:00Z", "1970-01-01", "00:00:00Z", "0"]
    assert rows[9:] == ["5", PRINTED, "1", PRINTED, "5", "2026-06-15", "08:30:14Z", "2026-06-15", "08:34:08Z"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("timeline", "nowhere"), 4, "transcript.unknown_conversation"),
        (("timeline", *KEY, "--at", "after", "--turn", "none"), 4, "transcript.unknown_place"),
        (("timeline", *KEY, "--at", "after"), 2, "missing place"),
        (("timeline", *KEY, "--limit", "0"), 2, "limit: must be at least 1"),
    ],
)
def test_what_cannot_be_found_ends_as_its_kind_says(
    arguments: tuple[str, ...], code: int, told: str, filled: Shell
) -> None:
    ran = filled.run("transcripts", *arguments)
    assert (ran.code, told in ran.err) == (code, True)


@pytest.mark.parametrize(("option", "told"), [("--limit", "limit: must be at least 1"), ("--cursor", "cursor.invalid")])
def test_a_list_that_cannot_go_on_is_an_invalid_request(option: str, told: str, filled: Shell) -> None:
    ran = filled.run("conversations", "list", option, "0")
    assert (ran.code, told in ran.err) == (2, True)


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


# --- what is printed can be pasted ------------------------------------------------------------------------------------

PRINTED = "web-chat/order-LF-20418"


def takes_a_conversation(operation: Operation) -> bool:
    return any(field.name == "conversation" for field in command_of(operation).fields)  # type: ignore[attr-defined]  # a `Verb` has them


@pytest.mark.parametrize(
    "operation", [each for each in catalogue() if takes_a_conversation(each)], ids=lambda each: each.path
)
def test_a_conversation_as_lists_print_it_is_one_for_every_command(operation: Operation) -> None:
    """The same request as with the channel by itself; an id with a slash goes with its channel."""

    def named(*conversation: str) -> dict[str, object]:
        # whatever else the command requires is left out: it is missed after the names were read
        command = command_of(operation)
        fields = [
            field._replace(required=False)
            for field in command.fields  # type: ignore[attr-defined]  # a `Verb` has them
            if field.name in {"conversation", "channel"}
        ]
        with command.make_context("muniment", list(conversation), obj=StoreOptions()) as ctx:
            return dict(json.loads(json_of(fields, ctx.params)))

    by_itself = named("--conversation", "order-LF-20418", "--channel", "web-chat")
    assert named("--conversation", PRINTED) == by_itself
    literal = named("--conversation", PRINTED, "--channel", "default")
    assert PRINTED in json.dumps(literal)


def test_what_a_list_and_a_search_print_is_pasted_into_other_commands(filled: Shell) -> None:
    listed = filled.must("conversations", "list").out.splitlines()[2].split()[0]
    found = filled.must("transcripts", "search", "refund", "--limit", "1").out.split()
    assert listed == found[0] == PRINTED
    message = found[2]
    assert "#" in message
    assert filled.must("transcripts", "replay", listed).out == filled.must("transcripts", "replay", *KEY).out
    assert filled.must("spaces", "export", listed).out == filled.must("spaces", "export", *KEY).out
    around = ("transcripts", "timeline", listed, "--at", "around", "--limit", "1")
    for option in ("--message", "--turn"):
        assert f"around turn {found[1]}" in filled.must(*around, option, message).out
    assert filled.must("evidence", "prove", listed, "--turn", message).out.startswith("c2sp.org/tlog-proof")
    assert json.loads(filled.must("conversations", "resolve", listed, "--json").out)["turns"] == 5


def test_the_id_of_a_message_does_not_stand_for_its_turn_where_content_is_shown_or_hidden(filled: Shell) -> None:
    message = filled.must("transcripts", "search", "refund", "--limit", "1").out.split()[2]
    turn = message.partition("#")[0]
    why = ("--reason", "why", "--requester", "who", "--json")
    archive = ("lifecycle", "request", PRINTED, "--transition", "archive", "--yes", *why)
    reveal = ("disclosure", "reveal", PRINTED, *why)
    ran = filled.run(*reveal, "--turn", message)
    assert (ran.code, json.loads(ran.out)["error"]["code"]) == (4, "transcript.unknown_place")
    untouched = json.loads(filled.must(*archive, "--turn", message).out)
    assert (untouched["changed"], untouched["affected_turns"]) == (False, 0)
    assert json.loads(filled.must(*reveal, "--turn", turn).out)
    assert json.loads(filled.must(*archive, "--turn", turn).out)["affected_turns"] == 1


def test_a_conversation_that_is_mistyped_is_suggested_on_standard_error_alone(filled: Shell) -> None:
    """The error holds no names; the hint names what the caller may list."""
    for command in (("transcripts", "replay"), ("transcripts", "timeline"), ("spaces", "export")):
        ran = filled.run(*command, "web-chat/order-LF-20417")
        first, hint = ran.err.splitlines()
        assert (ran.code, ran.out, "order" in first) == (4, "", False)
        assert hint == f"Did you mean {PRINTED}?"
    ran = filled.run("transcripts", "replay", "web-chat/order-LF-20417", "--json")
    assert (ran.err, "order" in ran.out) == ("", False)


def test_a_title_is_told_beside_the_words(filled: Shell) -> None:
    filled.must(
        "conversations", "describe", PRINTED, "--title", "A lamp\u2028broken", "--tags", "shop", "--tags", "b c"
    )
    told = filled.must("conversations", "list").out
    assert f"{PRINTED}  A lamp broken  #shop  #b c" in told
    assert filled.must("conversations", "list", "--tag", "shop").out == told
    assert filled.must("conversations", "list", "--tag", "other").out == "no conversations\n"
    hidden = filled.must("conversations", "list", "--view", "operator_audit").out
    assert "lamp" not in hidden


def test_everything_about_a_subject_goes_to_a_file(filled: Shell) -> None:
    listed = json.loads(filled.must("subjects", "list", "--json").out)["subjects"]
    (subject,) = [each["subject"] for each in listed if each["turns"] == 5]
    told = filled.must("subjects", "export", subject, "--out", "her.html")
    page = (filled.directory / "her.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "My money back, please." in page
    assert (told.out, "turns" in told.err) == ("", True)
    assert (filled.directory / "her.html").stat().st_mode & 0o077 == 0
    assert [
        each["kind"] for each in json.loads(filled.must("evidence", "disclosures", "--json").out)["disclosures"]
    ] == ["export.issued"]
