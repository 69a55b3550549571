"""No report of any operation shows what the access of its caller should not see.

A world has a canary in everything that a view may hide. Every operation of the catalogue runs through every access that
has one view or none, under every policy, and through every view that it can be asked for. Who may see a canary is said
here by hand, once more.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muniment.declaration.operation import Operation, bound, perform
from muniment.errors import MunimentError, WordsErased
from muniment.events.changes import RedactionReason, Transition
from muniment.events.identity import SubjectId
from muniment.governance.access import Access, Effect
from muniment.governance.policy import Policy
from muniment.governance.views import View
from muniment.kernel.digest import unb64url
from muniment.operations.attachments import AttachmentPlace, AttachmentRange
from muniment.operations.evidence.proof_document import EvidenceFormat
from muniment.operations.subjects.export_subject import SubjectFormat
from muniment.runtime.catalogue import catalogue
from muniment.runtime.runtime import Runtime
from muniment.tables.table_forms import DERIVED, TABLES
from tests.laws.canary_world import AUDIT, CANARIES, FILES, NOBODY, RAW, full_world
from tests.laws.learned import SKILL, about_skills
from tests.turns import TALK
from tests.worlds import key_of

# --- every operation --------------------------------------------------------------------------------------------------

TALKING = {"conversation": TALK}
PLACES = [
    {"turn": turn, "message": message, "part": 0}
    for turn, message in (("turn-1", 0), ("turn-1", 1), ("turn-1", 2), ("turn-2", 0), ("turn-3", 0))
]
WHY = {"reason": "why", "requester": "who"}
TURN = {"conversation": TALKING, "turn": "turn-1"}
STATEMENT = {
    "subject": "ada", "kind": "profile", "text": "says nothing", "evidence": [TURN], "judgement": {"decision": "accept"}
}  # fmt: skip
SCOPES: list[dict[str, Any]] = [
    {"conversation": TALK}, {"conversation": TALK, "turn": "turn-1"}, {"conversation": TALK, "message": "turn-1#0"},
    {"subject": "ada"}, {"whole_space": "default"},
]  # fmt: skip
EXPLAINED = [
    *((TALK, turn) for turn in ("turn-1", "turn-1#4", "turn-2", "turn-3", "turn-4")),
    *(("hush", turn) for turn in ("turn-1", "turn-2")),
]
SQL = [
    *(f"SELECT * FROM {form.name}" for form in (*TABLES, *DERIVED)),  # noqa: S608 - our own names
    "SELECT m.* FROM words JOIN messages m ON m.number = words.rowid WHERE words MATCH 'zephyr'",
]
ARCHIVE = {"kind": "conversation", "channel": "default", "conversation": TALK}


def through(given: dict[str, Any], **more: list[Any]) -> list[dict[str, Any]]:
    """Return a request for every view, and for every combination of more values."""
    named = {"view": list(View), **more}
    return [given | dict(zip(named, each, strict=True)) for each in itertools.product(*named.values())]


def requests(home: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the requests of every operation, in the order in which they are made: what destroys comes last."""
    return about_memory() | about_skills(through, WHY) | reading() | changing(home)


