"""Foreign routes, each with the operation that it means and the names that its members have here. Data.

A member that is listed nowhere is refused, as in every request. What is `ignored` says how a foreign program runs its
own machine, and means nothing here. `subject` and `requester` of an operation follow from the client key unless the
request names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Members(Struct, frozen=True, kw_only=True):
    """The members of a foreign object: what each is called here (with dots between the members of ours).

    `fixed` are members of ours, unless the foreign object says them itself. An `is_open` one may have any others, which
    stay what they are. One `of_subject` is about the subject of the client key, unless it names one.
    """

    named: Mapping[str, str | Within] = {}
    ignored: frozenset[str] = frozenset()
    fixed: Mapping[str, Any] = {}
    is_open: bool = False
    of_subject: bool = False


class Within(Struct, frozen=True, kw_only=True):
    """A member that holds an object, or a list of them, with members of their own."""

    name: str
    members: Members


class TextBound(Struct, frozen=True, kw_only=True):
    """A bound in characters, where ours is in tokens: which member says it, which of ours follows, what has to fit."""

    asked: str
    budget: str
    measured: str


class Alias(Struct, frozen=True, kw_only=True):
    """A foreign route and the operation (`group.verb`) that it means.

    `kind` is what its answers call themselves. Of several with one route, the one counts whose `when` is a member of
    the request. `whole` is the foreign name of the body where it has none. `place` is the member of ours that the last
    part of the path says; where the body says it too (`also_in`, with a dot), it must say the same.
    """

    method: str
    path: str
    operation: str
    kind: str
    members: Members = Members()
    when: str | None = None
    whole: str | None = None
    place: str | None = None
    also_in: str | None = None
    bound: TextBound | None = None


PLACE = "/{id}"  # ends the path of a route that is about one thing
RUNNING = frozenset({"mode_input", "pressure", "source", "trigger"})  # how the foreign program runs
REGISTRY = Members(named={"registry_id": "registry", "fingerprint": "fingerprint", "scope": "scope"})
REGISTRIES = Within(name="registries", members=REGISTRY)
CONVERSATION = {
    "chat_id": "conversation.conversation",
    "conversation_id": "conversation.conversation",
    "channel_id": "conversation.channel",
    "channel": "conversation.channel",
}
CHANGE = {"reason": "reason", "requester": "requester", "dry_run": "dry_run"}
SKILL = Members(
    named={name: name for name in ("name", "topic", "title", "summary", "evidence")} | {"content": "text"},
    of_subject=True,
    fixed={
        "plane": "runtime_skill",
        "kind": "procedure",
        "attested": True,
        "judgement": {"decision": "accept"},
    },
)
FEEDBACK = Members(
    named={
        "registry_ref": Within(name="registry", members=REGISTRY),
        "observations": Within(
            name="observations",
            members=Members(
                named={"tool_id": "tool", "outcome": "outcome", "summary": "summary"},
                ignored=frozenset({
                    "observation_id", "registry_id", "schema_fingerprint", "call_id", "task_signature", "error_code",
                    "external_content", "private_content_used", "permission_tags", "risk_tags", "started_at",
                    "completed_at",
                }),
            ),
        ),
        "evidence": "evidence",
        "user_visible_result_summary": "visible_result",
        "reuse_outcome": "reuse",
        "operator_note": "note",
    }
)  # fmt: skip
SNAPSHOT = Members(
    named={
        "registry_id": "registry",
        "namespace": "namespace",
        "owner_id": "owner",
        "owner": "owner",
        "fingerprint": "fingerprint",
        "scope": "scope",
        "note": "note",
        "tools": Within(
            name="tools",
            members=Members(
                named={
                    "tool_id": "tool",
                    "display_name": "display_name",
                    "schema_fingerprint": "schema_fingerprint",
                    "descriptor_fingerprint": "descriptor_fingerprint",
                    "version": "version",
                    "permission_tags": "permissions",
                    "risk_tags": "risks",
                    "groups": "groups",
                    "disabled": "disabled",
                },
            ),
        ),
    },
    ignored=frozenset({"updated_at"}),
)
TURN = Members(
    named={"turn_id": "turn", "conversation_id": "conversation", "chat_id": "chat", "channel_id": "channel"},
    is_open=True,
    of_subject=True,
)

ALIASES: tuple[Alias, ...] = (
    Alias(method="GET", path="/memory/profile/capabilities", operation="system.capabilities", kind="capabilities"),
    Alias(
        method="POST", path="/memory/write", operation="memory.remember", kind="write", when="candidates",
        members=Members(
            named={
                "candidates": Within(name="candidates", members=Members(is_open=True, of_subject=True)),
                "requester": "requester", "run": "run", "dry_run": "dry_run",
            },
            ignored=RUNNING,
        ),
    ),
    Alias(
        method="POST", path="/memory/write", operation="memory.remember", kind="write", when="writes",
        members=Members(
            named={"writes": Within(name="candidates", members=SKILL), "requester": "requester"}, ignored=RUNNING
        ),
    ),
    Alias(
        method="POST", path="/memory/write", operation="tools.feedback", kind="write", when="tool_usage_feedback",
        members=Members(
            named={
                "tool_usage_feedback": Within(name="feedback", members=FEEDBACK),
                "subject": "subject",
                "requester": "requester",
            },
            ignored=RUNNING,
        ),
    ),
    Alias(
        method="POST", path="/memory/recall", operation="memory.recall", kind="recall",
        members=Members(
            named={
                "query": "query", "limit": "limit", "view": "view", "subject": "subject",
                "tool_registry_refs": REGISTRIES, "chat_id": "scope.conversation", "channel_id": "scope.channel",
            },
            ignored=RUNNING,
        ),
    ),
    Alias(
        method="POST", path="/memory/project", operation="memory.prompt", kind="project",
        members=Members(
            named={
                "query": "query", "user_query": "query", "view": "view", "subject": "subject",
                "recent_messages_limit": "composition.recent_messages", "tool_registry_refs": REGISTRIES,
                "chat_id": "composition.conversation", "channel_id": "composition.channel",
            },
            ignored=RUNNING,
        ),
        bound=TextBound(asked="system_max_len", budget="budget_tokens", measured="chars"),
    ),
    Alias(
        method="POST", path="/memory/inspect", operation="subjects.inspect", kind="inspect",
        members=Members(
            named={"query": "query", "system_max_len": "length_max", "view": "view", "subject": "subject"},
            ignored=RUNNING,
            fixed={"view": "host_ui"},
        ),
    ),
    Alias(
        method="POST", path="/memory/replay", operation="transcripts.replay", kind="replay",
        members=Members(
            named={**CONVERSATION, "limit": "limit", "cursor": "cursor", "view": "view"}, ignored=RUNNING
        ),
    ),
    Alias(
        method="POST", path="/memory/export", operation="spaces.export", kind="export",
        members=Members(named={**CONVERSATION, "format": "format", "view": "view"}, ignored=RUNNING),
    ),
    Alias(
        method="POST", path="/memory/finalize-turn", operation="transcripts.commit", kind="finalize_turn",
        members=Members(named={"turn": Within(name="turn", members=TURN)}, ignored=RUNNING),
    ),
    Alias(
        method="POST", path="/memory/recover", operation="system.recover", kind="recover",
        members=Members(ignored=RUNNING),
    ),
    Alias(
        method="POST", path="/memory/long-term/list", operation="memory.list", kind="long_term_list",
        members=Members(
            named={
                "query": "selection", "selection": "selection", "limit": "limit", "cursor": "after", "view": "view",
                "subject": "subject",
            },
            fixed={"view": "host_ui", "limit": 20},
        ),
    ),
    Alias(
        method="POST", path="/memory/long-term/detail", operation="memory.show", kind="long_term_detail",
        members=Members(named={"target": "item", "view": "view"}, fixed={"view": "host_ui"}),
    ),
    Alias(
        method="POST", path="/memory/long-term/mutate", operation="memory.amend", kind="long_term_mutate",
        members=Members(
            named={"target": "item", "operation": "amendment", "expected_revision": "expected", **CHANGE},
            ignored=RUNNING,
        ),
    ),
    Alias(
        method="POST", path="/memory/long-term/policy", operation="notebook.set_policy", kind="long_term_policy",
        members=Members(
            named={
                "operation": "action", "selector": "selector", "until_ms": "until_ms", "reason": "reason",
                "requester": "requester",
            },
            ignored=RUNNING,
        ),
    ),
    Alias(
        method="POST", path="/memory/transcript/attrs", operation="transcripts.annotate", kind="transcript_attrs",
        members=Members(
            named={
                **CONVERSATION, "attrs": "attributes", "dry_run": "dry_run", "idempotency_key": "idempotency_key",
            },
            ignored=RUNNING,
        ),
    ),
    Alias(
        method="PUT", path="/agent-tool-registries" + PLACE, operation="tools.register", kind="tool_registry",
        members=Members(named={"snapshot": Within(name="snapshot", members=SNAPSHOT)}),
        whole="snapshot", place="snapshot.registry", also_in="snapshot.registry_id",
    ),
    Alias(method="GET", path="/agent-tool-registries", operation="tools.list", kind="tool_registries"),
    Alias(
        method="GET", path="/agent-tool-registries" + PLACE, operation="tools.show", kind="tool_registry",
        place="registry",
    ),
    Alias(
        method="DELETE", path="/agent-tool-registries" + PLACE, operation="tools.remove", kind="tool_registry",
        members=Members(fixed={"reason": "deleted"}), place="registry",
    ),
)  # fmt: skip
