"""Bodies of what somebody asked for and waits for, or was refused, and their canonical JSON, worked out by hand."""

from __future__ import annotations

from tests.by_hand import Vector

# name -> kind, body, canonical JSON of its fields by label
REQUESTS: dict[str, tuple[str, Vector, dict[str, str]]] = {
    "erasure_refused": (
        "erasure.refused",
        {
            "request": {
                "reason": "Größe",
                "requester": "operator",
                "requested_ms": 1_700_000_000_000,
                "subject": "ada",
            },
            "refusal": {"turns": 3, "kept_by": [7, 2**40]},
        },
        {
            "refusal": '{"kept_by":[7,1099511627776],"turns":3}',
            "request": '{"reason":"Größe","requested_ms":1700000000000,"requester":"operator","subject":"ada"}',
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
            "digest": "0123456789abcdef0123456789abcdef",
            "expires_ms": 1_700_086_400_000,
            "request": {"reason": "asked for", "requester": "ada", "requested_ms": 1_700_000_000_000},
            "caller": {"views": ["export"], "subject": "ada"},
        },
        {
            "act": '"erase"',
            "about": '{"channel":"mail","conversation":"größe","turn":"t-1"}',
            "digest": '"0123456789abcdef0123456789abcdef"',
            "expires_ms": "1700086400000",
            "request": '{"reason":"asked for","requested_ms":1700000000000,"requester":"ada"}',
            "caller": '{"subject":"ada","views":["export"]}',
        },
    ),
    "approval_decided": (
        "approval.decided",
        {
            "request": {"reason": "seen", "requester": "grace", "requested_ms": 1_700_000_000_001},
            "caller": {"views": []},
        },
        {
            "caller": '{"views":[]}',
            "request": '{"reason":"seen","requested_ms":1700000000001,"requester":"grace"}',
        },
    ),
}