def about_memory() -> dict[str, list[dict[str, Any]]]:
    """Return the requests about memory that destroy nothing."""
    return {
        "memory.remember": [
            {
                "candidates": [{**STATEMENT, "topic": topic, "id": f"new-{topic}"}],
                "requester": "who",
                "dry_run": dry_run,
            }
            for topic in ("one", "two", "three", "four")
            for dry_run in (True, False)
        ],
        "memory.list": through({"subject": "ada"}, selection=[{}, {"state": "all"}, {"as_of_ms": 2**50}]),
        "memory.recall": through(
            {"subject": "ada", "query": "canaryitem canarywords harbour ada question"},
            scope=[{}, {"as_of_ms": 2**50}, {"conversation": "harbour"}],
            ranking=[{"explain": True, "least_relevance": 0}],
        ),
        "memory.prompt": through(
            {"subject": "ada", "budget_tokens": 9999},
            query=[None, "canaryitem canarywords harbour ada question"],
            composition=[{}, {"conversation": "harbour", "recent_messages": 9}],
        ),
        "memory.show": through({}, item=["i-1", "i-2", "i-3"]),
        "notebook.propose": [
            {"candidates": [{**STATEMENT, "topic": topic, "id": f"prop-{topic}"}], "rationale": "r", "requester": "who"}
            for topic in ("one", "five", "six", "zephyr")
        ],
        "notebook.proposals": through({"subject": "ada"}, state=["open", "all"]),
        "notebook.policies": [{}, {"subject": "ada"}],
        "notebook.set_policy": [{"action": "pause", "selector": {"kind": "task"}, **WHY}, {"action": "resume", **WHY}],
        "notebook.undo": [{"run": "night-1", "dry_run": True, **WHY}],
        "notebook.decide": [
            {"proposal": name, "verdict": verdict, "dry_run": True, **WHY}
            for name in ("p-1", "i-1")
            for verdict in ("accept", "reject")
        ],
        "memory.journal": through({"subject": "ada"}),
        "memory.import": [{"subject": "ada", "requester": "who", "dry_run": dry_run} for dry_run in (True, False)],
        "memory.amend": [
            {"item": item, "amendment": {"type": "pin"}, "dry_run": True, **WHY} for item in ("i-1", "i-2", "i-3")
        ],
    }


def reading() -> dict[str, list[dict[str, Any]]]:
    """Return the requests that read, append, or say what would happen."""
    written = {"id": "a-internal", "target": {"turn": "turn-1"}, "key": "host.desk.note", "kind": "string",
               "value": "x", "source": {"writer": "w", "kind": "host_reported"}}  # fmt: skip
    ranges = [{"from_ms": 0, "until_ms": 10**12}]
    anchors = [{"at": "latest"}, {"at": "around", "turn": "turn-1"}, {"at": "around", "message": "turn-1#4"}]
    derivation = {"plane": "long_term", "key": "k", "subject": "ada", **TURN}
    return {
        "transcripts.replay": through({"conversation": TALKING}),
        "transcripts.timeline": through({"conversation": TALKING}, anchor=anchors),
        "transcripts.latest": through({}, conversation=[TALKING, {"conversation": "hush"}]),
        "attachments.add": [{}],
        "attachments.read": through({"conversation": {"conversation": FILES}}, attachment=PLACES),
        "conversations.activity": [{"ranges": ranges}],
        "conversations.changed": [{"conversation": TALKING}, {"conversation": {"conversation": "hush"}}],
        "conversations.list": [{}, {"lifecycle": "active_and_archived"}],
        "conversations.resolve": [{"name": name} for name in ("talk", "hush", "default/hush", "tal", "canary")],
        "events.read": through({"limit": 500}),
        "subjects.list": [{}],
        "subjects.export": through({"subject": "ada"}, format=list(SubjectFormat)),
        "tables.query": through({}, sql=SQL),
        "tables.describe": [{}],
        "evidence.explain": [{"turn": turn, "conversation": name} for name, turn in EXPLAINED],
        "redactions.find": [
            {"sought": {"text": "zephyr"}, **views} for views in ({}, *({"views": [view]} for view in View))
        ],
        "transcripts.search": through({"ranking": {"explain": True}}, query=["zephyr", *CANARIES, "from:assistant"]),
        "transcripts.context": through(
            {"conversation": TALKING, "budget_tokens": 9999, "query": "zephyr"}, shape=["openai", "anthropic", "otel"]
        ),
        "transcripts.annotate": [{"conversation": TALKING, "attributes": [written], "dry_run": True}],
        "provenance.record": [{"derivations": [derivation]}],
        "lifecycle.review": [
            {"action": action, "scope": scope} for action in ("erase", "mask", "hold", "unmask") for scope in SCOPES
        ],
        "lifecycle.receipts": [{"conversation": TALKING}],
        "lifecycle.certificate": [
            {"position": position, "format": wanted} for position in range(60) for wanted in EvidenceFormat
        ],
        "evidence.checkpoint": [{}],
        "evidence.prove": through(TURN, format=list(EvidenceFormat)) + through(TURN | {"turn": "turn-3"}),
        "evidence.export": through(
            {}, conversation=[TALKING, {"conversation": "hush"}], certified=[True, False], format=list(EvidenceFormat)
        ),
        "evidence.verify": [{"vkey": "x"}],
        "evidence.audit": [{}],
        "evidence.disclosures": [{}, {"conversation": TALKING}],
        "evidence.links": [
            {"conversation": TALKING},
            TURN,
            {"memory": {"plane": "private_garden", "key": "canaryprivatekey"}},
        ],
        "evidence.inspect": [{}, {"conversation": TALKING}],
        "disclosure.reveal": [{**TURN, **WHY}],
        "spaces.list": [{}],
        "spaces.usage": [{}],
        "spaces.export": through({"conversation": TALKING}, format=["markdown", "openai", "otel"]),
        "spaces.import": [{"format": "auto"}],
    }


