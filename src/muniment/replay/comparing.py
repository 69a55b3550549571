"""The first difference between two runs: by line, then by what was measured, then by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from muniment.replay.replay_report import Digested, FixtureRun, KeyCounts, Measured

# What is compared of a measurement; a difference explains those after it.
PLAIN = ("fault", "sound", "size", "root", "checkpoint", "keys")


class Difference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A difference: after which line, in what, under which key, and the digests, counts or codes of both sides.

    Never the content that differs.
    """

    line: int
    what: str
    key: str | None = None
    one: str | None = None
    other: str | None = None

    def told(self) -> str:
        """Return the difference as text."""
        where = f"line {self.line}: {self.what}" + (f", {self.key}" if self.key else "")
        sides = f": {self.one or 'absent'}, and {self.other or 'absent'}"
        return where + (sides if self.one is not None or self.other is not None else "")


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
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            yield Difference(line=one.line, what=name, one=_told(mine), other=_told(theirs))
    for kind, ours, others in (
        ("projection", one.projections, other.projections),
        ("view", one.views, other.views),
    ):
        for name in sorted(ours.keys() | others.keys()):
            key = _first_key(ours.get(name), others.get(name))
            if key is not None:
                sides = (_digest_of(each.get(name), key) for each in (ours, others))
                yield Difference(line=one.line, what=f"{kind} {name}", key=key, one=next(sides), other=next(sides))


def _told(value: object) -> str | None:
    """Return what was measured as text: a count, a digest, a code, or counts of keys."""
    if isinstance(value, KeyCounts):
        return f"{value.bundles} bundles, {value.contents} contents, {value.versions} versions"
    return None if value is None else str(value).lower()


def _digest_of(digested: Digested | None, key: str) -> str | None:
    if digested is None:
        return None
    return digested.rows.get(key, digested.digest if key in {"digest", "all of it"} else None)


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
