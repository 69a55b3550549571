"""Bodies of memory items and of what happens to them, and their canonical JSON, worked out by hand."""

from __future__ import annotations

from tests.by_hand import Vector

# name -> kind, body, canonical JSON of its fields by label
ITEMS: dict[str, tuple[str, Vector, dict[str, str]]] = {
    "notebook_opened": (
        "notebook.opened",
        {"subject": "größe", "plane": "runtime_skill"},
        {"plane": '"runtime_skill"', "subject": '"größe"'},
    ),
    "item_recorded": (
        "item.recorded",
        {
            "item": "größe/17",
            "kind": "preference",
            "writer": "host",
            "observed_ms": 1_700_000_000_000,
            "confidence": 900,
            "importance": 250,
            "privacy": "public_runtime",
            "source_type": "manual_tool",
            "scope": "world",
            "freshness": "volatile",
            "pinned": True,
            "expires_ms": 1_700_086_400_000,
            "evidence": [{"space": "home", "channel": "mail", "conversation": "talk", "turn": "turn-1"}],
            "run": "night-1",
            "entry": {
                "role": "proposal",
                "slot": "0a1b",
                "audience": {"only": ["bob", "cy"]},
                "named": {
                    "name": "desk 1a2b search",
                    "tool": {"registry": "desk", "fingerprint": "1a2b", "tool": "search"},
                    "observations": {"succeeded": 2},
                },
            },
        },
        {
            "confidence": "900",
            "evidence": '[{"channel":"mail","conversation":"talk","space":"home","turn":"turn-1"}]',
            "expires_ms": "1700086400000",
            "freshness": '"volatile"',
            "importance": "250",
            "item": '"größe/17"',
            "kind": '"preference"',
            "observed_ms": "1700000000000",
            "pinned": "true",
            "privacy": '"public_runtime"',
            "run": '"night-1"',
            "scope": '"world"',
            "source_type": '"manual_tool"',
            "entry": '{"audience":{"only":["bob","cy"]},"named":{"name":"desk 1a2b search",'
            '"observations":{"succeeded":2},"tool":{"fingerprint":"1a2b","registry":"desk","tool":"search"}},'
            '"role":"proposal","slot":"0a1b"}',
            "writer": '"host"',
        },
    ),
    "item_recorded_usual": (
        "item.recorded",
        {"item": "i-1", "kind": "fact", "writer": "host", "observed_ms": 0, "confidence": 700},
        {
            "confidence": "700",
            "evidence": "[]",
            "expires_ms": "0",
            "freshness": '"stable"',
            "importance": "500",
            "item": '"i-1"',
            "kind": '"fact"',
            "observed_ms": "0",
            "pinned": "false",
            "privacy": '"shared_with_subject"',
            "run": "null",
            "scope": '"user"',
            "source_type": '"conversation"',
            "entry": "{}",
            "writer": '"host"',
        },
    ),
    "item_revised": (
        "item.revised",
        {
            "revision": {
                "confidence": 100,
                "privacy": "operator_diagnostic",
                "scope": "chat",
                "stale": "review_before_use",
                "pinned": False,
                "confirmed_ms": 7,
                "audience": {"hidden_from": ["bob"]},
                "disabled": True,
                "evidence": [{"space": "home", "channel": "mail", "conversation": "talk", "turn": "turn-2"}],
                "observations": {"succeeded": 3, "failed": 1},
            },
            "request": {"requester": "ada", "requested_ms": 1_700_000_000_000},
            "run": "night-2",
        },
        {
            "request": '{"requested_ms":1700000000000,"requester":"ada"}',
            "run": '"night-2"',
            "revision": '{"audience":{"hidden_from":["bob"]},"confidence":100,"confirmed_ms":7,"disabled":true,'
            '"evidence":[{"channel":"mail","conversation":"talk","space":"home","turn":"turn-2"}],'
            '"observations":{"failed":1,"succeeded":3},"pinned":false,"privacy":"operator_diagnostic",'
            '"scope":"chat","stale":"review_before_use"}',
        },
    ),
    "item_retired": (
        "item.retired",
        {
            "request": {"requester": "ada", "requested_ms": 1_700_000_000_000},
            "cause": "invalidated",
            "successor": "i-2",
            "ground": "factually_incorrect",
            "evidence": [
                {"space": "home", "channel": "mail", "conversation": "talk", "turn": "t-1", "message": "t-1#0"}
            ],
            "run": "night-2",
        },
        {
            "cause": '"invalidated"',
            "evidence": '[{"channel":"mail","conversation":"talk","message":"t-1#0","space":"home","turn":"t-1"}]',
            "ground": '"factually_incorrect"',
            "request": '{"requested_ms":1700000000000,"requester":"ada"}',
            "run": '"night-2"',
            "successor": '"i-2"',
        },
    ),
    "item_retired_usual": (
        "item.retired",
        {"request": {"requester": "ada", "requested_ms": 7}, "cause": "forgotten"},
        {
            "cause": '"forgotten"',
            "evidence": "[]",
            "ground": "null",
            "request": '{"requested_ms":7,"requester":"ada"}',
            "run": "null",
            "successor": "null",
        },
    ),
    "memory_policy_set": (
        "memory_policy.set",
        {
            "policy": "p-1",
            "action": "suppress",
            "request": {"requester": "ada", "requested_ms": 7},
            "selector": {
                "subject": "größe",
                "kind": "fact",
                "scope": "chat",
                "channel": "mail",
                "conversation": "talk",
                "topic": "0a1b",
                "has_pattern": True,
            },
            "until_ms": 1_700_000_000_000,
            "ends": ["p-0"],
        },
        {
            "action": '"suppress"',
            "ends": '["p-0"]',
            "policy": '"p-1"',
            "request": '{"requested_ms":7,"requester":"ada"}',
            "selector": '{"channel":"mail","conversation":"talk","has_pattern":true,"kind":"fact","scope":"chat",'
            '"subject":"größe","topic":"0a1b"}',
            "until_ms": "1700000000000",
        },
    ),
    "memory_policy_set_usual": (
        "memory_policy.set",
        {"policy": "p-1", "action": "pause", "request": {"requester": "ada", "requested_ms": 7}},
        {
            "action": '"pause"',
            "ends": "[]",
            "policy": '"p-1"',
            "request": '{"requested_ms":7,"requester":"ada"}',
            "selector": "{}",
            "until_ms": "0",
        },
    ),
    "run_recorded": (
        "run.recorded",
        {
            "run": "night-1",
            "writer": "host",
            "recorded": ["i-1"],
            "retired": ["i-2"],
            "revised": ["i-3"],
            "decisions": {"accept": 2, "refuse": 1},
        },
        {
            "decisions": '{"accept":2,"refuse":1}',
            "recorded": '["i-1"]',
            "retired": '["i-2"]',
            "revised": '["i-3"]',
            "run": '"night-1"',
            "writer": '"host"',
        },
    ),
    "run_recorded_usual": (
        "run.recorded",
        {"run": "night-1", "writer": "host"},
        {
            "decisions": "{}",
            "recorded": "[]",
            "retired": "[]",
            "revised": "[]",
            "run": '"night-1"',
            "writer": '"host"',
        },
    ),
    "tools_registered": (
        "tools.registered",
        {
            "registry": {
                "registry": "desk",
                "namespace": "acme",
                "owner": "größe",
                "scope": "owner",
                "fingerprint": "1a2b",
                "revision": 2,
            },
            "tools": [
                {
                    "tool": "mail.send",
                    "schema_fingerprint": "3c",
                    "version": "1.0",
                    "descriptor_fingerprint": "4d",
                    "permissions": ["mail"],
                    "risks": ["sends"],
                    "groups": ["office"],
                    "disabled": True,
                },
                {"tool": "search", "schema_fingerprint": "5e"},
            ],
            "requester": "host",
        },
        {
            "registry": '{"fingerprint":"1a2b","namespace":"acme","owner":"größe","registry":"desk","revision":2,'
            '"scope":"owner"}',
            "requester": '"host"',
            "tools": '[{"descriptor_fingerprint":"4d","disabled":true,"groups":["office"],"permissions":["mail"],'
            '"risks":["sends"],"schema_fingerprint":"3c","tool":"mail.send","version":"1.0"},'
            '{"schema_fingerprint":"5e","tool":"search"}]',
        },
    ),
    "tools_removed": (
        "tools.removed",
        {"registry": "desk", "revision": 3, "request": {"requester": "ada", "requested_ms": 7}},
        {"registry": '"desk"', "request": '{"requested_ms":7,"requester":"ada"}', "revision": "3"},
    ),
}

