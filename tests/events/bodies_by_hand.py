"""Bodies of every kind of event, and the canonical JSON of their fields letter by letter, worked out by hand.

Nothing of muniment is imported. What a release has written stays here as it is: new bodies come beside it.
"""

from __future__ import annotations

from tests.by_hand import Vector, made

ACTOR = {
    "speaker_id": "ada", "speaker_kind": "person", "subject": "ada", "acting_subject": "bob", "mounted_subject": "cy",
    "agent_id": "agent", "trigger": "mail",
}  # fmt: skip
SOURCE = {
    "ingress": "system", "channel": "mail", "provider": "prov", "protocol": "openai_responses", "endpoint": "/v1",
    "model_alias": "fast", "model": "fast-1", "request_id": "req-1", "conversation_hint": "hint",
}  # fmt: skip
TURN_META: Vector = {
    "actor": ACTOR,
    "delivery": {"turn": "rich", "status": "delivered"},
    "messages": [
        {"role": "system", "authority": "soul_governance"},
        {"role": "user", "speaker_id": "ada", "speaker_kind": "person", "observed_ms": 1_700_000_000_123},
        {"role": "assistant"},
        {"role": "tool", "authority": "runtime_observation"},
        {"role": "assistant"},
    ],
    "source": SOURCE,
    "tools": [{"id": "obs-1", "tool": "look"}, {"id": "obs-2", "tool": "fetch", "external": True}],
    "host_refs": [
        {"host": "crm", "type": "case", "id": "17", "relation": "origin", "visibility": "export"},
        {"host": "crm", "type": "person", "id": "größe/1", "relation": "related", "visibility": "internal"},
    ],
    "external": True,
    "candidates": ["candidate-1", "candidate-2"],
}
ARGUMENTS: Vector = {
    "\ufb33": 1,  # by code units it is behind the next one, by code points before it
    "\U0001f600": 1e21,
    "größe": 1.5,
    "whole": 3.0,
    "numbers": [-0.0, 1e-6, 1e-7, 333333333.33333329, 9007199254740993, -9223372036854775808, 18446744073709551615],
    "deep": [None, True, {"a/b": '"\\\u000f\n\u20ac\u007f'}],
}
TURN_CONTENT: Vector = {
    "parts": [
        [{"type": "text", "content": "Be kind."}],
        [{"type": "text", "content": 'Größe? "17"\\\t\u2028\U0001f600'}, {"type": "text", "content": ""}],
        [
            {"type": "reasoning", "content": "I will look."},
            {"type": "tool_call", "name": "look", "id": "call-1", "arguments": ARGUMENTS},
            {"type": "tool_call", "name": "list"},
        ],
        [
            {"type": "tool_call_response", "response": {"z": [1, "two"], "a": None}, "id": "call-1"},
            {"type": "tool_call_response", "response": 0.5},
        ],
        [
            {"type": "blob", "content": b"\x00\xff\xfebytes", "mime_type": "image/png", "modality": "image"},
            {"type": "file", "file_id": "file-1", "mime_type": "text/plain", "modality": "text"},
            {"type": "uri", "uri": "https://example.org/a?b=c", "mime_type": "text/html", "modality": "text"},
        ],
    ],
    "digest": made("digest of the turn", 32),
    "summaries": ["It was found.", ""],
    "labels": ["Case Größe", None],
}

