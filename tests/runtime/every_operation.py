"""A call of every operation that needs the key of a space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from muniment.events.archive import ArchiveScope, ScopeKind
from muniment.events.changes import Action, RedactionReason, Transition
from muniment.events.identity import TurnId
from muniment.events.memory_governance import PolicyAction
from muniment.events.references import Plane
from muniment.governance.views import View
from muniment.memory.amendment import PinItem
from muniment.memory.skills import EditSkill
from muniment.operations.attachments import AttachmentPlace
from muniment.operations.conversations.activity import TimeRange
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.notebook.decide_report import ProposalVerdict
from muniment.operations.notebook.policy_requests import MemorySelector
from muniment.operations.provenance.derivations import Derivation
from muniment.operations.redactions.found_places import SoughtText
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from tests.memory.items import candidate
from tests.memory.tools import feedback, registry
from tests.runtime.custody import approval_calls
from tests.turns import SUBJECT, plain_turn
from tests.worlds import key_of

NO_PATH = "no\0path"  # of a file that can be neither read nor written
SHARED = ArchiveScope(kind=ScopeKind.SHARED)

ALL_MEMORY = MemorySelector(everything=True)


def with_files(runtime: Runtime) -> dict[str, Callable[[], Any]]:
    """Return a call of every operation about attachments."""
    key, place = key_of(), AttachmentPlace(turn=TurnId("turn-1"), message=0, part=0)
    return {
        "attachments.add": lambda: runtime.attachments.add(b"file"),
        "attachments.read": lambda: runtime.attachments.read(key, place),
        "attachments.save": lambda: runtime.attachments.save(key, place, NO_PATH),
    }


def about_memory(runtime: Runtime) -> dict[str, Callable[[], Any]]:
    """Return a call of every operation about memory."""
    memory = runtime.memory
    return {
        "memory.remember": lambda: memory.remember([candidate(id="i-1")], "who"),
        "memory.recall": lambda: memory.recall(SUBJECT, "question"),
        "memory.list": lambda: memory.list_(SUBJECT, View.HOST_UI),
        "memory.show": lambda: memory.show("i-1", View.HOST_UI),
        "memory.prompt": lambda: memory.prompt(SUBJECT, 100),
        "memory.journal": lambda: memory.journal(SUBJECT),
        "memory.import": lambda: memory.import_(b"- a note", SUBJECT, "who"),
        "memory.amend": lambda: memory.amend("i-1", PinItem(), "why", "who"),
        "memory.forget": lambda: memory.forget(SUBJECT, ForgetTarget(item="i-1"), "why", "who"),
    } | about_notebooks(runtime)


def about_notebooks(runtime: Runtime) -> dict[str, Callable[[], Any]]:
    """Return a call of every operation that governs memory."""
    notebook = runtime.notebook
    return {
        "notebook.set_policy": lambda: notebook.set_policy(PolicyAction.PAUSE, "why", "who", ALL_MEMORY),
        "notebook.policies": notebook.policies,
        "notebook.propose": lambda: notebook.propose([candidate("A", topic="t", id="p-1")], "why", "who"),
        "notebook.proposals": lambda: notebook.proposals(SUBJECT, View.HOST_UI),
        "notebook.decide": lambda: notebook.decide("p-1", ProposalVerdict.REJECT, "why", "who"),
        "notebook.undo": lambda: notebook.undo("night-1", "why", "who"),
    }


def about_skills(runtime: Runtime) -> dict[str, Callable[[], Any]]:
    """Return a call of every operation about skills and tools."""
    skills, tools, named = runtime.skills, runtime.tools, (SUBJECT, "runtime_skill__use_the_lift")
    return {
        "skills.list": lambda: skills.list_(SUBJECT),
        "skills.show": lambda: skills.show(*named),
        "skills.edit": lambda: skills.edit(*named, EditSkill(title="t"), "why", "who"),
        "skills.enable": lambda: skills.enable(*named, "why", "who"),
        "skills.disable": lambda: skills.disable(*named, "why", "who"),
        "skills.retire": lambda: skills.retire(*named, "why", "who"),
        "skills.restore": lambda: skills.restore(*named, "why", "who"),
        "skills.mounted": skills.mounted,
        "tools.register": lambda: tools.register(registry(), "who"),
        "tools.list": tools.list_,
        "tools.show": lambda: tools.show("desk"),
        "tools.remove": lambda: tools.remove("desk", "why", "who"),
        "tools.feedback": lambda: tools.feedback(SUBJECT, feedback(), "who"),
        "tools.hints": lambda: tools.hints(SUBJECT),
    }


def about_the_store(runtime: Runtime) -> dict[str, Callable[[], Any]]:
    """Return a call of every operation about spaces, archives and the system."""
    key = key_of()
    return {
        "spaces.usage": runtime.spaces.usage,
        "clients.create": lambda: runtime.clients.create("desk"),
        "clients.list": runtime.clients.list_,
        "clients.rotate": lambda: runtime.clients.rotate("desk"),
        "clients.revoke": lambda: runtime.clients.revoke("desk"),
        "spaces.rotate": runtime.spaces.rotate,
        "spaces.replace_signer": runtime.spaces.replace_signer,
        "spaces.list": runtime.spaces.list_,
        "spaces.import": lambda: runtime.spaces.import_("nowhere.jsonl"),
        "spaces.export": lambda: runtime.spaces.export(key),
        "spaces.backup": lambda: runtime.spaces.backup(NO_PATH),
        "spaces.restore": lambda: runtime.spaces.restore(NO_PATH),
        "archives.export": lambda: runtime.archives.export(NO_PATH, SHARED),
        "archives.inspect": lambda: runtime.archives.inspect(NO_PATH),
        "archives.import": lambda: runtime.archives.import_(NO_PATH, SHARED),
        "system.health": runtime.system.health,
        "system.recover": runtime.system.recover,
        "system.import_model": lambda: runtime.system.import_model(NO_PATH),
        "system.reembed": runtime.system.reembed,
    }


def everything(runtime: Runtime) -> dict[str, Callable[[], Any]]:
    """Return a call of every operation that needs the key."""
    key, scope, first = key_of(), Scope(conversation=key_of().conversation), Passage(turn=TurnId("turn-1"))
    return (
        with_files(runtime)
        | about_memory(runtime)
        | about_skills(runtime)
        | about_the_store(runtime)
        | {
            "transcripts.commit": lambda: runtime.transcripts.commit(plain_turn(1)),
            "transcripts.commit_many": lambda: runtime.transcripts.commit_many([plain_turn(1)]),
            "transcripts.replay": lambda: runtime.transcripts.replay(key),
            "transcripts.latest": lambda: runtime.transcripts.latest(key),
            "transcripts.timeline": lambda: runtime.transcripts.timeline(key),
            "conversations.activity": lambda: runtime.conversations.activity([TimeRange(from_ms=0, until_ms=1)]),
            "conversations.list": runtime.conversations.list_,
            "conversations.resolve": lambda: runtime.conversations.resolve("talk"),
            "conversations.changed": lambda: runtime.conversations.changed(key),
            "conversations.describe": lambda: runtime.conversations.describe(key, "a title"),
            "events.read": runtime.events.read,
            "subjects.list": runtime.subjects.list_,
            "subjects.inspect": lambda: runtime.subjects.inspect(SUBJECT, View.HOST_UI),
            "subjects.export": lambda: runtime.subjects.export(SUBJECT),
            "transcripts.search": lambda: runtime.transcripts.search("question"),
            "transcripts.context": lambda: runtime.transcripts.context(key, 100),
            "transcripts.redact": lambda: runtime.transcripts.redact(
                key, first, [View.EXPORT], RedactionReason.LEGAL, "w"
            ),
            "redactions.find": lambda: runtime.redactions.find(SoughtText(text="question 0001")),
            "redactions.apply": lambda: runtime.redactions.apply(
                SoughtText(text="question 0001"), "token", RedactionReason.LEGAL, "who"
            ),
            "transcripts.annotate": lambda: runtime.transcripts.annotate(key, []),
            "lifecycle.request": lambda: runtime.lifecycle.request(key, Transition.MASK, "why", "who"),
            "lifecycle.review": lambda: runtime.lifecycle.review(Action.HOLD, scope),
            "lifecycle.hold": lambda: runtime.lifecycle.hold(scope, "why", "who"),
            "lifecycle.release": lambda: runtime.lifecycle.release(3, "why", "who"),
            "lifecycle.erase": lambda: runtime.lifecycle.erase(scope, "why", "who"),
            "lifecycle.retain": lambda: runtime.lifecycle.retain("why", "who", keep_at_least_ms=1),
            "lifecycle.apply_retention": lambda: runtime.lifecycle.apply_retention("who"),
            "lifecycle.receipts": lambda: runtime.lifecycle.receipts(key),
            "lifecycle.certificate": lambda: runtime.lifecycle.certificate(3),
            "evidence.checkpoint": runtime.evidence.checkpoint,
            "evidence.prove": lambda: runtime.evidence.prove(key, TurnId("turn-1")),
            "evidence.export": lambda: runtime.evidence.export(key),
            "evidence.disclosures": runtime.evidence.disclosures,
            "disclosure.reveal": lambda: runtime.disclosure.reveal(key, TurnId("turn-1"), "why", "who"),
            **approval_calls(runtime),
            "evidence.links": lambda: runtime.evidence.links(conversation=key),
            "evidence.inspect": runtime.evidence.inspect,
            "evidence.explain": lambda: runtime.evidence.explain("turn-1"),
            "tables.query": lambda: runtime.tables.query("SELECT 1"),
            "provenance.record": lambda: runtime.provenance.record(
                [Derivation(plane=Plane.LONG_TERM, key="k", subject=SUBJECT, conversation=key, turn=TurnId("turn-1"))]
            ),
        }
    )
