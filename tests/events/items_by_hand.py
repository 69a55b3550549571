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
            "slot": {
                "name": "desk 1a2b search",
                "tool": {"registry": "desk", "fingerprint": "1a2b", "tool": "search"},
                "observations": {"succeeded": 2},
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
            "slot": '{"name":"desk 1a2b search","observations":{"succeeded":2},'
            '"tool":{"fingerprint":"1a2b","registry":"desk","tool":"search"}}',
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
            "slot": "null",
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
                "disabled": True,
                "evidence": [{"space": "home", "channel": "mail", "conversation": "talk", "turn": "turn-2"}],
                "observations": {"succeeded": 3, "failed": 1},
            },
            "request": {"requester": "ada", "requested_ms": 1_700_000_000_000},
        },
        {
            "request": '{"requested_ms":1700000000000,"requester":"ada"}',
            "revision": '{"confidence":100,"confirmed_ms":7,"disabled":true,'
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
            "title": "Größe",
            "summary": "s",
            "note": "n",
        },
        {
            "entities": '["Ada"]',
            "keywords": '["Oslo"]',
            "note": '"n"',
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
        {
            "entities": "[]",
            "keywords": "[]",
            "tags": "[]",
            "text": '"x"',
            "topic": '"t"',
        },
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
    "item_retired_words": (
        "item.retired",
        {"words": {"request/reason": "Größe"}},
        {"request/reason": '"Größe"'},
    ),
}