# label -> canonical JSON of its value, letter by letter
TURN_META_FIELDS = {
    "actor": '{"acting_subject":"bob","agent_id":"agent","mounted_subject":"cy","speaker_id":"ada",'
    '"speaker_kind":"person","subject":"ada","trigger":"mail"}',
    "candidates": '["candidate-1","candidate-2"]',
    "delivery": '{"status":"delivered","turn":"rich"}',
    "external": "true",
    "host_ref/0": '{"host":"crm","id":"17","relation":"origin","type":"case","visibility":"export"}',
    "host_ref/1": '{"host":"crm","id":"größe/1","relation":"related","type":"person","visibility":"internal"}',
    "message/0": '{"authority":"soul_governance","role":"system"}',
    "message/1": '{"observed_ms":1700000000123,"role":"user","speaker_id":"ada","speaker_kind":"person"}',
    "message/2": '{"role":"assistant"}',
    "message/3": '{"authority":"runtime_observation","role":"tool"}',
    "message/4": '{"role":"assistant"}',
    "source": '{"channel":"mail","conversation_hint":"hint","endpoint":"/v1","ingress":"system","model":"fast-1",'
    '"model_alias":"fast","protocol":"openai_responses","provider":"prov","request_id":"req-1"}',
    "tools": '[{"id":"obs-1","tool":"look"},{"external":true,"id":"obs-2","tool":"fetch"}]',
}
TURN_CONTENT_FIELDS = {
    "host_ref/0/label": '"Case Größe"',
    "message/0/content/0": '{"content":"Be kind.","type":"text"}',
    "message/1/content/0": '{"content":"Größe? \\"17\\"\\\\\\t\u2028\U0001f600","type":"text"}',
    "message/1/content/1": '{"content":"","type":"text"}',
    "message/2/content/0": '{"content":"I will look.","type":"reasoning"}',
    "message/2/content/1": '{"arguments":{"deep":[null,true,{"a/b":"\\"\\\\\\u000f\\n\u20ac\u007f"}],"größe":1.5,'
    '"numbers":[0,0.000001,1e-7,333333333.3333333,9007199254740993,-9223372036854775808,18446744073709551615],'
    '"whole":3,"\U0001f600":1e+21,"\ufb33":1},"id":"call-1","name":"look","type":"tool_call"}',
    "message/2/content/2": '{"name":"list","type":"tool_call"}',
    "message/3/content/0": '{"id":"call-1","response":{"a":null,"z":[1,"two"]},"type":"tool_call_response"}',
    "message/3/content/1": '{"response":0.5,"type":"tool_call_response"}',
    "message/4/content/0": '{"content":"AP/+Ynl0ZXM=","mime_type":"image/png","modality":"image","type":"blob"}',
    "message/4/content/1": '{"file_id":"file-1","mime_type":"text/plain","modality":"text","type":"file"}',
    "message/4/content/2": '{"mime_type":"text/html","modality":"text","type":"uri","uri":"https://example.org/a?b=c"}',
    "tools/0/summary": '"It was found."',
    "tools/1/summary": '""',
}

# --- every other kind, and the usual turn -----------------------------------------------------------------------------