# the same, of what items say and of the words that people wrote about them
ITEM_WORDS: dict[str, tuple[str, Vector, dict[str, str]]] = {
    "item_content": (
        "item.recorded",
        {
            "topic": "home city",
            "text": "Größe",
            "keywords": ["Oslo"],
            "tags": ["a", "b"],
            "entities": ["Ada"],
            "rationale": "she said so",
            "title": "Größe",
            "summary": "s",
            "note": "n",
        },
        {
            "entities": '["Ada"]',
            "keywords": '["Oslo"]',
            "note": '"n"',
            "rationale": '"she said so"',
            "summary": '"s"',
            "tags": '["a","b"]',
            "text": '"Größe"',
            "title": '"Größe"',
            "topic": '"home city"',
        },
    ),
    "item_content_usual": (
        "item.recorded",
        {"topic": "t", "text": "x"},
        {"entities": "[]", "keywords": "[]", "tags": "[]", "text": '"x"', "topic": '"t"'},
    ),
    "item_revised_words": (
        "item.revised",
        {"words": {"request/reason": "Größe", "revision/text": "Lives in Oslo", "revision/title": "t"}},
        {"request/reason": '"Größe"', "revision/text": '"Lives in Oslo"', "revision/title": '"t"'},
    ),
    "registry_content": (
        "tools.registered",
        {"names": ["Größe", None], "note": "n"},
        {"names": '["Größe",null]', "note": '"n"'},
    ),
    "registry_content_usual": ("tools.registered", {"names": []}, {"names": "[]"}),
    "tools_removed_words": (
        "tools.removed",
        {"words": {"request/reason": "Größe"}},
        {"request/reason": '"Größe"'},
    ),
    "memory_policy_set_words": (
        "memory_policy.set",
        {"words": {"request/reason": "Größe"}},
        {"request/reason": '"Größe"'},
    ),
    "item_retired_words": (
        "item.retired",
        {"words": {"request/reason": "Größe"}},
        {"request/reason": '"Größe"'},
    ),
}
