"""Bodies of what somebody asked for and waits for, or was refused, and their canonical JSON, worked out by hand."""

from __future__ import annotations

from tests.by_hand import Vector

# name -> kind, body, canonical JSON of its fields by label
REQUESTS: dict[str, tuple[str, Vector, dict[str, str]]] = {
    "erasure_refused": (
        "erasure.refused",
        {
            "request": {
                "requester": "operator",
                "requested_ms": 1_700_000_000_000,
                "subject": "ada",
            },
            "refusal": {"turns": 3, "kept_by": [7, 2**40]},
        },
        {
            "refusal": '{"kept_by":[7,1099511627776],"turns":3}',
            "request": '{"requested_ms":1700000000000,"requester":"operator","subject":"ada"}',
        },
    ),
    "approval_set": (
        "approval.set",
        {
            "rule": {"acts": ["erase", "reveal"], "within_ms": 86_400_000},
            "request": {"reason": "house rules", "requester": "counsel", "requested_ms": 1_700_000_000_000},
        },
        {
            "rule": '{"acts":["erase","reveal"],"within_ms":86400000}',
            "request": '{"reason":"house rules","requested_ms":1700000000000,"requester":"counsel"}',
        },
    ),
    "approval_requested": (
        "approval.requested",
        {
            "act": "erase",
            "about": {"channel": "mail", "conversation": "größe", "turn": "t-1"},
            "exact": {},
            "expires_ms": 1_700_086_400_000,
            "request": {"requester": "ada", "requested_ms": 1_700_000_000_000},
            "caller": {"views": ["export"], "subject": "ada"},
        },
        {
            "act": '"erase"',
            "about": '{"channel":"mail","conversation":"größe","turn":"t-1"}',
            "exact": "{}",
            "expires_ms": "1700086400000",
            "request": '{"requested_ms":1700000000000,"requester":"ada"}',
            "caller": '{"subject":"ada","views":["export"]}',
        },
    ),
    "approval_decided": (
        "approval.decided",
        {
            "request": {"requester": "grace", "requested_ms": 1_700_000_000_001},
            "caller": {"views": []},
        },
        {
            "caller": '{"views":[]}',
            "request": '{"requested_ms":1700000000001,"requester":"grace"}',
        },
    ),
}

# the same, of the words that people wrote in them
WORDS: dict[str, tuple[str, Vector, dict[str, str]]] = {
    "turn_lifecycle_words": (
        "turn.lifecycle",
        {"words": {"request/reason": "Größe, asked for"}},
        {"request/reason": '"Größe, asked for"'},
    ),
    "turn_redacted_words": (
        "turn.redacted",
        {"words": {"request/reason": "Größe", "target/start": 3, "target/end": 300}},
        {"request/reason": '"Größe"', "target/end": "300", "target/start": "3"},
    ),
    **{
        f"{kind.replace('.', '_')}_words": (
            kind,
            {"words": {"request/reason": "Größe"}},
            {"request/reason": '"Größe"'},
        )
        for kind in ("content.revealed", "erasure.refused", "approval.decided")
    },
    "approval_requested_words": (
        "approval.requested",
        {"words": {"request/reason": "asked for", "exact/digest": "0123456789abcdef0123456789abcdef"}},
        {"exact/digest": '"0123456789abcdef0123456789abcdef"', "request/reason": '"asked for"'},
    ),
    **{
        f"{kind.replace('.', '_')}_words": (
            kind,
            {"words": {"export/purpose": "case 17"}},
            {"export/purpose": '"case 17"'},
        )
        for kind in ("export.issued", "content.exported")
    },
}
