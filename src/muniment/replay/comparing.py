"""The first difference between two runs: by line, then by what was measured, then by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from muniment.replay.replay_report import Digested, FixtureRun, Measured

# What is compared of a measurement; a difference explains those after it.
PLAIN = ("fault", "sound", "size", "root", "checkpoint", "keys")


class Difference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A difference: after which line, in what, under which key. Never the content that differs."""

    line: int
    what: str
    key: str | None = None

    def told(self) -> str:
        """Return the difference as text."""
        return f"line {self.line}: {self.what}" + (f", {self.key}" if self.key else "")


class ComparisonReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether two histories, or two reports, are the same, and their first difference."""

    same: bool
    difference: Difference | None = None


def first_difference(one: FixtureRun, other: FixtureRun) -> Difference | None:
    """Return where the measurements of two runs of a history differ first, or None."""
    for mine, theirs in zip(one.measured, other.measured, strict=False):
        found = next(differences(mine, theirs), None)
        if found is not None:
            return found
    if len(one.measured) != len(other.measured):
        longer = max((one.measured, other.measured), key=len)
        return Difference(line=longer[min(len(one.measured), len(other.measured))].line, what="measured in only one")
    return None


def differences(one: Measured, other: Measured) -> Iterator[Difference]:
    """Yield every difference between two measurements; the first explains the rest."""
    for name in PLAIN:
        if getattr(one, name) != getattr(other, name):
            yield Difference(line=one.line, what=name)
    for kind, mine, theirs in (
        ("projection", one.projections, other.projections),
        ("view", one.views, other.views),
    ):
        for name in sorted(mine.keys() | theirs.keys()):
            key = _first_key(mine.get(name), theirs.get(name))
            if key is not None:
                yield Difference(line=one.line, what=f"{kind} {name}", key=key)


def derived_difference(one: Mapping[str, Digested], other: Mapping[str, Digested]) -> str | None:
    """Return the first projection in which two derivations differ, with its key, or None."""
    for name in sorted(one.keys() | other.keys()):
        key = _first_key(one.get(name), other.get(name))
        if key is not None:
            return f"{name}, {key}"
    return None


def _first_key(one: Digested | None, other: Digested | None) -> str | None:
    """Return the first key whose digests differ; `digest` when only the whole differs; None when nothing does."""
    if one is None or other is None:
        return None if one is other else "all of it"
    if one.digest == other.digest and one.rows == other.rows:
        return None
    keys = sorted(one.rows.keys() | other.rows.keys(), key=_by_number)
    return next((key for key in keys if one.rows.get(key) != other.rows.get(key)), "digest")


def _by_number(key: str) -> tuple[str, int]:
    word, _, number = key.partition(" ")
    return word, int(number) if number.isdigit() else 0
