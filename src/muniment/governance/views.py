"""Who sees what: five views, as tables.

The rule for a message, first match wins:

1. content erased → `erased`; masked → `lifecycle_masked`; both also for the raw owner;
2. the raw owner sees everything else but what 5. names;
3. authority of a private plane → `private_authority`; operator diagnostics → `operator_only`;
4. what `SHOWS` does not list for the view → `view_policy`;
5. what somebody redacted for the view → `redacted`, also for the raw owner when the redaction names that view;
6. what is looked for in the view and found → `detected`; where looking failed → `detection_failed`.

guide/views.md is generated from the tables.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import get_args

from muniment.events.message import Authority, Part, ReasoningPart, Role, ToolCallPart, ToolCallResponsePart
from muniment.events.references import Plane, Visibility
from muniment.governance.phases import MASKED_PHASES, Phase


class View(StrEnum):
    """For whom a slice is made."""

    RAW_OWNER = "raw_owner"
    MODEL_CONTEXT = "model_context"
    HOST_UI = "host_ui"
    OPERATOR_AUDIT = "operator_audit"
    EXPORT = "export"


class Reason(StrEnum):
    """Why something is withheld."""

    ERASED = "erased"
    LIFECYCLE_MASKED = "lifecycle_masked"
    PRIVATE_AUTHORITY = "private_authority"
    OPERATOR_ONLY = "operator_only"
    VIEW_POLICY = "view_policy"
    HOST_REF_VISIBILITY = "host_ref_visibility"
    HOST_REF_LABEL = "host_ref_label"
    ATTR_VISIBILITY = "attr_visibility"
    ATTR_LIFECYCLE_POLICY = "attr_lifecycle_policy"
    ATTR_VALUE_BUDGET = "attr_value_budget"
    PROFILE_BUDGET = "profile_budget"
    REDACTED = "redacted"
    DETECTED = "detected"
    DETECTION_FAILED = "detection_failed"


class PartRole(StrEnum):
    """What a part is within its turn."""

    USER_WORDS = "user_words"
    ANSWER = "answer"
    TOOL_STEP = "tool_step"
    SYSTEM_STEP = "system_step"
    ASSISTANT_STEP = "assistant_step"
    REASONING = "reasoning"


# view -> the places it shows
SHOWS: dict[View, frozenset[PartRole]] = {
    View.RAW_OWNER: frozenset(PartRole),
    View.MODEL_CONTEXT: frozenset(PartRole) - {PartRole.REASONING},
    View.HOST_UI: frozenset({PartRole.USER_WORDS, PartRole.ANSWER}),
    View.OPERATOR_AUDIT: frozenset(),
    View.EXPORT: frozenset({PartRole.USER_WORDS, PartRole.ANSWER}),
}

# views to which it matters which message of the assistant is the answer
TELLS_ANSWERS = frozenset(
    view for view, shown in SHOWS.items() if (PartRole.ANSWER in shown) is not (PartRole.ASSISTANT_STEP in shown)
)

# views that say of what their policy withholds, which is reasoning, why somebody redacted it, too: who shows reasoning
# to a model in spite of the policy, as a history of a framework does, shows nothing that is redacted for this view
TELLS_REDACTED_REASONING = frozenset({View.MODEL_CONTEXT})

# views that show what users say and what answers them
SHOWS_DIALOGUE = frozenset(view for view, shown in SHOWS.items() if {PartRole.USER_WORDS, PartRole.ANSWER} <= shown)

# view -> the visibilities of host references it shows
SHOWS_REFERENCES: dict[View, frozenset[Visibility]] = {
    View.RAW_OWNER: frozenset(Visibility),
    View.MODEL_CONTEXT: frozenset({Visibility.MODEL_CONTEXT}),
    View.HOST_UI: frozenset({Visibility.HOST_UI, Visibility.EXPORT}),
    View.OPERATOR_AUDIT: frozenset({Visibility.HOST_UI, Visibility.OPERATOR_AUDIT, Visibility.EXPORT}),
    View.EXPORT: frozenset({Visibility.EXPORT}),
}

# view -> the visibilities of host references whose label it shows
SHOWS_LABELS: dict[View, frozenset[Visibility]] = {
    View.RAW_OWNER: frozenset(Visibility),
    View.MODEL_CONTEXT: frozenset(),
    View.HOST_UI: frozenset({Visibility.HOST_UI}),
    View.OPERATOR_AUDIT: frozenset(),
    View.EXPORT: frozenset(),
}

# views that show where a turn came from, and what tools were observed
SHOWS_ORIGIN = frozenset({View.RAW_OWNER, View.OPERATOR_AUDIT})

# view -> the planes of memory whose derived references it shows; the private planes are the raw owner's (SP-02)
PRIVATE_PLANES = frozenset({Plane.PRIVATE_GARDEN, Plane.SOUL_CANDIDATE_HANDOFF})
SHOWS_LINKS: dict[View, frozenset[Plane]] = dict.fromkeys(View, frozenset[Plane]()) | {
    View.RAW_OWNER: frozenset(Plane),
    View.OPERATOR_AUDIT: frozenset(Plane) - PRIVATE_PLANES,
}

# where no view is named, host references are shown as the first of these shows them that the caller has
STRUCTURE_VIEWS = (View.OPERATOR_AUDIT, View.RAW_OWNER, View.HOST_UI, View.EXPORT, View.MODEL_CONTEXT)

# authorities that only the raw owner sees (SP-02)
PRIVATE: dict[Authority, Reason] = {
    Authority.PRIVATE_GARDEN_INTERNAL: Reason.PRIVATE_AUTHORITY,
    Authority.SOUL_GOVERNANCE: Reason.PRIVATE_AUTHORITY,
    Authority.OPERATOR_DIAGNOSTIC: Reason.OPERATOR_ONLY,
}

# view -> the authorities whose messages it does not show
BARRED: dict[View, dict[Authority, Reason]] = dict.fromkeys(View, PRIVATE) | {View.RAW_OWNER: {}}

# phases in which the words of a turn are withheld from every view
GONE: dict[Phase, Reason] = {
    **dict.fromkeys(MASKED_PHASES, Reason.LIFECYCLE_MASKED),
    Phase.ERASED: Reason.ERASED,
}

_STEPS: dict[Role, PartRole] = {
    Role.USER: PartRole.USER_WORDS,
    Role.ASSISTANT: PartRole.ASSISTANT_STEP,
    Role.TOOL: PartRole.TOOL_STEP,
    Role.SYSTEM: PartRole.SYSTEM_STEP,
}


def structure_view(views: Collection[View]) -> View | None:
    """Return the view, of these, that decides what a report without a view of its own shows; None shows nothing."""
    return next((view for view in STRUCTURE_VIEWS if view in views), None)


def shown_planes(views: Iterable[View]) -> frozenset[Plane]:
    """Return the planes whose derived references any of these views shows."""
    return frozenset[Plane]().union(*map(SHOWS_LINKS.__getitem__, views))


def withheld_by_phase(phase: Phase) -> Reason | None:
    """Return why the words of a turn in this phase are withheld from every view, or None."""
    return GONE.get(phase)


def withheld_by_authority(view: View, authority: Authority) -> Reason | None:
    """Return why a message of this authority is withheld from a view as a whole, or None."""
    return BARRED[view].get(authority)


def place_of(part: type[Part], role: Role, *, is_answer: bool) -> PartRole:
    """Return what a part is: judged by its type first, then by its message's role and place."""
    if part is ReasoningPart:
        return PartRole.REASONING
    if part in {ToolCallPart, ToolCallResponsePart}:
        return PartRole.TOOL_STEP
    return PartRole.ANSWER if is_answer else _STEPS[role]


@functools.cache
def withheld_by_policy(view: View, role: Role, is_answer: bool) -> dict[type[Part], Reason | None]:
    """Return, for each type of part in such a message, why the view withholds it, or None."""
    return {
        part: None if place_of(part, role, is_answer=is_answer) in SHOWS[view] else Reason.VIEW_POLICY
        for part in get_args(Part)
    }
