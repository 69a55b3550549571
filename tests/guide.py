"""The parts of the documents that are generated from the tables of the product.

A part stands between the lines `<!-- generated: NAME -->` and `<!-- end -->`. Each has a function here that makes it
anew; `tests/schemas.py` lists the documents among the published contracts, compares and rewrites them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from msgspec.structs import fields

from muniment import errors
from muniment.errors import MunimentError
from muniment.events.changes import Transition
from muniment.events.references import Plane
from muniment.events.turn import Visibility
from muniment.governance.admission import KEPT
from muniment.governance.annotation import AttributeRefusal
from muniment.governance.attribute_visibility import AFTER, SHOWS_ATTRIBUTES, ShownValue
from muniment.governance.custody import KEEPS, Rule
from muniment.governance.detection.detection import Detect, detection_for
from muniment.governance.detection.scan import DetectedType
from muniment.governance.limits import Limits
from muniment.governance.phases import NEXT
from muniment.governance.policy import FAMILIES, HIDES
from muniment.governance.profiles import BRINGS, SHARES, BudgetCause, Ceiling, Profile, budget_of
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
from muniment.transports.cli.failure import EXIT_CODES
from muniment.transports.cli.guide import TOPICS, chapter

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "src/muniment/guide"

_PART = re.compile(r"(?ms)^<!-- generated: ([a-z ]+) -->\n(.*?)^<!-- end -->$")
YES, NO = "yes", "-"


def documents() -> list[Path]:
    """Return the documents that may have generated parts."""
    return [ROOT / "README.md", *sorted(GUIDE.glob("*.md"))]


def renewed(text: str) -> str:
    """Return a document with every generated part made anew."""
    return _PART.sub(lambda part: f"<!-- generated: {part[1]} -->\n{PARTS[part[1]]()}<!-- end -->", text)


def parts_of(text: str) -> list[str]:
    """Return the names of the generated parts of a document."""
    return [part[1] for part in _PART.finditer(text)]


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
    rows = [[phase, _reason(withheld_by_phase(phase), "as the view says")] for phase in NEXT]
    return table(["phase", "the words"], rows)


def _reason(reason: Reason | None, otherwise: str) -> str:
    return otherwise if reason is None else f"withheld: `{reason}`"


RULES: dict[Rule, str] = {
    Rule.HOLD: "somebody holds it, and did not release it",
    Rule.LEGAL_MINIMUM: "a policy says that it is kept longer than it was kept so far",
    Rule.ERASE_REQUEST: "somebody asks for it to be erased",
    Rule.RETENTION: "a policy says that its time is over, and `apply_retention` runs",
    Rule.DEFAULT: "nothing was said of it",
}


def _precedence() -> str:
    rows = [[f"`{rule}`", RULES[rule], "kept" if keeps else "erased"] for rule, keeps in KEEPS.items()]
    return table(["rule", "applies when", "the words are"], rows)


SCOPES: dict[str, tuple[str, str]] = {
    "conversation": ("all turns that the conversation has now", "its names; turns that come later"),
    "turn": ("the words of one turn, and what was recorded beside it", "everything else of the turn"),
    "message": ("the words of one message, by its id", "the other messages; summaries and labels of the turn"),
    "subject": (
        "every turn whose subject, acting or mounted subject it is",
        "the name in who spoke and in chat ids; turns in which it only speaks",
    ),
    "whole_space": ("everything sealed, all keys, all names", "headers, tree, checkpoints: the audit holds"),
}


def _scopes() -> str:
    return table(["scope", "what goes", "what stays"], [[f"`{name}`", *told] for name, told in SCOPES.items()])


# --- who sees what ----------------------------------------------------------------------------------------------------

PLACES: dict[PartRole, str] = {
    PartRole.USER_WORDS: "words of the user",
    PartRole.ANSWER: "the answer: the last words of the assistant",
    PartRole.TOOL_STEP: "calls of tools and what they returned",
    PartRole.SYSTEM_STEP: "system text",
    PartRole.ASSISTANT_STEP: "what the assistant said on the way",
    PartRole.REASONING: "reasoning",
}

REASONS: dict[Reason, str] = {
    Reason.ERASED: "the words were erased",
    Reason.LIFECYCLE_MASKED: "the turn is masked",
    Reason.PRIVATE_AUTHORITY: "the message belongs to a private plane of the agent; the raw owner alone sees it",
    Reason.OPERATOR_ONLY: "the message is a diagnosis of the system; the raw owner alone sees it here",
    Reason.VIEW_POLICY: "the view does not show what stands in this place",
    Reason.HOST_REF_VISIBILITY: "the host recorded the reference for other views",
    Reason.HOST_REF_LABEL: "the reference is shown, what somebody called it is not",
    Reason.ATTR_VISIBILITY: "the attribute was recorded for other views, or it is not valid any more",
    Reason.ATTR_LIFECYCLE_POLICY: "its turn is masked or erased, and the policy of the attribute hides the value then",
    Reason.ATTR_VALUE_BUDGET: "the view shows more attributes of the turn or message than the profile has room for",
    Reason.PROFILE_BUDGET: "the view shows more host references than the profile has room for",
    Reason.REDACTED: "somebody redacted it for this view; the item has the causes",
    Reason.DETECTED: "it was looked for in this view and found; the item has the types",
    Reason.DETECTION_FAILED: "what was looked for in this view could not be, so all of the text is withheld",
}


def _by_view(head: str, rows: Mapping[str, Callable[[View], bool]]) -> str:
    told = [[name, *(YES if shows(view) else NO for view in View)] for name, shows in rows.items()]
    return table([head, *View], told)


def _places() -> str:
    def shown(place: PartRole) -> Callable[[View], bool]:
        return lambda view: place in SHOWS[view]

    return _by_view("place", {PLACES[place]: shown(place) for place in PartRole})


def _origin() -> str:
    return _by_view(
        "",
        {"source, tool observations, use of external content, source of attributes": lambda view: view in SHOWS_ORIGIN},
    )


def _by_visibility(shows: Mapping[View, frozenset[Visibility]]) -> str:
    def shown(visibility: Visibility) -> Callable[[View], bool]:
        return lambda view: visibility in shows[view]

    return _by_view("recorded for", {visibility: shown(visibility) for visibility in Visibility})


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
    AttributeRefusal.ID_MALFORMED: "the id is empty, too long, has control characters, or blanks at its ends",
    AttributeRefusal.ID_REPEATED: "the id occurs more than once in the request",
    AttributeRefusal.KEY_MALFORMED: "not `host` or `memory` and two or more parts of letters, digits, `_` or `-`",
    AttributeRefusal.SCHEMA_MALFORMED: "the name of the schema is no name",
    AttributeRefusal.KIND_DIFFERS: "the value is not of the kind that is said; null is of none",
    AttributeRefusal.VALUE_NOT_CANONICAL: "the value is no JSON, or too deep, or holds what has no canonical form",
    AttributeRefusal.VALUE_TOO_LARGE: "the value is larger than its governance or the store allows",
    AttributeRefusal.SIZE_OUT_OF_RANGE: "`value_bytes_max` is not above 0",
    AttributeRefusal.MESSAGE_MISSING: "scope `message`, and no message is named",
    AttributeRefusal.MESSAGE_NOT_TAKEN: "scope `turn`, and a message is named",
    AttributeRefusal.WRITER_MALFORMED: "the writer is no name",
    AttributeRefusal.REASON_MALFORMED: "the reason is blank or too long",
    AttributeRefusal.LINK_MALFORMED: "relation, kind or id of a link is no name",
    AttributeRefusal.TOO_MANY_LINKS: "there are more links than an attribute may have",
    AttributeRefusal.TIME_OUT_OF_RANGE: "a time is before 1970 or after 9999",
    AttributeRefusal.UPDATED_BEFORE_CREATED: "the update time is before the creation time",
    AttributeRefusal.UNKNOWN_TURN: "the conversation has no such turn",
    AttributeRefusal.UNKNOWN_MESSAGE: "the turn has no such message",
    AttributeRefusal.ERASED: "the turn, or the message, was erased",
    AttributeRefusal.TARGET_DIFFERS: "the id is known, and is about another turn or message",
    AttributeRefusal.TOO_MANY_OF_TURN: "the turn has as many attributes as it may have",
}


def _attribute_views() -> str:
    def told(view: View, visibility: Visibility) -> str:
        allowed = "if allowed" if view is View.EXPORT else YES
        return allowed if visibility in SHOWS_ATTRIBUTES[view] else NO

    rows = [[visibility, *(told(view, visibility) for view in View)] for visibility in Visibility]
    return table(["recorded for", *View], rows)


def _attribute_policies() -> str:
    rows = [
        [policy, phase, *(SHOWN[shown[view]] for view in View)]
        for policy, phases in AFTER.items()
        for phase, shown in phases.items()
    ]
    return table(["policy", "phase", *View], rows)


def _attribute_refusals() -> str:
    return table(["reason", "means"], [[f"`{refusal}`", REFUSALS[refusal]] for refusal in AttributeRefusal])


def _authorities() -> str:
    return table(["authority", "in every view but raw_owner"], [[each, _reason(PRIVATE[each], "")] for each in PRIVATE])


def _reasons() -> str:
    return table(["reason", "means"], [[f"`{reason}`", REASONS[reason]] for reason in Reason])


def _admission() -> str:
    rows = []
    for delivery, (roles, skip) in KEPT.items():
        kept = "every message that says something" if len(roles) > 1 else "the user's messages that say something"
        rows.append([delivery, kept if roles else "nothing", f"`{skip}`"])
    return table(["delivery", "what is kept", "reason, when nothing is left"], rows)


# --- limits -----------------------------------------------------------------------------------------------------------

LIMITS: dict[str, str] = {
    "message_bytes_max": "one message: its parts as canonical JSON",
    "message_parts_max": "parts in one message",
    "turn_bytes_max": "all messages of a turn together",
    "turn_messages_max": "messages in a turn",
    "turn_host_refs_max": "host references in a turn",
    "turn_tools_max": "tool observations in a turn",
    "turn_candidates_max": "ids of memory candidates in a turn",
    "turn_attributes_max": "attributes of a turn and of its messages; one that replaces another is not counted again",
    "attribute_bytes_max": "the value of an attribute, as canonical JSON",
    "attributes_max": "attributes in one request",
    "page_turns_max": "turns (or conversations) in a page",
    "report_items_max": "turns, messages and references that a lifecycle report lists; its counts are always whole",
    "activity_ranges_max": "ranges of time whose activity is counted at once",
    "derivations_max": "derived references in one recording",
    "source_turns_max": "turns that one derived reference names as its source",
}

# module and name of a limit that is the same for every store -> what it limits
FIXED: dict[tuple[str, str], str] = {
    ("events.binding", "REQUEST_BYTES_MAX"): "one request, and a file that stands for one on the command line",
    ("events.identity", "NAME_BYTES_MAX"): "a name: space, channel, conversation, chat, turn, subject, requester",
    ("operations.lifecycle", "REASON_BYTES_MAX"): "the reason given for a transition",
    ("governance.annotation", "ATTRIBUTE_REASON_BYTES_MAX"): "the reason given for an attribute",
    ("governance.annotation", "ATTRIBUTE_LINKS_MAX"): "links of an attribute",
    ("kernel.canonical", "DEPTH_MAX"): "levels in a JSON value: arguments and results of tools, values of attributes",
    ("kernel.canonical", "NODES_MAX"): "members and elements in such a value",
    ("kernel.cursor", "CURSOR_CHARS_MAX"): "a cursor",
    ("operations.evidence.evidence", "BUNDLE_EVENTS_MAX"): "events in an export bundle",
    ("evidence.verifier", "LINE_BYTES_MAX"): "one line of a bundle, for the verifier",
    ("formats.reading.lines", "LINE_BYTES_MAX"): "one line of a file that is imported",
    ("formats.reading.grouping", "CONVERSATIONS_MAX"): "conversations in one file that is imported",
    ("formats.reading.grouping", "OPEN_CONVERSATIONS_MAX"): "conversations that may be interleaved there",
    ("formats.reading.grouping", "OPEN_BYTES_MAX"): "messages of theirs that wait for the next line",
    ("operations.spaces.import_file", "REPORTED_MAX"): "refused lines and refused turns that an import lists",
    ("crypto.root_sources", "PASSPHRASE_BYTES_MAX"): "a passphrase",
    (
        "crypto.keyring",
        "VERSIONS_MAX",
    ): "versions of a space key alive at once, when rotations were begun and not ended",
    ("log.connection", "PATIENCE_S"): "how long a writer waits for writers of other processes before `store.busy`",
    ("ledger.ledger", "CHECKPOINT_EVENTS"): "events after which a log is signed at the latest",
}


def _limits() -> str:
    return table(
        ["limit", "default", "of what"],
        [[f"`{each.name}`", _amount(each.name, each.default), LIMITS[each.name]] for each in fields(Limits)],
    )


def _fixed() -> str:
    return table(["limit", "of what"], [[amount, told] for amount, told in _fixed_amounts()])


def _fixed_amounts() -> Iterator[tuple[str, str]]:
    for (module, name), told in FIXED.items():
        yield _amount(name.lower(), getattr(import_module(f"muniment.{module}"), name)), told


UNITS = {"s": "seconds", "chars": "characters", "events": "events", "bytes": "bytes"}


def _amount(name: str, value: float) -> str:
    """Return a number with the unit that its name ends with."""
    unit = UNITS.get(name.removesuffix("_max").removesuffix("_default").rpartition("_")[2], "")
    for size, larger in ((2**20, "MiB"), (2**10, "KiB")):
        if unit == "bytes" and value >= size and value % size == 0:
            return f"{value // size:,.0f} {larger}"
    return f"{value:,.0f} {unit}".rstrip()


# --- repair -----------------------------------------------------------------------------------------------------------


def _issues() -> str:
    return table(["issue", "means"], [[f"`{kind}`", MEANS[kind]] for kind in FindingKind])


def _planes() -> str:
    return table(["plane", "holds"], [[f"`{plane}`", PLANES[plane]] for plane in Plane])


PLANES: dict[Plane, str] = {
    Plane.LONG_TERM: "what is remembered of and for one subject",
    Plane.SHARED_FACT: "facts that several subjects share",
    Plane.PROCEDURAL_SKILL: "how something is done",
    Plane.TASK_LEARNING: "what was learned from a task",
    Plane.ARCHIVE_EVIDENCE: "summaries and extracts of transcripts",
    Plane.PRIVATE_GARDEN: "private material of the agent; a reference names no message",
    Plane.SOUL_CANDIDATE_HANDOFF: "what was handed over as a candidate, whatever became of it",
}

# --- profiles, policies -----------------------------------------------------------------------------------------------

CEILINGS: dict[Ceiling, str] = {
    Ceiling.PAGE_TURNS: "turns (or conversations) in a page",
    Ceiling.HOST_REFS_PER_TURN: "host references shown of a turn",
    Ceiling.ATTRIBUTES_PER_TURN: "attributes shown of a turn, and of a message",
    Ceiling.REDACTION_ITEMS: "items about what is withheld, in a page or report",
    Ceiling.DERIVED_REFS: "derived references in a lifecycle report",
    Ceiling.INSPECTION_FINDINGS: "issues that a repair lists",
    Ceiling.RENDERED_CHARS: "characters of a context, and of what else your host renders for a model",
}

CAUSES: dict[BudgetCause, str] = {
    BudgetCause.PRESSURE_CAUTIOUS: "the level is `cautious`",
    BudgetCause.PRESSURE_CRITICAL: "the level is `critical`",
    BudgetCause.MEMORY_AT_FLOOR: "free memory is at its floor or below",
    BudgetCause.MEMORY_NEAR_FLOOR: "free memory is below twice its floor",
    BudgetCause.MEMORY_UNKNOWN: "free memory is not known",
    BudgetCause.STORAGE_UNKNOWN: "free storage is not known",
}


def _profiles() -> str:
    budgets = [budget_of(profile) for profile in Profile]
    rows = [[CEILINGS[each], *(f"{budget.ceiling(each):,}" for budget in budgets)] for each in Ceiling]
    brought = [", ".join(f"`{each}`" for each in sorted(BRINGS[profile])) or NO for profile in Profile]
    return table(["at most", *Profile], [*rows, ["policies that it brings", *brought]])


def _pressure() -> str:
    return table(
        ["limited by", "when", "leaves"], [[f"`{each}`", CAUSES[each], f"{share} %"] for each, share in SHARES.items()]
    )


def _policies() -> str:
    rows = []
    for policy, hides in HIDES.items():
        operations = [f"`{name}`" for name, family in FAMILIES.items() if family in hides.families]
        views = [f"`{view}`" for view in View if view in hides.views]
        rows.append([f"`{policy}`", ", ".join(operations) or NO, ", ".join(views) or NO])
    return table(["policy", "hides the operations", "hides the views"], rows)


# --- errors, topics ---------------------------------------------------------------------------------------------------


def _errors() -> str:
    known = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, MunimentError)]
    return table(
        ["code", "kind", "exit", "says"],
        [
            [f"`{each.code}`", each.kind, str(EXIT_CODES[each.kind]), (each.__doc__ or "").partition("\n")[0]]
            for each in known
            if each is not MunimentError
        ],
    )


def _kinds() -> str:
    return table(["kind", "exit"], [[kind, str(code)] for kind, code in EXIT_CODES.items()])


def _topics() -> str:
    return table(["page", "is about"], [[f"`muniment guide {each}`", chapter(each).title] for each in TOPICS])


DETECTED: dict[DetectedType, str] = {
    DetectedType.PRIVATE_KEY: "private keys in PEM, whole or cut off",
    DetectedType.JWT: "JSON web tokens whose header names an algorithm",
    DetectedType.API_KEY: "keys of well-known vendors, by the form that each of them publishes",
    DetectedType.PAYMENT_CARD: "card numbers of known schemes, by length and check digit",
    DetectedType.IBAN: "account numbers, by the length of their country and check digits",
    DetectedType.EMAIL: "e-mail addresses",
    DetectedType.IP_ADDRESS: "IPv4 and IPv6 addresses, but for loopback and masks",
    DetectedType.PHONE_NUMBER: "international numbers, national writings with structure, others where words say so",
    DetectedType.SECRET: "tokens that look drawn by chance, and passwords in URLs",
    DetectedType.KNOWN_NAME: "names that you give, and those of who is behind the turn, as whole words in any case",
}


def _detected() -> str:
    found = detection_for(Detect(views={View.RAW_OWNER: frozenset(DetectedType)})).view(View.RAW_OWNER).coverage
    return table(
        ["type", "what is found", "detectors"],
        [[f"`{one.type}`", DETECTED[one.type], ", ".join(f"`{name}`" for name in one.detectors)] for one in found],
    )


# name of a part -> what makes it
PARTS: dict[str, Callable[[], str]] = {
    "detected": _detected,
    "planes": _planes,
    "issues": _issues,
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