def about_clients() -> dict[str, list[dict[str, Any]]]:
    """Return the requests about clients: one comes, gets another key and goes."""
    named: dict[str, Any] = {"client": "desk"}
    return {"clients.create": [named], "clients.list": [{}], "clients.rotate": [named], "clients.revoke": [named]}


def changing(home: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the requests that write files, change the space, and destroy, in this order."""
    new = {"turn": "new", "subject": "ada", "conversation": TALK, "messages": [{"role": "user", "content": "hello"}]}
    passage = {"turn": "turn-1", "message": 0}
    return {
        "attachments.save": through(
            {"conversation": {"conversation": FILES}, "file": str(home / "saved")}, attachment=PLACES[3:]
        ),
        "spaces.backup": [{"target": str(home / "backup"), "keyring": str(home / "ring")}],
        "spaces.restore": [{"source": str(home / "backup"), "keyring": str(home / "ring"), "dry_run": True}],
        "archives.export": [
            {"file": str(home / private), "scope": ARCHIVE, "private": private} for private in ("exclude", "include")
        ],
        "archives.inspect": [{}],
        "archives.import": [{"scope": ARCHIVE}],
        "system.capabilities": [{}],
        "system.health": [{}],
        "system.doctor": [{}],
        "system.recover": [{}],
        "system.reembed": through({}),
        "system.import_model": [{"folder": str(home)}],
        **about_clients(),
        "spaces.rotate": [{}],
        "spaces.replace_signer": [{}],
        "approvals.list": [{}],
        "approvals.confirm": [{"approval": 0, "reason": "why", "approver": "who"}],
        "approvals.refuse": [{"approval": 0, "reason": "why", "approver": "who"}],
        "lifecycle.hold": [{"scope": scope, **WHY} for scope in SCOPES[:1]],
        "lifecycle.release": [{"hold": 20, **WHY}],
        "lifecycle.retain": [{"keep_at_least_ms": 1, **WHY}, WHY],
        "lifecycle.request": [
            {"conversation": TALKING, "transition": transition, **WHY} for transition in ("archive", "restore")
        ],
        "lifecycle.apply_retention": [{"requester": "who"}],
        "transcripts.redact": [
            {
                "conversation": TALKING,
                "passage": passage,
                "views": [view],
                "requester": "who",
                "reason": RedactionReason.OTHER,
                "note": "why",
            }
            for view in View
        ],
        "redactions.apply": [
            {"sought": {"text": "zephyr"}, "token": "x", "views": [view], "reason": "legal", "requester": "who"}
            for view in View
        ],
        "conversations.describe": [{"conversation": {"conversation": name}, "title": "t"} for name in (TALK, "hush")],
        "memory.forget": [
            {"subject": "ada", "target": target, "dry_run": dry_run, **WHY}
            for target in ({"words": "zephyr"}, {"item": "i-2"})
            for dry_run in (True, False)
        ],
        "transcripts.commit_many": [{"turns": [new | {"turn": "first"}, new | {"turn": "turn-1"}]}],
        "transcripts.commit": [{"turn": new}, {"turn": new | {"turn": "turn-1"}}],
        "lifecycle.erase": [{"scope": scope, "with_memory": True, **WHY} for scope in SCOPES],
        "approvals.require": [{"acts": ["reveal"], **WHY}],
        "system.close": [{}],
    }


def reports(runtime: Runtime, operation: Operation, given: dict[str, Any]) -> Iterator[str]:
    """Yield the report of a request as text, or the error, as a transport sends it."""
    upload = None if operation.upload is None else io.BytesIO(b'{"messages": [{"role": "user", "content": "hi"}]}\n')
    group = getattr(runtime, operation.group)
    try:
        report = perform(group, operation, bound(operation, given), upload)
    except MunimentError as error:
        yield json.dumps(error.report())
    else:
        told = msgspec.json.encode(report).decode()
        yield told
        if isinstance(report, AttachmentRange):
            yield report.data.decode()
        for found in re.findall(r"Wy[A-Za-z0-9_-]{60,}", told):  # what evidence discloses
            with contextlib.suppress(ValueError):
                yield unb64url(found).decode()


ACCESSES = [
    (views, policies)
    for views in (frozenset[View](), *(frozenset({view}) for view in View))
    for policies in (*(frozenset({policy}) for policy in Policy), frozenset[Policy]())
]


@pytest.mark.slow
@pytest.mark.parametrize(("views", "policies"), ACCESSES, ids=[f"{'+'.join(v)}-{'+'.join(p)}" for v, p in ACCESSES])
def test_no_report_shows_what_the_access_should_not_see(
    views: frozenset[View], policies: frozenset[Policy], tmp_path: Path
) -> None:
    """Everything but what the right to reveal is for: that is another right, and the next test is about it."""
    world = full_world()
    effects = frozenset(Effect) - {Effect.REVEAL}
    runtime = world.runtime.restricted(Access(effects=effects, views=views, policies=policies))
    hidden = {RAW, AUDIT} if Policy.NO_DEBUG_REPLAY in policies else NOBODY
    unseen = [word for word, shown_to in CANARIES.items() if not shown_to & (views - hidden)]
    asked_of, operations = requests(tmp_path), {each.path: each for each in catalogue()}
    assert set(asked_of) == set(operations)
    seen: dict[str, str] = {}
    with contextlib.closing(world):
        for path, all_given in asked_of.items():
            for given in all_given:
                for text in reports(runtime, operations[path], given):
                    for word in unseen:
                        if word in text and word not in json.dumps(given):
                            seen[word] = f"{path} {given}"
    assert seen == {}


@pytest.mark.parametrize("view", View)
def test_each_canary_can_be_seen_by_whom_it_is_for(view: View) -> None:
    """The law above would hold of a world without canaries."""
    world = full_world()
    with contextlib.closing(world):
        runtime = world.runtime.restricted(Access(views=frozenset({view})))
        told = [runtime.transcripts.replay(key_of(name), view) for name in (TALK, "hush")]
        shown = msgspec.json.encode(told).decode()
        for place in (msgspec.convert(place, AttachmentPlace) for place in PLACES):
            with contextlib.suppress(WordsErased):
                shown += runtime.attachments.read(key_of(FILES), place, view).data.decode()
        shown += msgspec.json.encode(runtime.memory.list_(SubjectId("ada"), view)).decode()
        shown += msgspec.json.encode(runtime.memory.show("i-1", view)).decode()
        shown += msgspec.json.encode(runtime.notebook.proposals(SubjectId("ada"), view)).decode()
        shown += msgspec.json.encode(runtime.tools.show("desk", view)).decode()
        shown += msgspec.json.encode(runtime.tools.hints(SubjectId("ada"), view)).decode()
        shown += msgspec.json.encode(runtime.skills.show(SubjectId("ada"), SKILL["name"], view)).decode()
        if view in {RAW, AUDIT}:
            shown += msgspec.json.encode(runtime.evidence.links(conversation=key_of())).decode()
    assert {word for word in CANARIES if word in shown} == {word for word, views in CANARIES.items() if view in views}


def test_a_policy_hides_links_and_what_was_revealed() -> None:
    """Whatever the rights are: what a policy hides is refused as hidden."""
    world = full_world()
    with contextlib.closing(world):
        runtime = world.runtime.restricted(Access(policies=frozenset({Policy.NO_DEBUG_REPLAY})))
        for path, given in (("evidence.links", {"conversation": TALKING}), ("disclosure.reveal", {**TURN, **WHY})):
            [operation] = [each for each in catalogue() if each.path == path]
            (text,) = reports(runtime, operation, given)
            assert json.loads(text)["code"] == "capability.hidden"
        assert world.request(Transition.MASK).changed
