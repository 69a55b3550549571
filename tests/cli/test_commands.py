"""Commands are made from the catalogue: every operation can be asked for, helped with, confirmed and reported."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import click
import pytest
from msgspec import Struct

from muniment.declaration.operation import Document, DocumentFolder, Operation
from muniment.errors import InvalidInput
from muniment.events.binding import parse_json
from muniment.governance.access import Effect
from muniment.runtime.catalogue import GROUPS, catalogue
from muniment.transports.cli.app import ALIASES, BESIDE, tree
from muniment.transports.cli.command import command_of
from muniment.transports.cli.fields import fields_of, json_of, parameters_of
from muniment.transports.cli.store_options import OPTIONS, SHARED
from tests.cli.shell import Shell

NAMES = [each.path for each in catalogue()]


def test_every_operation_has_its_command_and_nothing_else_has() -> None:
    root = tree()
    ctx = click.Context(root)
    assert root.list_commands(ctx) == [*GROUPS, *ALIASES, *BESIDE]
    found = []
    for group in GROUPS:
        noun = root.get_command(ctx, group)
        assert isinstance(noun, click.Group)
        found += [f"{group}.{verb}" for verb in noun.list_commands(click.Context(noun, info_name=group))]
    assert found == [name.replace("_", "-") for name in NAMES]


def test_a_command_is_spelt_with_dashes_and_understood_with_underscores(shell: Shell) -> None:
    assert "import-model" in shell.must("system", "--help").out
    dashed, underscored = (shell.must("system", name, "--help").out for name in ("import-model", "import_model"))
    assert dashed == underscored.replace("system import_model", "system import-model")


@pytest.mark.parametrize("operation", catalogue(), ids=NAMES)
def test_the_help_of_a_command_is_the_docstring_and_names_every_field(operation: Operation, shell: Shell) -> None:
    told = shell.must(operation.group, operation.name, "--help").out
    assert " ".join(operation.summary.split()) in " ".join(told.split())
    assert "BEHAVIOUR" not in told, "whoever installs the product does not have that document"
    for field in fields_of(operation.request, SHARED):
        assert field.flag in told
    for option in (*OPTIONS, "json"):
        assert f"--{option}" in told
    assert ("--yes" in told) is (operation.effect is Effect.ERASE)
    assert ("--idempotency-key" in told) is (operation.takes_key and not operation.uploads_several)
    assert ("--out" in told) is (operation.report in {Document, DocumentFolder})


@pytest.mark.parametrize("operation", catalogue(), ids=NAMES)
def test_the_help_describes_every_field_in_the_words_of_the_declaration(operation: Operation) -> None:
    command = command_of(operation)
    helps = {option.name: option.help or "" for option in command.params if isinstance(option, click.Option)}
    fields = fields_of(operation.request, SHARED)
    if operation.upload is not None:
        assert helps[operation.upload].startswith(operation.upload_help)
        assert operation.upload_help
    for field in fields:
        assert field.description.endswith("."), field.path
        assert helps[field.name].startswith(field.description)


@pytest.mark.parametrize("operation", catalogue(), ids=NAMES)
def test_no_field_of_an_operation_takes_the_name_of_another_option(operation: Operation) -> None:
    names = [option.name for option in command_of(operation).params]
    assert len(set(names)) == len(names)
    assert {"json", "yes", "out"}.isdisjoint(field.name for field in fields_of(operation.request, SHARED))


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["import", "--help"], ["demo", "--help"], ["spaces", "-h"]])
def test_help_stands_wherever_it_is_looked_for(arguments: list[str], shell: Shell) -> None:
    assert "Usage: muniment" in shell.must(*arguments).out


def test_the_exit_codes_are_in_the_help(shell: Shell) -> None:
    told = " ".join(shell.must("--help").out.split())
    for words in ("2 invalid", "3 denied", "4 missing", "5 conflict", "6 corrupt", "7 unavailable", "8 exhausted"):
        assert words in told


@pytest.mark.parametrize("words", [(), ("spaces",), ("--json",), ("evidence", "--store", "x")])
def test_without_a_command_the_help_is_shown_as_a_misuse(words: tuple[str, ...], shell: Shell) -> None:
    ran = shell.run(*words)
    assert ran.code == 2
    assert "Usage: muniment" in ran.err


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_options_of_the_door_stand_before_between_and_behind(place: int, filled: Shell) -> None:
    words = ["spaces", "usage"]
    words[place:place] = ["--json", "--store", "store", "--space", "default"]
    assert json.loads(filled.must(*words).out)["turns"] == 5


def test_the_last_word_about_the_store_counts(filled: Shell) -> None:
    assert filled.run("--store", "nowhere", "spaces", "usage", "--store", "store").code == 0
    assert filled.run("--store", "store", "spaces", "usage", "--store", "nowhere").code == 4


def test_spaces_are_told_apart_by_the_option_of_the_door(filled: Shell) -> None:
    filled.must("transcripts", "commit", "turns/1.json", "--space", "other")
    found = json.loads(filled.must("conversations", "list", "--space", "other", "--json").out)
    assert [one["turns"] for one in found["conversations"]] == [1]
    assert json.loads(filled.must("spaces", "list", "--json").out) == {"spaces": ["default", "other"]}


def test_a_conversation_is_named_by_place_or_by_option_but_not_twice(filled: Shell) -> None:
    key = "order-LF-20418"
    by_place = filled.must("transcripts", "replay", key, "--channel", "web-chat")
    assert by_place == filled.must("transcripts", "replay", "--conversation", key, "--channel", "web-chat")
    twice = filled.run("transcripts", "replay", key, "--conversation", key)
    assert (twice.code, "given twice" in twice.err) == (2, True)
    assert "conversation: missing" in filled.run("transcripts", "replay").err


def test_a_turn_is_read_from_a_file_or_from_standard_input(shell: Shell) -> None:
    turn = (shell.directory / "turns/1.json").read_text()
    assert json.loads(shell.must("transcripts", "commit", "-", "--json", typed=turn).out)["committed"]
    again = json.loads(shell.must("transcripts", "commit", "turns/1.json", "--json").out)
    assert (again["committed"], again["sequence"]) == (False, 1)


def test_an_option_for_several_words_may_be_repeated(filled: Shell) -> None:
    redact = ("transcripts", "redact", *VALID["transcripts.redact"])
    assert json.loads(filled.must(*redact, "--json").out)["views"] == ["export", "host_ui"]
    assert "changed       no" in filled.must(*redact).out
    told = filled.must("transcripts", "replay", *CONVERSATION, "--view", "host_ui").out
    assert "[content withheld: redacted (legal)]" in told
    none = filled.run("transcripts", "redact", *CONVERSATION, "--turn", "turn-1", *redact[-4:])
    assert (none.code, "views: missing" in none.err) == (2, True)
    assert "views: unknown" in filled.run(*redact, "--views", "everybody").err


# --- destroying -------------------------------------------------------------------------------------------------------

ERASE = (
    *("lifecycle", "request", "order-LF-20418", "--channel", "web-chat", "--transition", "erase"),
    *("--reason", "asked for", "--requester", "desk", "--turn", "turn-4"),
)


def test_what_destroys_is_refused_where_nobody_can_be_asked(filled: Shell) -> None:
    """Without a terminal and without --yes nothing is opened, asked or changed."""
    ran = filled.run(*ERASE)
    assert (ran.code, ran.out) == (3, "")
    assert "request.not_confirmed" in ran.err
    assert "nadia.ferreira" in _words(filled)


def test_a_dry_run_destroys_nothing_and_asks_nothing(filled: Shell) -> None:
    ran = filled.run("lifecycle", "apply_retention", "--requester", "nightly job", "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    filled.must("spaces", "backup", "aside")
    before = filled.must("evidence", "checkpoint").out
    assert "restored       no" in filled.must("spaces", "restore", "aside", "--dry-run", "--replace").out
    assert filled.must("evidence", "checkpoint").out == before


def test_what_destroys_asks_and_takes_no_for_an_answer(filled: Shell) -> None:
    ran = filled.run(*ERASE, typed="n\n", terminal=True)
    assert ran.code == 3
    assert "cannot be undone" in ran.err
    assert "you answered no" in ran.err
    assert "nadia.ferreira" in _words(filled)


@pytest.mark.parametrize(("options", "typed"), [(["--yes"], ""), ([], "y\n")])
def test_what_destroys_runs_when_confirmed(options: list[str], typed: str, filled: Shell) -> None:
    assert filled.run(*ERASE, *options, typed=typed, terminal=bool(typed)).code == 0
    assert "nadia.ferreira" not in _words(filled)


def test_a_question_that_is_answered_by_the_end_of_input_is_an_interrupt(filled: Shell) -> None:
    assert filled.run(*ERASE, terminal=True).code == 130


def _words(shell: Shell) -> str:
    return shell.must("transcripts", "replay", "order-LF-20418", "--channel", "web-chat", "--view", "raw_owner").out


# --- making stores ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", catalogue(), ids=NAMES)
def test_only_what_appends_makes_a_store(operation: Operation, shell: Shell) -> None:
    """And what brings a space along, into a store where there is none."""
    shell.run(operation.group, operation.name, *VALID[operation.path], "--yes")
    assert (shell.directory / "store").exists() is False or (
        operation.effect is Effect.APPEND or operation.terms.spaceless
    )


CONVERSATION = ("order-LF-20418", "--channel", "web-chat")
SCOPE = ("--conversation", *CONVERSATION)
PHOTO = ("--turn", "turn-1", "--message", "1", "--part", "0")
WHY = ("--reason", "why", "--requester", "who")
SKILL = ("customer:nadia", "--name", "runtime_skill__refund")
# path of an operation -> arguments that are valid for the store of the demo
VALID: dict[str, tuple[str, ...]] = {
    "transcripts.commit": ("turns/1.json",),
    "transcripts.commit_many": ("turns/1.json",),
    "transcripts.replay": (*CONVERSATION, "--view", "host_ui", "--limit", "2"),
    "transcripts.timeline": (*CONVERSATION, "--at", "around", "--turn", "turn-3", "--view", "host_ui", "--limit", "2"),
    "transcripts.latest": (*CONVERSATION, "-n", "2"),
    "transcripts.search": ("refund", "--role", "assistant", "--sort", "time", "--explain", "--limit", "2"),
    "transcripts.context": (
        *(*CONVERSATION, "--budget-tokens", "500", "--query", "money", "--shape", "anthropic"),
        *("--system", "leave_out", "--gaps", "leave_out", "--reach", "space", "--file-tokens", "9", "--record"),
    ),
    "transcripts.redact": (
        *(*CONVERSATION, "--turn", "turn-1", "--message", "1", "--views", "export", "--views", "host_ui"),
        *("--reason", "legal", "--requester", "desk"),
    ),
    "transcripts.annotate": (*CONVERSATION, "--attributes", "attributes.json", "--idempotency-key", "write-7"),
    "attachments.add": ("turns/1.json", "--mime-type", "application/json", "--name", "1.json"),
    "attachments.read": (*CONVERSATION, *PHOTO, "--start", "0", "--length", "9", "--view", "host_ui"),
    "attachments.save": (*CONVERSATION, *PHOTO, "--file", "saved.json"),
    "conversations.list": (
        *("--channel", "web-chat", "--lifecycle", "active_and_archived", "--limit", "5", "--subject", "ada"),
        *("--tag", "shop", "--since-ms", "0", "--until-ms", "9000000000000", "--view", "host_ui"),
    ),
    "conversations.activity": ("ranges.json", "--channel", "web-chat"),
    "conversations.resolve": ("web-chat/order-LF-20418", "--subject", "ada"),
    "conversations.changed": (*CONVERSATION, "--since", "mc1.none"),
    "conversations.describe": (*CONVERSATION, "--title", "A refund", "--tags", "shop", "--tags", "urgent"),
    "events.read": (
        *("--limit", "5", "--view", "host_ui", "--channel", "web-chat", "--conversation", "order-LF-20418"),
        *("--topics", "transcript", "--topics", "erasures", "--after", "now"),
    ),
    "subjects.list": ("--lifecycle", "active_and_archived", "--limit", "5"),
    "subjects.inspect": ("ada", "--view", "host_ui", "--query", "tea", "--length-max", "99"),
    "subjects.export": ("ada", "--format", "json", "--view", "host_ui", "--recipient", "ada", "--purpose", "asked for"),
    "redactions.find": ("nadia", "--matching", "any_case", "--views", "host_ui", "--limit", "2"),
    "redactions.apply": (*("nadia", "--views", "host_ui", "--token", "t", "--reason", "legal", "--requester", "who"),),
    "memory.remember": ("candidates.json", "--requester", "desk", "--dry-run"),
    "memory.recall": ("customer:nadia", "--query", "refund", "--planes", "long_term", "--planes", "diary"),
    "memory.list": ("customer:nadia", "--view", "host_ui", "--limit", "5"),
    "memory.show": ("i-1", "--view", "host_ui"),
    "memory.prompt": ("customer:nadia", "--budget-tokens", "100"),
    "memory.amend": ("i-1", "--amendment", "amendment.json", *WHY),
    "memory.journal": ("customer:nadia",),
    "memory.import": ("candidates.json", "--subject", "customer:nadia", "--requester", "desk"),
    "memory.forget": ("customer:nadia", "--item", "i-1", *WHY),
    "notebook.set_policy": ("suppress", "--subject", "customer:nadia", "--topic", "delivery*", *WHY),
    "notebook.policies": ("--subject", "customer:nadia"),
    "notebook.propose": ("candidates.json", "--rationale", "why", "--requester", "desk"),
    "notebook.proposals": ("customer:nadia", "--view", "host_ui", "--limit", "5"),
    "notebook.decide": ("p-1", "--verdict", "accept", *WHY),
    "notebook.undo": ("night-1", *WHY, "--dry-run"),
    "skills.list": ("customer:nadia", "--query", "refund", "--include", "disabled"),
    "skills.show": SKILL,
    "skills.edit": (*SKILL, "--title", "Refund", *WHY),
    "skills.enable": (*SKILL, *WHY),
    "skills.disable": (*SKILL, *WHY),
    "skills.retire": (*SKILL, *WHY),
    "skills.restore": (*SKILL, *WHY),
    "skills.mounted": (),
    "tools.register": ("registry.json", "--requester", "desk"),
    "tools.list": ("--limit", "5"),
    "tools.show": ("desk", "--view", "host_ui"),
    "tools.remove": ("desk", *WHY),
    "tools.feedback": ("customer:nadia", "--feedback", "feedback.json", "--requester", "desk", "--dry-run"),
    "tools.hints": ("customer:nadia", "--view", "host_ui"),
    "lifecycle.request": (*CONVERSATION, "--transition", "mask", "--reason", "why", "--requester", "who"),
    "lifecycle.erase": (*SCOPE, "--turn", "turn-2", *WHY),
    "lifecycle.review": ("erase", "--subject", "ada"),
    "lifecycle.hold": (*SCOPE, "--turn", "turn-2", *WHY),
    "lifecycle.release": ("7", *WHY),
    "lifecycle.retain": ("--channel", "web-chat", "--keep-at-least-ms", "1000", *WHY),
    "lifecycle.apply_retention": ("--dry-run", "--limit", "10", *WHY),
    "lifecycle.receipts": CONVERSATION,
    "lifecycle.certificate": ("5", "--format", "html"),
    "evidence.checkpoint": (),
    "evidence.prove": (*CONVERSATION, "--turn", "turn-2", "--view", "export"),
    "evidence.export": (*CONVERSATION, "--view", "host_ui", "--recipient", "someone", "--purpose", "something"),
    "evidence.verify": ("bundle.jsonl", "--vkey", "muniment/x+00000000+AAAA"),
    "evidence.audit": (),
    "evidence.disclosures": ("--limit", "5"),
    "evidence.links": ("--plane", "long_term", "--key", "refund-limit", "--limit", "5"),
    "evidence.explain": ("turn-1",),
    "evidence.inspect": (*CONVERSATION, "--limit", "5"),
    "disclosure.reveal": (*CONVERSATION, "--turn", "turn-1", "--reason", "asked for", "--requester", "desk"),
    "approvals.list": (),
    "approvals.require": ("--acts", "reveal", "--within", "2 days", *WHY),
    "approvals.confirm": ("7", "--reason", "why", "--approver", "who"),
    "approvals.refuse": ("7", "--reason", "why", "--approver", "who"),
    "tables.query": ("SELECT 1",),
    "tables.describe": (),
    "provenance.record": ("derivations.json",),
    "spaces.list": (),
    "spaces.import": ("chat.jsonl", "--format", "openai", "--channel", "imported", "--subject", "somebody"),
    "spaces.export": (*CONVERSATION, "--format", "markdown", "--view", "host_ui"),
    "spaces.backup": ("backup", "--keyring", "safe", "--sealed-by", "file:seal.key"),
    "spaces.restore": ("backup", "--keyring", "safe", "--sealed-by", "file:seal.key", "--replace", "--dry-run"),
    "spaces.usage": (),
    "spaces.rotate": ("--root", "file:new.key"),
    "spaces.replace_signer": (),
    "archives.export": ("ada.archive", "--kind", "subject", "--subject", "ada", "--private", "include"),
    "archives.inspect": ("ada.archive", "--sealed-by", "file:seal.key"),
    "archives.import": ("ada.archive", "--kind", "shared", "--mode", "restore", "--private", "exclude"),
    "clients.create": ("desk", "--scope.effects", "read", "--until-ms", "2030-01-01"),
    "clients.list": (),
    "clients.rotate": ("desk", "--overlap-ms", "1 hour"),
    "clients.revoke": ("desk",),
    "system.capabilities": (),
    "system.health": (),
    "system.recover": (),
    "system.doctor": (),
    "system.import_model": ("model",),
    "system.reembed": ("--view", "host_ui"),
    "system.close": (),
}


def test_there_are_valid_arguments_for_every_operation() -> None:
    assert list(VALID) == NAMES


# --- documents --------------------------------------------------------------------------------------------------------


def test_a_document_goes_to_standard_output_and_its_summary_beside(filled: Shell) -> None:
    ran = filled.must("evidence", "export", *CONVERSATION)
    assert json.loads(ran.out.splitlines()[0])["bundle"] == "muniment-export/1"
    assert "vkey" in ran.err


def test_a_document_is_written_to_a_file_that_only_its_owner_reads(filled: Shell) -> None:
    out = filled.directory / "bundle.jsonl"
    out.write_text("older and readable by all")
    out.chmod(0o644)
    ran = filled.must("evidence", "export", *CONVERSATION, "--out", "bundle.jsonl")
    assert ran.out == ""
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    vkey = ran.err.split("vkey")[1].split()[0]
    proved = json.loads(filled.must("evidence", "verify", "bundle.jsonl", "--vkey", vkey, "--json").out)
    assert (proved["complete"], proved["events"]) == (True, 7)


def test_a_document_in_json_is_one_document(filled: Shell) -> None:
    told = json.loads(filled.must("evidence", "prove", *CONVERSATION, "--turn", "turn-2", "--json").out)
    assert told["text"].startswith("c2sp.org/tlog-proof@v1")
    beside = json.loads(filled.must("evidence", "prove", *CONVERSATION, "--turn", "turn-2", "--json", "--out", "p").out)
    assert (beside["text"], beside["out"]) == (None, "p")
    assert (filled.directory / "p").read_text().splitlines()[0] == told["text"].splitlines()[0]


def test_a_document_that_cannot_be_written_is_a_missing_file(filled: Shell) -> None:
    ran = filled.run("evidence", "checkpoint")
    assert ran.code == 0
    ran = filled.run("evidence", "export", *CONVERSATION, "--out", "no/such/place")
    assert (ran.code, "file.unavailable" in ran.err, "out: not found" in ran.err) == (4, True, True)


@pytest.mark.parametrize("place", ["no/such/place", "turns", "no\0path"])
def test_an_export_that_has_nowhere_to_go_is_not_on_record(place: str, filled: Shell) -> None:
    """The log says who received what, so it must not say it of a file that was never written."""
    events = filled.must("spaces", "usage").out
    assert filled.run("evidence", "export", *CONVERSATION, "--out", place).code == 4
    assert filled.must("spaces", "usage").out == events


def test_verification_needs_no_store(filled: Shell, tmp_path: Path) -> None:
    ran = filled.must("evidence", "export", *CONVERSATION)
    vkey = ran.err.split("vkey")[1].split()[0]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    third_party = Shell(elsewhere)
    told = third_party.must("evidence", "verify", "-", "--vkey", vkey, "--json", typed=ran.out)
    assert json.loads(told.out)["complete"] is True
    assert not list(elsewhere.iterdir())


# --- fields -----------------------------------------------------------------------------------------------------------


class Shape(Struct, frozen=True, kw_only=True):
    """A request with every kind of field."""

    count: int
    flag: bool = True
    names: list[int] = []
    either: int | str = 0


def _request(*words: str) -> Any:
    fields = fields_of(Shape, SHARED)
    command = click.Command("x", params=parameters_of(fields))
    with command.make_context("x", list(words)) as ctx:
        return parse_json(json_of(fields, ctx.params), Shape)


def test_fields_that_no_operation_has_yet_are_understood_too(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("[1,2]")
    (tmp_path / "either").write_text('"text"')
    given = _request("3", "--no-flag", "--names", str(tmp_path / "names"), "--either", str(tmp_path / "either"))
    assert given == Shape(count=3, flag=False, names=[1, 2], either="text")
    assert _request("--count", "4") == Shape(count=4)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("[nonsense")
    with pytest.raises(InvalidInput, match="not json"):
        _request("3", "--names", str(tmp_path / "names"))


def test_words_are_offered_to_the_shell_that_completes_them() -> None:
    (replay,) = [each for each in catalogue() if each.path == "transcripts.replay"]
    (field,) = [each for each in command_of(replay).params if each.name == "view"]
    ctx = click.Context(click.Command("x"))
    assert [item.value for item in field.type.shell_complete(ctx, field, "o")] == ["operator_audit"]


@pytest.mark.parametrize("spelt", ["keep-at-least 30d", "keep-at-least-ms P30D", "keep-at-least 2592000000"])
def test_a_duration_is_typed_as_people_write_it(spelt: str, filled: Shell) -> None:
    options = ["--reason", "law", "--requester", "dpo", *f"--{spelt}".split(), "--json"]
    told = json.loads(filled.must("lifecycle", "retain", *options).out)
    assert told["policies"][0]["keep_at_least_ms"] == 30 * 24 * 60 * 60 * 1000


def test_a_moment_is_typed_as_people_write_it(filled: Shell) -> None:
    """The turns of the demo are of 15 June 2026."""
    found = json.loads(filled.must("transcripts", "search", "order", "--from", "2026-06-15", "--json").out)
    assert found["hits"]
    for later in ("2026-06-16", "2026-06-16T00:00Z", "1781568000000"):
        told = json.loads(filled.must("transcripts", "search", "order", "--from-ms", later, "--json").out)
        assert not told["hits"]


@pytest.mark.parametrize(
    ("option", "typed", "why", "hint"),
    [
        ("--from", "14/11/2023", "from_ms: the order of day and month is not clear", "Examples: 2026-12-01"),
        ("--from", "yesterday", "from_ms: not a date or time", "Examples: 2026-12-01"),
    ],
)
def test_a_time_that_means_nothing_or_two_things_is_refused(
    option: str, typed: str, why: str, hint: str, filled: Shell
) -> None:
    ran = filled.run("transcripts", "search", "order", option, typed)
    assert ran.code == 2
    assert why in ran.err
    assert hint in ran.err
    assert typed not in ran.err


def test_every_option_of_a_time_says_how_to_write_it(shell: Shell) -> None:
    assert "--from, --from-ms MOMENT" in shell.must("transcripts", "search", "--help").out
    told = shell.must("lifecycle", "retain", "--help").out
    assert "--keep-at-least, --keep-at-least-ms DURATION" in told
    assert "30d" in told


@pytest.mark.parametrize("operation", catalogue(), ids=lambda operation: operation.path)
def test_every_number_of_milliseconds_that_is_typed_says_what_it_is(operation: Operation) -> None:
    """A moment or a duration, so that no transport has to guess from a name."""
    assert all(field.time for field in fields_of(operation.request, SHARED) if field.name.endswith("_ms"))


@pytest.mark.parametrize("verb", [("evidence", "inspect"), ("evidence", "disclosures"), ("lifecycle", "receipts")])
def test_a_conversation_is_named_by_place_wherever_it_comes_first(verb: tuple[str, str], filled: Shell) -> None:
    filled.must(*verb, "order-LF-20418", "--channel", "web-chat")


def test_turns_are_committed_from_lines_of_json_and_the_latest_are_shown(filled: Shell) -> None:
    """A file of a turn on each line, with blank lines or without, or one list."""
    lines = [
        f'{{"turn":"batch-{number}","subject":"ada","conversation":"batch",'
        f'"messages":[{{"role":"user","content":"question {number}"}}]}}'
        for number in range(1, 4)
    ]
    told = filled.must("transcripts", "commit-many", "-", "--json", typed="\n".join([*lines, "", ""]))
    assert '"committed":3' in told.out.replace(" ", "")
    told = filled.must("transcripts", "commit-many", "-", "--json", typed=f"[{','.join(lines)}]")
    assert '"committed":0' in told.out.replace(" ", "")
    shown = filled.must("transcripts", "latest", "batch", "-n", "2", "--view", "raw_owner").out
    assert "question 1" not in shown
    assert shown.index("question 2") < shown.index("question 3")