USUAL_META: Vector = {
    "actor": {"subject": "ada"},
    "delivery": {"turn": "turn-1", "status": "user_only"},
    "messages": [{"role": "user"}],
}
USUAL_CONTENT: Vector = {"parts": [[{"type": "text", "content": "Hello."}]], "digest": made("usual digest", 32)}
# what is left of a turn of which the first message was erased, with the salt of each label that is left
LEFT_CONTENT: Vector = {"parts": [[], [{"type": "text", "content": "Hello."}]], "digest": b""}
LEFT_SALTS = {"message/1/content/0": made("salt of what is left", 32)}
# name of the file -> kind, body, canonical JSON of its fields
BODIES: dict[str, tuple[str, Vector, dict[str, str]]] = {
    "space_opened": ("space.opened", {"name": "größe"}, {"name": '"größe"'}),
    "conversation_opened": (
        "conversation.opened",
        {"channel": "mail", "conversation": "talk"},
        {"channel": '"mail"', "conversation": '"talk"'},
    ),
    "alias_recorded": (
        "alias.recorded",
        {"subject": "ada", "channel": "mail", "chat": "chat-7"},
        {"channel": '"mail"', "chat": '"chat-7"', "subject": '"ada"'},
    ),
    "turn_committed": ("turn.committed", TURN_META, TURN_META_FIELDS),
    "turn_committed_usual": (
        "turn.committed",
        USUAL_META,
        {
            "actor": '{"subject":"ada"}',
            "delivery": '{"status":"user_only","turn":"turn-1"}',
            "message/0": '{"role":"user"}',
        },
    ),
    "turn_lifecycle": (
        "turn.lifecycle",
        {"request": {"requester": "operator", "requested_ms": 1_700_000_000_000}},
        {"request": '{"requested_ms":1700000000000,"requester":"operator"}'},
    ),
    "turn_lifecycle_of_a_subject": (
        "turn.lifecycle",
        {"request": {"requester": "o", "requested_ms": 1, "subject": "größe"}},
        {"request": '{"requested_ms":1,"requester":"o","subject":"größe"}'},
    ),
    "policy_set": (
        "policy.set",
        {
            "policy": {"channel": "mail", "conversation": "talk", "keep_at_least_ms": 1, "erase_after_ms": 2**40},
            "request": {"reason": "the law", "requester": "counsel", "requested_ms": 1_700_000_000_000},
        },
        {
            "policy": '{"channel":"mail","conversation":"talk","erase_after_ms":1099511627776,"keep_at_least_ms":1}',
            "request": '{"reason":"the law","requested_ms":1700000000000,"requester":"counsel"}',
        },
    ),
    "policy_set_back": (
        "policy.set",
        {"policy": {}, "request": {"reason": "r", "requester": "o", "requested_ms": 1}},
        {"policy": "{}", "request": '{"reason":"r","requested_ms":1,"requester":"o"}'},
    ),
    "space_erased": (
        "space.erased",
        {"request": {"reason": "asked for", "requester": "operator", "requested_ms": 1_700_000_000_000}},
        {"request": '{"reason":"asked for","requested_ms":1700000000000,"requester":"operator"}'},
    ),
    "turn_redacted": (
        "turn.redacted",
        {
            "target": {"message": 1, "part": 0},
            "views": ["export", "host_ui"],
            "request": {"requester": "operator", "requested_ms": 1_700_000_000_000},
        },
        {
            "request": '{"requested_ms":1700000000000,"requester":"operator"}',
            "target": '{"message":1,"part":0}',
            "views": '["export","host_ui"]',
        },
    ),
    "turn_redacted_whole": (
        "turn.redacted",
        {"target": {}, "views": [], "request": {"requester": "o", "requested_ms": 0}},
        {"request": '{"requested_ms":0,"requester":"o"}', "target": "{}", "views": "[]"},
    ),
    "turn_redacted_field": (
        "turn.redacted",
        {
            "target": {"field": "tools/0/summary"},
            "views": ["raw_owner"],
            "request": {"requester": "o", "requested_ms": 1},
        },
        {
            "request": '{"requested_ms":1,"requester":"o"}',
            "target": '{"field":"tools/0/summary"}',
            "views": '["raw_owner"]',
        },
    ),
    "attr_recorded": (
        "attr.recorded",
        {
            "attribute": {
                "id": "größe/1",
                "key": "host.billing.token-count_2",
                "kind": "object",
                "created_ms": 1_700_000_000_000,
                "updated_ms": 1_700_000_000_001,
                "message": 4,
                "schema": "usage/1",
            },
            "source": {
                "writer": "gateway",
                "kind": "gateway_counted",
                "written_ms": 1_700_000_000_002,
                "request": "write-7",
            },
            "visibility": "operator_audit",
            "governance": {
                "value_bytes_max": 300,
                "policy": "operator_audit_only_after_mask",
                "export_allowed": True,
            },
        },
        {
            "attribute": '{"created_ms":1700000000000,"id":"größe/1","key":"host.billing.token-count_2",'
            '"kind":"object","message":4,"schema":"usage/1","updated_ms":1700000000001}',
            "governance": '{"export_allowed":true,"policy":"operator_audit_only_after_mask","value_bytes_max":300}',
            "source": '{"kind":"gateway_counted","request":"write-7","writer":"gateway","written_ms":1700000000002}',
            "visibility": '"operator_audit"',
        },
    ),
    "attr_recorded_usual": (
        "attr.recorded",
        {
            "attribute": {
                "id": "a",
                "key": "host.a.b",
                "kind": "number",
                "created_ms": 0,
                "updated_ms": 0,
            },
            "source": {"writer": "w", "kind": "unavailable", "written_ms": 0},
            "visibility": "internal",
            "governance": {},
        },
        {
            "attribute": '{"created_ms":0,"id":"a","key":"host.a.b","kind":"number","updated_ms":0}',
            "governance": "{}",
            "source": '{"kind":"unavailable","writer":"w","written_ms":0}',
            "visibility": '"internal"',
        },
    ),
    "ref_derived": (
        "ref.derived",
        {
            "plane": "long_term",
            "key": "größe/17",
            "subject": "ada",
            "source": {
                "space": "home",
                "channel": "mail",
                "conversation": "talk",
                "turn": "turn-1",
                "message": "turn-1#0",
                "subject": "ada",
                "authority": "user_asserted",
            },
            "created_ms": 1_700_000_000_000,
            "digest": "h2-Zp0hnoLe0rSXFWfGXBxhI1YaUe8sOgB5P0TMNyGM",
        },
        {
            "created_ms": "1700000000000",
            "digest": '"h2-Zp0hnoLe0rSXFWfGXBxhI1YaUe8sOgB5P0TMNyGM"',
            "key": '"größe/17"',
            "plane": '"long_term"',
            "source": '{"authority":"user_asserted","channel":"mail","conversation":"talk","message":"turn-1#0",'
            '"space":"home","subject":"ada","turn":"turn-1"}',
            "subject": '"ada"',
        },
    ),
    "ref_derived_range": (
        "ref.derived",
        {
            "plane": "soul_candidate_handoff",
            "key": "k",
            "subject": "s",
            "source": {"space": "h", "channel": "c", "conversation": "t", "turn": "t-1", "through": "t-9"},
            "created_ms": 0,
            "digest": "d",
        },
        {
            "created_ms": "0",
            "digest": '"d"',
            "key": '"k"',
            "plane": '"soul_candidate_handoff"',
            "source": '{"channel":"c","conversation":"t","space":"h","through":"t-9","turn":"t-1"}',
            "subject": '"s"',
        },
    ),
    "key_rotated": ("key.rotated", {"version": 300}, {"version": "300"}),
    "export_issued": (
        "export.issued",
        {"export": {"view": "export", "recipient": "court"}},
        {"export": '{"recipient":"court","view":"export"}'},
    ),
    "export_issued_to_nobody": (
        "export.issued",
        {"export": {"view": "raw_owner"}},
        {"export": '{"view":"raw_owner"}'},
    ),
    "space_restored": (
        "space.restored",
        {"restore": {"events": 7, "erased_again": 2, "former": "a\nnote\n"}},
        {"restore": '{"erased_again":2,"events":7,"former":"a\\nnote\\n"}'},
    ),
    "space_restored_with_nothing_lost": (
        "space.restored",
        {"restore": {"events": 300}},
        {"restore": '{"events":300}'},
    ),
    "signer_announced": ("signer.announced", {"announcement": "a\nnote\n"}, {"announcement": '"a\\nnote\\n"'}),
    "archive_exported": (
        "archive.exported",
        {"archive": {"scope": {"kind": "subject", "subject": "größe"}, "private": "include", "digest": "0f" * 32}},
        {"archive": '{"digest":"' + "0f" * 32 + '","private":"include","scope":{"kind":"subject","subject":"größe"}}'},
    ),
    "archive_imported": (
        "archive.imported",
        {
            "archive": {
                "scope": {"kind": "conversation", "channel": "mail", "conversation": "talk"},
                "private": "exclude",
                "digest": "0f" * 32,
                "mode": "restore",
                "into": "copy",
                "erased": 3,
            }
        },
        {
            "archive": '{"digest":"' + "0f" * 32 + '","erased":3,"into":"copy","mode":"restore","private":"exclude",'
            '"scope":{"channel":"mail","conversation":"talk","kind":"conversation"}}'
        },
    ),
    "archive_imported_usual": (
        "archive.imported",
        {
            "archive": {
                "scope": {"kind": "shared"},
                "private": "include",
                "digest": "0f" * 32,
                "mode": "bootstrap",
            }
        },
        {"archive": '{"digest":"' + "0f" * 32 + '","mode":"bootstrap","private":"include","scope":{"kind":"shared"}}'},
    ),
    "content_revealed": (
        "content.revealed",
        {
            "request": {"requester": "operator", "requested_ms": 1_700_000_000_000},
            "caller": {"views": ["export", "host_ui"], "subject": "ada"},
        },
        {
            "caller": '{"subject":"ada","views":["export","host_ui"]}',
            "request": '{"requested_ms":1700000000000,"requester":"operator"}',
        },
    ),
    "content_revealed_without_views": (
        "content.revealed",
        {"request": {"requester": "o", "requested_ms": 0}, "caller": {"views": []}},
        {"caller": '{"views":[]}', "request": '{"requested_ms":0,"requester":"o"}'},
    ),
    "context_issued": (
        "context.issued",
        {
            "context": {
                "view": "model_context",
                "shape": "anthropic",
                "budget_tokens": 8000,
                "tokens": 7990,
                "counter": "o200k_base",
                "messages": 12,
                "digest": "Zm91cnR5LXRocmVlIGNoYXJhY3RlcnMgb2YgYmFzZTY0",
                "quoted": [17, 4],
            },
            "caller": {"views": ["model_context"], "subject": "größe"},
        },
        {
            "caller": '{"subject":"größe","views":["model_context"]}',
            "context": '{"budget_tokens":8000,"counter":"o200k_base",'
            '"digest":"Zm91cnR5LXRocmVlIGNoYXJhY3RlcnMgb2YgYmFzZTY0","messages":12,"quoted":[17,4],'
            '"shape":"anthropic","tokens":7990,"view":"model_context"}',
        },
    ),
    "content_read": (
        "content.read",
        {
            "read": {
                "operation": "transcripts.search",
                "views": ["host_ui"],
                "turns": 4,
                "spans": [{"first": 2, "last": 4}],
                "found": [17],
            },
            "caller": {"views": ["host_ui"], "subject": "größe"},
        },
        {
            "caller": '{"subject":"größe","views":["host_ui"]}',
            "read": '{"found":[17],"operation":"transcripts.search","spans":[{"first":2,"last":4}],"turns":4,'
            '"views":["host_ui"]}',
        },
    ),
    "content_exported": (
        "content.exported",
        {
            "export": {"way": "bundle", "turns": 3, "view": "export", "recipient": "court"},
            "caller": {"views": ["export"]},
        },
        {
            "caller": '{"views":["export"]}',
            "export": '{"recipient":"court","turns":3,"view":"export","way":"bundle"}',
        },
    ),
    "content_exported_as_a_backup": (
        "content.exported",
        {"export": {"way": "backup"}, "caller": {"views": []}},
        {"caller": '{"views":[]}', "export": '{"way":"backup"}'},
    ),
    "context_issued_of_nothing": (
        "context.issued",
        {
            "context": {
                "view": "host_ui",
                "shape": "otel",
                "budget_tokens": 0,
                "tokens": 0,
                "counter": "estimate",
                "messages": 0,
            },
            "caller": {"views": []},
        },
        {
            "caller": '{"views":[]}',
            "context": '{"budget_tokens":0,"counter":"estimate","messages":0,"shape":"otel","tokens":0,'
            '"view":"host_ui"}',
        },
    ),
    "access_denied": (
        "access.denied",
        {"denial": {"operation": "disclosure.reveal", "right": "reveal", "since_ms": 1_700_000_000_000}},
        {"denial": '{"operation":"disclosure.reveal","right":"reveal","since_ms":1700000000000}'},
    ),
    "access_denied_often": (
        "access.denied",
        {
            "denial": {
                "operation": "evidence.export",
                "right": "raw_owner",
                "policy": "no_debug_replay",
                "subject": "größe",
                "attempts": 300,
                "since_ms": 1,
            }
        },
        {
            "denial": '{"attempts":300,"operation":"evidence.export","policy":"no_debug_replay","right":"raw_owner",'
            '"since_ms":1,"subject":"größe"}'
        },
    ),
}
CONTENTS: dict[str, tuple[str, Vector, dict[str, str]]] = {
    "turn_content": ("turn.committed", TURN_CONTENT, TURN_CONTENT_FIELDS),
    "turn_content_usual": (
        "turn.committed",
        USUAL_CONTENT,
        {"message/0/content/0": '{"content":"Hello.","type":"text"}'},
    ),
    "attr_content": (
        "attr.recorded",
        {
            "value": ARGUMENTS,
            "reason": "Größe of the bill",
            "links": [
                {"relation": "counts", "kind": "invoice", "id": "größe/17"},
                {"relation": "of", "kind": "memory", "id": "m-1"},
            ],
        },
        {
            "link/0": '{"id":"größe/17","kind":"invoice","relation":"counts"}',
            "link/1": '{"id":"m-1","kind":"memory","relation":"of"}',
            "reason": '"Größe of the bill"',
            "value": '{"deep":[null,true,{"a/b":"\\"\\\\\\u000f\\n\u20ac\u007f"}],"größe":1.5,'
            '"numbers":[0,0.000001,1e-7,333333333.3333333,9007199254740993,-9223372036854775808,18446744073709551615],'
            '"whole":3,"\U0001f600":1e+21,"\ufb33":1}',
        },
    ),
    "attr_content_usual": ("attr.recorded", {"value": False, "reason": "r"}, {"reason": '"r"', "value": "false"}),
}
