"""The tables of the guide about memory: generated from those that decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from muniment.events.memory_governance import PolicyAction
from muniment.events.memory_items import ItemKind, ItemPrivacy, MemoryPlane
from muniment.governance.item_visibility import SHOWS_EVIDENCE, SHOWS_PRIVACIES, SHOWS_STATEMENTS
from muniment.governance.views import View
from muniment.memory.candidate import RULES, Ruling, RulingReason
from muniment.memory.governance_rules import GOVERNANCE_RULES, SKILL_CHARS_MIN, STEPS_MIN
from muniment.memory.kinds import KINDS, OTHER_NAMES
from muniment.memory.merging import MERGE_RULES, MergeReason
from muniment.memory.policies import ENDS, STOPS, SUPPRESSED_BY_POLICY
from muniment.memory.recall_weights import COMPONENTS, RECALL_PRESETS

CANDIDATES: dict[RulingReason, str] = {
    RulingReason.PRIVATE_TARGET: "its privacy is `private_garden`",
    RulingReason.SOUL_TARGET: "its privacy is `soul_private`",
    RulingReason.EMPTY: "it has no text or no topic",
    RulingReason.SELF_CLAIM: "the assistant says it about itself",
    RulingReason.UNKNOWN_KIND: "its plane has no such kind",
    RulingReason.WITHOUT_SOURCE: "it has no evidence, and nobody attests it",
    RulingReason.UNJUDGED: "it has no `judgement`",
}
GOVERNANCE: dict[RulingReason, str] = {
    RulingReason.NEEDS_FEEDBACK: "it is experience with a tool, which comes from `tools.feedback` alone",
    RulingReason.NAME_NOT_TAKEN: "it has a name, and is no skill",
    RulingReason.UNNAMED_SKILL: "it is a skill, and its name is not `runtime_skill__` with words of `a-z0-9` behind it",
    RulingReason.WEAK_SKILL: f"it is a skill of fewer than {STEPS_MIN} steps or {SKILL_CHARS_MIN} characters",
    RulingReason.FORMATTED_DUMP: "it is offered as a statement, and is JSON, a fenced block or mostly markup",
}
MERGES: dict[MergeReason, str] = {
    MergeReason.FORGOTTEN: "an item of the slot was forgotten, and it rests only on the same turns",
    MergeReason.FREE_SLOT: "no item is in use in the slot",
    MergeReason.EXPIRED: "the item that is there has expired",
    MergeReason.SAME_TEXT: "it is the same text, apart from case and blanks",
    MergeReason.SAME_WORDS: "it has the same words",
    MergeReason.OLDER: "it was observed before the item that is there",
    MergeReason.LESS_CONFIDENT: "its confidence is lower",
    MergeReason.OTHER_PRIVACY: "its privacy differs",
    MergeReason.OTHER_AUDIENCE: "its audience differs",
    MergeReason.DISABLED: "the item that is there is a disabled skill",
    MergeReason.NEWER: "no other rule applies",
}
SHOWN: dict[bool, str] = {True: "yes", False: "-"}

Table = Callable[[Sequence[str], Sequence[Sequence[str]]], str]


def candidate_rules(table: Table) -> str:
    """Return what becomes of a candidate, rule by rule."""
    rows = [[CANDIDATES[rule.reason], rule.ruling, f"`{rule.reason}`"] for rule in RULES]
    return table(["if", "decision", "reason"], [*rows, ["no other rule applies", "as judged", "`judged`"]])


def governance_rules(table: Table) -> str:
    """Return what becomes of candidates that were accepted, rule by rule: by their form, policies and evidence."""
    stopped = {PolicyAction.SUPPRESS: "suppresses", PolicyAction.PAUSE: "pauses"}
    rows = [[GOVERNANCE[rule.reason], Ruling.REFUSE, f"`{rule.reason}`"] for rule in GOVERNANCE_RULES]
    policies = [
        [f"a policy {stopped[action]} it", ruling, f"`{SUPPRESSED_BY_POLICY}`"] for action, ruling in STOPS.items()
    ]
    evidence = ["a turn that it rests on is masked or erased", Ruling.REFUSE, "`evidence_hidden`"]
    return table(["if", "decision", "reason"], [*rows, *policies, evidence])


def merge_rules(table: Table) -> str:
    """Return what an accepted candidate does to its slot, rule by rule."""
    rows = [[MERGES[rule.reason], rule.outcome, f"`{rule.reason}`"] for rule in MERGE_RULES]
    first = [MERGES[MergeReason.FORGOTTEN], "refused", f"`{MergeReason.FORGOTTEN}`"]
    last = [MERGES[MergeReason.NEWER], "supersedes", f"`{MergeReason.NEWER}`"]
    return table(["if", "outcome", "reason"], [first, *rows, last])


def policy_actions(table: Table) -> str:
    """Return what each action of a policy does."""
    rows = [[f"`{action}`", f"what matches is answered with `{ruling}`"] for action, ruling in STOPS.items()]
    rows.append([f"`{PolicyAction.FOLLOW}`", "items that match are erased with the last turn that they rest on"])
    rows += [[f"`{ending}`", f"ends each `{ended}` of the same selector"] for ending, ended in ENDS.items()]
    return table(["action", "effect"], rows)


def item_kinds(table: Table) -> str:
    """Return the kinds of each plane."""
    rows = [
        [f"`{plane}`", ", ".join(f"`{kind}`" for kind in ItemKind if kind in KINDS[plane])] for plane in MemoryPlane
    ]
    return table(["plane", "kinds"], rows)


def item_names(table: Table) -> str:
    """Return what other systems call kinds."""
    return table(["name", "kind"], [[f"`{name}`", f"`{kind}`"] for name, kind in OTHER_NAMES.items()])


def recall_weights(table: Table) -> str:
    """Return the weight of each component in each preset."""
    rows = [
        [f"`{name}`", *(f"{getattr(weights, name):g}" for weights in RECALL_PRESETS.values())] for name in COMPONENTS
    ]
    rows += [
        [f"`{name}`", *(f"{getattr(weights, name):g}" for weights in RECALL_PRESETS.values())]
        for name in ("half_life_days", "least")
    ]
    return table(["component", *(f"`{preset}`" for preset in RECALL_PRESETS)], rows)


def item_views(table: Table) -> str:
    """Return what each view shows of items."""
    rows = [
        [
            view,
            SHOWN[view in SHOWS_STATEMENTS],
            SHOWN[view in SHOWS_EVIDENCE],
            SHOWN[ItemPrivacy.OPERATOR_DIAGNOSTIC in SHOWS_PRIVACIES[view]],
        ]
        for view in View
    ]
    return table(["view", "what an item says", "its turns, who wrote it, reasons", "operator_diagnostic items"], rows)
