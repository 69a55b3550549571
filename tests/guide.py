"""The parts of the documents that are generated from the tables of the product.

A part is between the lines `<!-- generated: NAME -->` and `<!-- end -->`. Each has a function here that generates it;
`tests/schemas.py` lists the documents among the published contracts, compares and rewrites them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import fields

from muniment import errors
from muniment.errors import MunimentError
from muniment.events.changes import Transition
from muniment.events.references import Plane, Visibility
from muniment.governance.admission import KEPT
from muniment.governance.annotation import AttributeRefusal
from muniment.governance.attribute_visibility import AFTER, SHOWS_ATTRIBUTES, ShownValue
from muniment.governance.custody import KEEPS, Rule
from muniment.governance.detection.detection import Detect, detection_for
from muniment.governance.detection.scan import DetectedType
from muniment.governance.limits import Limits
from muniment.governance.phases import NEXT
from muniment.governance.policy import HIDES, RECORDS
from muniment.governance.profiles import PROFILE_POLICIES, SHARES, BudgetCause, Ceiling, Profile, budget_of
from muniment.governance.views import (
    PRIVATE,
    SHOWS,
    SHOWS_LABELS,
    SHOWS_ORIGIN,
    SHOWS_REFERENCES,
    PartRole,
    Reason,
    View,
    withheld_by_phase,
)
from muniment.projections.inspection.findings import MEANS, FindingKind
from muniment.runtime.catalogue import catalogue
from muniment.tables.table_forms import DERIVED, TABLES
from muniment.transports.cli.failure import EXIT_CODES
from muniment.transports.gateway.aliases import ALIASES
from muniment.transports.guide_pages import TOPICS, chapter
from muniment.transports.http.status import CODE_BEFORE_OPERATION, MEANINGS, STATUS, STATUS_OF_CODE
from tests.guide_limits import LIMITS, amount, fixed_amounts
from tests.guide_memory import (
    candidate_rules,
    governance_rules,
    item_kinds,
    item_names,
    item_views,
    merge_rules,
    policy_actions,
    recall_weights,
)

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "src/muniment/guide"

_PART = re.compile(r"(?ms)^<!-- generated: ([a-z ]+) -->\n(.*?)^<!-- end -->$")
_PLACEHOLDER = re.compile(r"(?m)^<!-- (picture: [a-z ]+|platforms) -->$")
YES, NO = "yes", "-"


def documents() -> list[Path]:
    """Return the documents that may have generated parts."""
    return [ROOT / "README.md", *sorted(GUIDE.glob("*.md"))]


def renewed(text: str) -> str:
    """Return a document with every generated part up to date."""
    return _PART.sub(lambda part: f"<!-- generated: {part[1]} -->\n{PARTS[part[1]]()}<!-- end -->", text)


def parts_of(text: str) -> list[str]:
    """Return the names of the generated parts of a document."""
    return [part[1] for part in _PART.finditer(text)]


def placeholders_of(text: str) -> list[str]:
    """Return the names of the places of a document that somebody fills in by hand: pictures, platforms."""
    return _PLACEHOLDER.findall(text)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose source can be read, too."""
    cells = [list(head), *map(list, rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
    head_line, *lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    return "\n".join([head_line, "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines]) + "\n"


# --- the life of a turn -----------------------------------------------------------------------------------------------


def _transitions() -> str:
    rows = [[f"**{phase}**", *(str(after.get(each, NO)) for each in Transition)] for phase, after in NEXT.items()]
    return table(["", *Transition], rows)


def _phases() -> str:
    rows = [[phase, _reason(withheld_by_phase(phase), "shown as the view allows")] for phase in NEXT]
    return table(["state", "content"], rows)


def _reason(reason: Reason | None, otherwise: str) -> str:
    return otherwise if reason is None else f"withheld: `{reason}`"


RULES: dict[Rule, str] = {
    Rule.HOLD: "a hold covers the turn and is not released",
    Rule.LEGAL_MINIMUM: "the turn is younger than the minimum of a policy",
    Rule.ERASE_REQUEST: "somebody requests the erasure",
    Rule.RETENTION: "the turn is older than the maximum of a policy, and `apply_retention` runs",
    Rule.DEFAULT: "no other rule applies",
}


def _precedence() -> str:
    rows = [[f"`{rule}`", RULES[rule], "kept" if keeps else "erased"] for rule, keeps in KEEPS.items()]
    return table(["rule", "applies if", "content is"], rows)


SCOPES: dict[str, tuple[str, str]] = {
    "conversation": ("the content of all turns at that moment", "the names of the conversation; later turns"),
    "turn": ("the content of one turn and of its attributes", "the facts about the turn"),
    "message": ("the content of one message, by its id", "the other messages; summaries and labels of the turn"),
    "subject": (
        "the content of every turn with this subject, acting subject or mounted subject, of its memory items and tools",
        "the name as a speaker and in chat ids; turns in which the subject only speaks",
    ),
    "whole_space": ("everything encrypted, all keys, all names", "headers, tree and checkpoints, so that audits work"),
}


def _scopes() -> str:
    return table(["scope", "erases", "keeps"], [[f"`{name}`", *told] for name, told in SCOPES.items()])


# --- who sees what ----------------------------------------------------------------------------------------------------

PLACES: dict[PartRole, str] = {
    PartRole.USER_WORDS: "user message",
    PartRole.ANSWER: "answer: the last assistant message",
    PartRole.TOOL_STEP: "tool calls and tool results",
    PartRole.SYSTEM_STEP: "system text",
    PartRole.ASSISTANT_STEP: "earlier assistant messages of the turn",
    PartRole.REASONING: "reasoning",
}

REASONS: dict[Reason, str] = {
    Reason.ERASED: "the content is erased",
    Reason.LIFECYCLE_MASKED: "the turn is masked",
    Reason.PRIVATE_AUTHORITY: "the message is private to the agent; only `raw_owner` shows it",
    Reason.OPERATOR_ONLY: "the message is a system diagnosis; only `raw_owner` shows it",
    Reason.VIEW_POLICY: "the view does not show this kind of content",
    Reason.HOST_REF_VISIBILITY: "the reference is for other views",
    Reason.HOST_REF_LABEL: "the view shows the reference, but not its label",
    Reason.ATTR_VISIBILITY: "the attribute is for other views, or no longer valid",
    Reason.ATTR_LIFECYCLE_POLICY: "the turn is masked or erased, and the policy of the attribute hides its value",
    Reason.ATTR_VALUE_BUDGET: "more attributes on the turn or message than the profile allows",
    Reason.PROFILE_BUDGET: "more host references than the profile allows",
    Reason.REDACTED: "redacted for this view; the item gives the causes",
    Reason.DETECTED: "found by detection; the item gives the types",
    Reason.DETECTION_FAILED: "detection failed, so the whole text is withheld",
}


def _by_view(head: str, rows: Mapping[str, Callable[[View], bool]]) -> str:
    told = [[name, *(YES if shows(view) else NO for view in View)] for name, shows in rows.items()]
    return table([head, *View], told)


def _places() -> str:
    def shown(place: PartRole) -> Callable[[View], bool]:
        return lambda view: place in SHOWS[view]

    return _by_view("part", {PLACES[place]: shown(place) for place in PartRole})


def _origin() -> str:
    return _by_view(
        "",
        {"source, tool observations, use of external content, writer of attributes": lambda view: view in SHOWS_ORIGIN},
    )


def _by_visibility(shows: Mapping[View, frozenset[Visibility]]) -> str:
    def shown(visibility: Visibility) -> Callable[[View], bool]:
        return lambda view: visibility in shows[view]

    return _by_view("visibility", {visibility: shown(visibility) for visibility in Visibility})


def _references() -> str:
    return _by_visibility(SHOWS_REFERENCES)


def _labels() -> str:
    return _by_visibility(SHOWS_LABELS)


# --- attributes -------------------------------------------------------------------------------------------------------

SHOWN: dict[ShownValue, str] = {
    ShownValue.VALUE: "value",
    ShownValue.REPLACEMENT: "replacement",
    ShownValue.NOTHING: NO,
}

REFUSALS: dict[AttributeRefusal, str] = {
    AttributeRefusal.ID_MALFORMED: "the id is empty, too long, starts or ends with a blank, or has control characters",
    AttributeRefusal.ID_REPEATED: "the id occurs more than once in the request",
    AttributeRefusal.KEY_MALFORMED: "not `host.` or `memory.` plus two or more parts of letters, digits, `_`, `-`",
    AttributeRefusal.SCHEMA_MALFORMED: "the name of the schema is not a valid name",
    AttributeRefusal.KIND_DIFFERS: "the value does not match `kind`; null matches no kind",
    AttributeRefusal.DESCRIPTION_MALFORMED: "a title that is no text, or tags that are no list of names",
    AttributeRefusal.VALUE_NOT_CANONICAL: "the value is not JSON, too deep, or has no canonical form",
    AttributeRefusal.VALUE_TOO_LARGE: "the value is larger than its governance or the store allows",
    AttributeRefusal.SIZE_OUT_OF_RANGE: "`value_bytes_max` is not above 0",
    AttributeRefusal.MESSAGE_MISSING: "the scope is `message`, but no message is named",
    AttributeRefusal.MESSAGE_NOT_TAKEN: "the scope is `turn`, but a message is named",
    AttributeRefusal.WRITER_MALFORMED: "the writer is not a valid name",
    AttributeRefusal.REASON_MALFORMED: "the reason is blank or too long",
    AttributeRefusal.LINK_MALFORMED: "the relation, kind or id of a link is not a valid name",
    AttributeRefusal.TOO_MANY_LINKS: "too many links",
    AttributeRefusal.TIME_OUT_OF_RANGE: "a time is before 1970 or after 9999",
    AttributeRefusal.UPDATED_BEFORE_CREATED: "the update time is before the creation time",
    AttributeRefusal.UNKNOWN_TURN: "the conversation has no such turn",
    AttributeRefusal.UNKNOWN_MESSAGE: "the turn has no such message",
    AttributeRefusal.ERASED: "the turn or the message is erased",
    AttributeRefusal.TARGET_DIFFERS: "the id already belongs to another turn or message",
    AttributeRefusal.TOO_MANY_OF_TURN: "the turn has the maximum number of attributes",
}


def _attribute_views() -> str:
    def told(view: View, visibility: Visibility) -> str:
        allowed = "if allowed" if view is View.EXPORT else YES
        return allowed if visibility in SHOWS_ATTRIBUTES[view] else NO

    rows = [[visibility, *(told(view, visibility) for view in View)] for visibility in Visibility]
    return table(["visibility", *View], rows)


def _attribute_policies() -> str:
    rows = [
        [policy, phase, *(SHOWN[shown[view]] for view in View)]
        for policy, phases in AFTER.items()
        for phase, shown in phases.items()
    ]
    return table(["policy", "state", *View], rows)


def _attribute_refusals() -> str:
    return table(["reason", "meaning"], [[f"`{refusal}`", REFUSALS[refusal]] for refusal in AttributeRefusal])


def _authorities() -> str:
    return table(
        ["authority", "in every view except raw_owner"], [[each, _reason(PRIVATE[each], "")] for each in PRIVATE]
    )


def _reasons() -> str:
    return table(["reason", "meaning"], [[f"`{reason}`", REASONS[reason]] for reason in Reason])


def _admission() -> str:
    rows = []
    for delivery, (roles, skip) in KEPT.items():
        kept = "all messages" if len(roles) > 1 else "the user's messages"
        rows.append([delivery, kept if roles else "nothing", f"`{skip}`"])
    return table(["delivery", "stored", "reason if nothing is stored"], rows)


# --- limits -----------------------------------------------------------------------------------------------------------


def _limits() -> str:
    return table(
        ["limit", "default", "applies to"],
        [[f"`{each.name}`", amount(each.name, each.default), LIMITS[each.name]] for each in fields(Limits)],
    )


def _fixed() -> str:
    return table(["applies to", "limit"], [[told, size] for size, told in fixed_amounts()])


# --- repair -----------------------------------------------------------------------------------------------------------


def _findings() -> str:
    return table(["finding", "meaning"], [[f"`{kind}`", MEANS[kind]] for kind in FindingKind])


def _planes() -> str:
    return table(["plane", "contains"], [[f"`{plane}`", PLANES[plane]] for plane in Plane])


PLANES: dict[Plane, str] = {
    Plane.LONG_TERM: "long-term memory about one subject",
    Plane.SHARED_FACT: "facts that several subjects share",
    Plane.PROCEDURAL_SKILL: "instructions for doing something",
    Plane.TASK_LEARNING: "lessons from a task",
    Plane.ARCHIVE_EVIDENCE: "summaries and extracts of transcripts",
    Plane.PRIVATE_GARDEN: "private material of the agent; a reference names no message",
    Plane.SOUL_CANDIDATE_HANDOFF: "candidates that were handed over, whether accepted or not",
}

# --- profiles, policies -----------------------------------------------------------------------------------------------

CEILINGS: dict[Ceiling, str] = {
    Ceiling.PAGE_TURNS: "turns (or conversations) in a page",
    Ceiling.HOST_REFS_PER_TURN: "visible host references of a turn",
    Ceiling.ATTRIBUTES_PER_TURN: "visible attributes of a turn, and of a message",
    Ceiling.REDACTION_ITEMS: "withheld items listed in a page or report",
    Ceiling.DERIVED_REFS: "derived references in a lifecycle report",
    Ceiling.INSPECTION_FINDINGS: "findings listed by an inspection",
    Ceiling.RENDERED_CHARS: "characters of text for a model",
}

CAUSES: dict[BudgetCause, str] = {
    BudgetCause.PRESSURE_CAUTIOUS: "the level is `cautious`",
    BudgetCause.PRESSURE_CRITICAL: "the level is `critical`",
    BudgetCause.MEMORY_AT_FLOOR: "free memory is at or below its floor",
    BudgetCause.MEMORY_NEAR_FLOOR: "free memory is below twice its floor",
    BudgetCause.MEMORY_UNKNOWN: "free memory is unknown",
    BudgetCause.STORAGE_UNKNOWN: "free storage is unknown",
}


def _profiles() -> str:
    budgets = [budget_of(profile) for profile in Profile]
    rows = [[CEILINGS[each], *(f"{budget.ceiling(each):,}" for budget in budgets)] for each in Ceiling]
    brought = [", ".join(f"`{each}`" for each in sorted(PROFILE_POLICIES[profile])) or NO for profile in Profile]
    return table(["maximum", *Profile], [*rows, ["enabled policies", *brought]])


def _pressure() -> str:
    return table(
        ["reason", "applies if", "budget left"],
        [[f"`{each}`", CAUSES[each], f"{share} %"] for each, share in SHARES.items()],
    )


def _policies() -> str:
    rows = []
    for policy, hides in HIDES.items():
        operations = [f"`{each.path}`" for each in catalogue() if each.terms.family in hides.families]
        views = [f"`{view}`" for view in View if view in hides.views]
        families = RECORDS.get(policy, frozenset())
        recorded = [f"`{each.path}`" for each in catalogue() if each.terms.family in families]
        rows.append([f"`{policy}`", *(", ".join(names) or NO for names in (operations, views, recorded))])
    return table(["policy", "hides the operations", "hides the views", "records the operations"], rows)


# --- errors, topics ---------------------------------------------------------------------------------------------------


def _errors() -> str:
    known = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, MunimentError)]
    return table(
        ["code", "kind", "exit", "message"],
        [
            [f"`{each.code}`", each.kind, str(EXIT_CODES[each.kind]), (each.__doc__ or "").partition("\n")[0]]
            for each in known
            if each is not MunimentError
        ],
    )


def _kinds() -> str:
    return table(["kind", "exit code"], [[kind, str(code)] for kind, code in EXIT_CODES.items()])


def _statuses() -> str:
    kinds = {status: [f"`{kind}`" for kind, each in STATUS.items() if each == status] for status in MEANINGS}
    by_code = [*STATUS_OF_CODE.items(), *((code, status) for status, code in CODE_BEFORE_OPERATION.items())]
    codes = {status: [f"`{code}`" for code, each in by_code if each == status] for status in MEANINGS}
    rows = [[str(status), meaning, ", ".join(kinds[status] + codes[status])] for status, meaning in MEANINGS.items()]
    return table(["status", "meaning", "kind or code of the error"], rows)


def _aliases() -> str:
    rows = [
        [f"`{alias.method} {alias.path}`", f"`{alias.when}`" if alias.when else NO, f"`{alias.operation}`"]
        for alias in ALIASES
    ]
    return table(["route", "with", "operation"], rows)


def _tables() -> str:
    rows = [[f"`{form.name}`", form.summary, ", ".join(form.names)] for form in (*DERIVED, *TABLES)]
    return table(["table", "a row is", "columns"], rows)


def _topics() -> str:
    rows = [[f"[{chapter(each).title}](src/muniment/guide/{each}.md)", purpose(each)] for each in TOPICS]
    return table(["page", "what it is for"], rows)


def purpose(topic: str) -> str:
    """Return what a page of the guide is for: its first paragraph, which is one sentence."""
    return " ".join(chapter(topic).text.split("\n\n")[1].split("\n"))


DETECTED: dict[DetectedType, str] = {
    DetectedType.PRIVATE_KEY: "private keys in PEM format, complete or cut off",
    DetectedType.JWT: "JSON web tokens with an algorithm in the header",
    DetectedType.API_KEY: "API keys of well-known vendors, by their published formats",
    DetectedType.PAYMENT_CARD: "card numbers, by scheme, length and check digit",
    DetectedType.IBAN: "account numbers, by country length and check digits",
    DetectedType.NATIONAL_ID: "numbers of identity, tax, insurance, passport and licence, by form and check digits",
    DetectedType.BANK_CODE: "codes of banks and account numbers after a word for them",
    DetectedType.BIRTH_DATE: "dates that are said to be a date of birth",
    DetectedType.EMAIL: "email addresses",
    DetectedType.IP_ADDRESS: "IPv4 and IPv6 addresses, except loopback and masks",
    DetectedType.PHONE_NUMBER: "international and formatted national numbers, and others next to words such as `phone`",
    DetectedType.SECRET: "tokens that look random, passwords in URLs, and what is said to be a password or PIN",
    DetectedType.KNOWN_NAME: "names that you list and names of the participants, as whole words, in any case",
}


def _detected() -> str:
    found = detection_for(Detect(views={View.RAW_OWNER: frozenset(DetectedType)})).view(View.RAW_OWNER).coverage
    return table(
        ["type", "finds", "detectors"],
        [[f"`{one.type}`", DETECTED[one.type], ", ".join(f"`{name}`" for name in one.detectors)] for one in found],
    )


# name of a part -> what makes it
PARTS: dict[str, Callable[[], str]] = {
    "detected": _detected,
    "planes": _planes,
    "candidate rules": partial(candidate_rules, table),
    "governance rules": partial(governance_rules, table),
    "merge rules": partial(merge_rules, table),
    "policy actions": partial(policy_actions, table),
    "item kinds": partial(item_kinds, table),
    "item names": partial(item_names, table),
    "item views": partial(item_views, table),
    "recall weights": partial(recall_weights, table),
    "findings": _findings,
    "aliases": _aliases,
    "statuses": _statuses,
    "tables": _tables,
    "topics": _topics,
    "transitions": _transitions,
    "phases": _phases,
    "precedence": _precedence,
    "scopes": _scopes,
    "places": _places,
    "origin": _origin,
    "references": _references,
    "labels": _labels,
    "authorities": _authorities,
    "attribute views": _attribute_views,
    "attribute policies": _attribute_policies,
    "attribute refusals": _attribute_refusals,
    "reasons": _reasons,
    "admission": _admission,
    "limits": _limits,
    "fixed limits": _fixed,
    "profiles": _profiles,
    "pressure": _pressure,
    "policies": _policies,
    "kinds": _kinds,
    "errors": _errors,
}
