"""The vocabulary as executable rules: names and phrases that are retired, and one thing for each name.

`NAMES` and `PHRASES` say what to write instead. Files are read as a whole, so a phrase is found across a line break.
`tests/test_tidy.py` runs the rules.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

# identifier that nothing is called any more -> what to call it
NAMES: dict[str, str] = {
    "Aim": "Target",
    "Alike": "Similarities",
    "Asked": "the request that it is",
    "Beside": "the columns that they are",
    "Chance": "SeededSources, Entropy",
    "Desk": "Session",
    "Door": "StoreOptions",
    "Errand": "GuardedCall",
    "Found": "the page or result that it is",
    "Fuse": "CrashTrigger",
    "Fused": "CrashingStore",
    "Gathered": "the collected thing that it is",
    "Gathering": "a Builder",
    "Grave": "ErasedKeyFile",
    "Guest": "Evictable",
    "Heard": "AffectedTurns",
    "Home": "OpenStore",
    "Issue": "Finding",
    "Looked": "the measurement that it is",
    "Looking": "ViewDetection",
    "Lookout": "Detection",
    "Lot": "Turns",
    "Miss": "MissingReason",
    "Mood": "TextStyle",
    "PuttingBack": "LogRestorer",
    "Rederived": "RebuiltProjection",
    "Repairing": "Inspecting",
    "Ring": "UnwrappedKeys",
    "Said": "the text that it is",
    "Shelf": "Indexes",
    "Slot": "ViewIndex",
    "Sought": "WantedTerms",
    "Spoken": "the message that it is",
    "Standing": "IndexStatus, AttributeState",
    "Stretch": "a Range",
    "Taken": "the received thing that it is",
    "Told": "the lines or events that they are",
    "Understood": "QueryReading",
    "Whole": "the checks that they are",
    "Witness": "CheckpointSigner",
    "bury": "destroy_keys",
    "delete_raw": "erase",
    "desk": "session",
    "desk_at": "session_at",
    "incarnation": "epoch",
    "lookout": "detection",
    "raw_deleted": "erased",
    "reincarnate": "begin_epoch",
    "roomily": "with_reserve",
    "shelf": "indexes",
}

# phrase that no text uses any more (a blank stands for any white space) -> what to write
PHRASES: tuple[tuple[str, str], ...] = (
    (r"\banew\b", "again; rebuilt; rewrapped; regenerated"),
    (r"\bwhat (?:is|was) derived\b(?! from)", "derived data; projections"),
    (r"\bderiv(?:e|es|ed|ing) everything\b", "rebuild all projections"),
    (r"\bbit by bit\b", "incrementally"),
    (r"\bhowever it came about\b", "however it was computed"),
    (r"\b(?:is|are|was|were|be|been) held (?:against|to)\b", "is compared with; is checked against"),
    (r"\bholds? (?:them|it|what \w+ \w+|the one) (?:to|against)\b", "compares with; checks against"),
    (r"\bla(?:id|y|ys|ying) against\b", "around; compared with"),
    (r"\bholds? another against\b", "a hold protects it from erasure"),
    (r"\bturns? (?:it |a check )?red\b", "fails"),
    (r"\bthat is owed\b|\bthat it owes\b", "required"),
    (r"\banswers? from it\b", "lets you query"),
    (r"\b(?:is|are|be) had from\b|\bcannot be had\b", "comes from; is not available"),
    (r"\bit is meant\b|\bthis is meant\b", "confirm with"),
    (r"\bgiven by place\b|\bby its place\b", "as a positional argument; by location"),
    (r"\bfinding one's place\b", "browsing"),
    (r"\broom on the disk\b|\bthe room that\b", "disk space; disk usage"),
    (r"\bkept (?:back|free) for erasures?\b", "the reserve for erasures"),
    (r"\bno room left\b|\bthere is no room\b", "the disk is full"),
    (r"\bhas room for\b", "allows"),
    (
        r"\bturn(?:s|ed|ing)? (?:the |a |it |them |space |root )?(?:keys? )?over\b(?= *(?:the key|keys?\b|[.,;:]|$))",
        "rotate",
    ),
    (r"\bkeys? over\b", "rotate keys"),
    (r"\bgoes by\b", "passes"),
    (r"\bdies? with\b", "is destroyed with"),
    (r"\bfor ever\b", "permanently; for good"),
    (r"\bstrangers?\b", "third party; recipient; anyone with the public key"),
    (r"\bsee(?:n|s)? to the disk\b|\bseen to\b", "fix the disk"),
    (r"\bthe raw owner alone\b", "only raw_owner"),
    (r"\bgive the public key along\b", "and return the public key"),
    (r"\bdeeds?\b", "action"),
    (r"\bmade to take\b", "slowed"),
    (r"\btaken into the database\b", "checkpointed"),
    (
        r"\bst(?:ands?|ood) (?:in (?:the way|it|the (?:report|log|place))|as withheld|there|first|behind|beside)\b",
        "is; is in; blocks",
    ),
    (r"\blies? (?:in|beside|readable|sealed|there|under|outside)\b", "is stored in; is in"),
    (r"\bby itself alone\b|\balone by\b", "by itself"),
    (r"\bnobody has taken over\b", "not checkpointed"),
    (r"\bkeep their word\b|\bkept its word\b", "report a flush that they did not make"),
    (r"\ban? lying (?:flush|disk)\b|\bdisks? that lies?\b", "disk that fakes flushes"),
    (r"\bfirst said\b|\bsaid once more\b", "repeated"),
    (r"\bnot promised\b|\bwhat (?:it|is) promise[sd]\b", "not guaranteed; what it guarantees"),
    (r"\bthe way of its key\b", "the channel that delivers the key"),
    (r"\bof which nothing is shown\b", "without any visible part"),
    (r"\bwherever its store lies\b", "for any store directory"),
    (r"\bwords withheld\b", "content withheld"),
    (r"\bthe order in which they met\b", "their order"),
    (r"\bso that a quotation\b|\bcan pass for structure\b", "fake structure"),
    (r"\bis heard\b|\bare heard\b", "decides"),
    (r"\bits time is over\b|\bwhose time is over\b", "expired; older than the maximum"),
    (r"\bwhose turn it is\b", "who can act"),
    (r"\blists? of what is wrong\b", "findings"),
    (r"\bhouse (?:keeps|wants)\b|\bof the house\b", "the project; the project's"),
    (r"\bwho is behind the turn\b", "the participants"),
    (r"\blook(?:ed|s)? for what\b", "detects"),
    (r"\bdoes not have the form that\b", "Invalid request: {field}: {why}"),
    (r"\bat the place that was named\b|\bthe source that was named\b", "at {path}; from {path}"),
    (r"\btells what would be lost\b|\bsays that it is meant\b", "preview with; confirm with"),
    (r"\bthe log's own word\b", "self-declared"),
    (r"\bfinding one's way\b", "browsing"),
    (r"\bdelete_raw\b", "erase"),
    (r"\braw_deleted\b", "erased"),
    (r"\b(?:re)?incarnations?\b", "epoch"),
    (r"\breincarnate\b", "begin_epoch"),
)

# file -> why it may use retired names and phrases
EXEMPT: dict[str, str] = {
    "tests/vocabulary.py": "lists them",
    "tests/test_tidy.py": "shows that each is found",
    "tests/test_agmi.py": "its names are those of a foreign interface",
    "tests/crypto/make_vectors.py": "makes published vectors, whose names never change",
    "tests/events/make_vectors.py": "makes published vectors, whose names never change",
    "tests/evidence/make_vectors.py": "makes published vectors, whose names never change",
    "tests/log/make_vectors.py": "makes published vectors, whose names never change",
}
SUFFIXES = (".py", ".md", ".txt", ".toml", ".sql")
# class name -> why two classes may have it
SHARED_CLASSES: dict[str, str] = {}
# module name -> why two modules may have it
SHARED_MODULES: dict[str, str] = {
    "anthropic": "one reads the format, one records the client",
    "openai": "one reads and one writes the same format, one records the client",
    "otel": "one reads and one writes the same format",
}


class Retired(NamedTuple):
    """A use of something retired: the line, what is there, and what to write instead."""

    line: int
    text: str
    instead: str


def retired_names(tree: ast.Module) -> Iterator[Retired]:
    """Yield every identifier that a file defines and that is retired."""
    for node in ast.walk(tree):
        for line, name in _defined(node):
            instead = NAMES.get(name.strip("_"))
            if instead is not None:
                yield Retired(line, name, instead)


def _defined(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.lineno, node.name
    elif isinstance(node, ast.arg):
        yield node.lineno, node.arg
    elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.lineno, node.id if isinstance(node, ast.Name) else node.attr


def retired_phrases(text: str) -> list[Retired]:
    """Return every use of a retired phrase, in order."""
    if not _any().search(text):
        return []
    uses = [
        Retired(text.count("\n", 0, match.start()) + 1, " ".join(match.group().split()), instead)
        for pattern, instead in _patterns()
        for match in pattern.finditer(text)
    ]
    return sorted(uses)


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(compiled(pattern), instead) for pattern, instead in PHRASES]


@cache
def _any() -> re.Pattern[str]:
    return compiled("|".join(pattern for pattern, _ in PHRASES))


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of `PHRASES` as it is searched for: in any case, over line breaks."""
    return re.compile(re.sub(r" (?![*+?])", r"\\s+", pattern), re.IGNORECASE)


def shared_names(places: Iterable[tuple[str, str]], allowed: Mapping[str, str]) -> list[str]:
    """Return the names that stand for more than one thing, and exemptions that nothing needs, as sentences."""
    by_name: dict[str, list[str]] = {}
    for name, place in places:
        by_name.setdefault(name, []).append(place)
    shared = {name: where for name, where in by_name.items() if len(where) > 1}
    wrong = [f"{name}: {', '.join(where)}" for name, where in sorted(shared.items()) if name not in allowed]
    return wrong + [f"{name} needs no exemption" for name in allowed if name not in shared]
