"""What was asked for and not done: the exit code says it, the report says why, and a preview says it before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muniment.memory.amendment import AmendRefusal
from muniment.memory.candidate import Ruling
from muniment.operations.memory import forget_report
from muniment.operations.not_done import NOT_DONE
from tests.cli.shell import Shell

FILES = Path(__file__).parents[2] / "fixtures/cli/files"
SUBJECT, WHY = "customer:nadia", ("--reason", "asked for", "--requester", "desk")
PARCEL = ("--conversation", "order-LF-20418", "--channel", "web-chat")
SKILL = "runtime_skill__refund"


@pytest.fixture
def remembering(filled: Shell) -> Shell:
    """Return a shell whose store holds two memory items and a skill."""
    candidates = json.loads((FILES / "candidates.json").read_text())[:2] + json.loads(
        (FILES / "skill.json").read_text()
    )
    filled.must("memory", "remember", "-", "--requester", "desk", typed=json.dumps(candidates))
    return filled


def test_every_reason_for_which_nothing_is_done_is_in_the_table() -> None:
    refusals = {*AmendRefusal} - {AmendRefusal.NOTHING_CHANGED} | {*Ruling} - {Ruling.ACCEPT}
    named = {getattr(forget_report, name) for name in vars(forget_report) if name.isupper()}
    assert refusals | named <= NOT_DONE.keys()


@pytest.mark.parametrize(
    "words",
    [
        ("memory", "forget", SUBJECT, "--item", "nowhere", *WHY, "--yes"),
        ("memory", "forget", SUBJECT, "--item", "nowhere", *WHY, "--dry-run"),
        ("memory", "forget", SUBJECT, "--words", "neighbour", *WHY, "--yes"),
        ("memory", "amend", "nowhere", "--amendment", "-", *WHY),
        ("skills", "edit", SUBJECT, "--name", "runtime_skill__no", "--title", "No", *WHY),
        ("skills", "retire", SUBJECT, "--name", "runtime_skill__no", *WHY),
        ("notebook", "undo", "no-such-run", *WHY),
    ],
)
def test_what_was_not_done_ends_with_1_and_the_report(words: tuple[str, ...], remembering: Shell) -> None:
    ran = remembering.run(*words, typed='{"type": "pin"}')
    assert (ran.code, ran.err) == (1, "")
    told = remembering.run(*words, "--json", typed='{"type": "pin"}')
    assert told.code == 1
    assert json.loads(told.out)["changed"] is False


def test_a_repeat_leaves_nothing_to_do_and_ends_with_0(remembering: Shell) -> None:
    retire = ("skills", "retire", SUBJECT, "--name", SKILL, *WHY)
    restore = ("skills", "restore", SUBJECT, "--name", SKILL, *WHY)
    for words in (retire, restore):
        assert remembering.must(*words).out.startswith("done: ")
        assert remembering.must(*words).out.startswith("no change: ")


def test_what_a_hold_keeps_ends_an_erasure_and_its_preview_with_1(remembering: Shell) -> None:
    assert remembering.run("lifecycle", "review", "erase", *PARCEL).code == 0
    remembering.must("lifecycle", "hold", *PARCEL, "--turn", "turn-1", "--reason", "a case", "--requester", "desk")
    assert remembering.run("lifecycle", "review", "erase", *PARCEL).code == 1
    assert remembering.run("lifecycle", "erase", *PARCEL, *WHY, "--yes").code == 1


def test_forgetting_by_words_takes_the_two_calls_that_it_tells_of(remembering: Shell) -> None:
    words = ("memory", "forget", SUBJECT, "--words", "neighbour", *WHY, "--yes")
    assert "two calls: one with --dry-run" in remembering.run(*words).out
    preview = remembering.must(*words, "--dry-run")
    assert preview.out.startswith("dry run: would forget 1 item; nothing was changed")
    token = json.loads(remembering.must(*words, "--dry-run", "--json").out)["token"]
    assert remembering.must(*words, "--token", token).out.startswith("done: forget 1 item")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("memory", "forget", SUBJECT, *WHY, "--yes"), "target: missing (one of: --item, --topic,"),
        (("memory", "forget", SUBJECT, "--topic", "tea", "--kind", "mood", *WHY, "--yes"), "preference"),
        (("memory", "forget", SUBJECT, "--topic", "tea", "--kind", "mood", *WHY, "--yes"), "unknown (one of: "),
        (("memory", "list", SUBJECT, "--view", "host_ui", "--limit", "0"), "limit: must be at least 1"),
        (("memory", "amend", "tea", "--amendment", "nowhere.json", *WHY), "The file is nowhere.json."),
        (("skills", "show", SUBJECT, "--name", "deploy"), "begins with a prefix (one of: runtime_skill__)"),
        (("skills", "show", SUBJECT, "--name", "runtime_skill__no"), "`muniment skills list`"),
        (("tools", "show", "nowhere"), "`muniment tools list`"),
        (("notebook", "decide", "nowhere", "--verdict", "accept", *WHY), "`muniment notebook proposals`"),
        (
            ("skills", "edit", SUBJECT, "--name", SKILL, "--title", "No", "--expected", "7", *WHY),
            "(expected 7, found 0)",
        ),
        (("notebook", "set-policy", "suppress", "--topic", "x*", *WHY), "a pattern with `*` needs a subject"),
    ],
)
def test_a_refusal_says_what_would_do(words: tuple[str, ...], told: str, remembering: Shell) -> None:
    ran = remembering.run(*words)
    assert ran.code in {2, 4, 5}
    assert told in ran.err


def test_an_edit_of_a_skill_is_judged_as_a_new_skill_is(remembering: Shell) -> None:
    edit = ("skills", "edit", SUBJECT, "--name", SKILL, *WHY, "--procedure")
    assert remembering.run(*edit, "No").out.startswith("did not edit the item: a skill has at least 2 steps")
    assert remembering.must(*edit, "Look the order up.\nRefund it.").out.startswith("done: edit the item")


def test_a_folder_without_memory_says_what_was_looked_for(filled: Shell) -> None:
    ran = filled.run("memory", "import", "turns", "--subject", SUBJECT, "--requester", "desk")
    assert ran.code == 1
    assert "No MEMORY.md, USER.md or memory/*.md in this folder." in ran.out
    assert "DIR/<subject>" in ran.out


def test_a_policy_of_all_memory_is_asked_for_by_name(filled: Shell) -> None:
    set_policy = ("notebook", "set-policy", "suppress", *WHY)
    refused = filled.run(*set_policy)
    assert refused.code == 2
    assert "ask for everything" in refused.err
    assert filled.must(*set_policy, "--everything").code == 0


def test_a_decision_against_the_one_that_was_made_is_not_done(filled: Shell) -> None:
    proposal = (FILES / "proposal.json").read_text()
    filled.must("notebook", "propose", "-", "--rationale", "so", "--requester", "desk", typed=proposal)
    decide = ("notebook", "decide", "parcels", *WHY, "--verdict")
    assert filled.must(*decide, "accept").out.startswith("done: accept the proposal")
    assert filled.must(*decide, "accept").out.startswith("no change")
    assert filled.run(*decide, "reject").code == 1
