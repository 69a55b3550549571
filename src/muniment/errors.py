"""Everything that muniment raises on purpose.

One root, one class per refusal. A class carries two constants that never change once released: `code`, a dotted
name that hosts match on, and `kind`, which is all that a transport needs to know (HTTP status, CLI exit code, JSON-RPC
error). The first line of a class docstring is the sentence that a person reads.

An error text holds codes, field paths, positions and counts. It never holds content, keys or names that a host gave us:
an error travels to places where the words of a conversation must not. That is why the constructors below take no free
text.

The vendored verifier (`muniment.evidence.verifier`) must not import this file; it has one error of its own, `Refused`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class Kind(StrEnum):
    """Whose turn it is to act: the caller (invalid, denied, missing, conflict, exhausted) or the operator."""

    INVALID = "invalid"
    DENIED = "denied"
    MISSING = "missing"
    CONFLICT = "conflict"
    CORRUPT = "corrupt"
    UNAVAILABLE = "unavailable"
    EXHAUSTED = "exhausted"


class MunimentError(Exception):
    """Something went wrong that muniment foresaw.

    `at` is a path inside the request or the store (`messages[3].parts[0]`, `position 17`), never a value.
    `problem` is a word from our own vocabulary (`too_long`), never text from outside. `limit` and `found` are numbers.
    """

    code: ClassVar[str] = "muniment"
    kind: ClassVar[Kind] = Kind.INVALID

    def __init__(
        self,
        *,
        at: str | None = None,
        problem: str | None = None,
        limit: int | None = None,
        found: int | None = None,
    ) -> None:
        self.at = at
        self.problem = problem
        self.limit = limit
        self.found = found
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        first = (type(self).__doc__ or "").partition("\n")[0].rstrip(".")
        facts = {"at": self.at, "problem": self.problem, "limit": self.limit, "found": self.found}
        told = ", ".join(f"{name} {fact}" for name, fact in facts.items() if fact is not None)
        return f"{self.code}: {first}" + (f" ({told})" if told else "")

    def report(self) -> dict[str, str | int]:
        """Return the error as plain data, the same on every transport: code, kind, message and the known facts."""
        facts = {"at": self.at, "problem": self.problem, "limit": self.limit, "found": self.found}
        known = {name: fact for name, fact in facts.items() if fact is not None}
        return {"code": self.code, "kind": str(self.kind), "message": str(self), **known}


# --- requests -------------------------------------------------------------------------------------------------------


class InvalidInput(MunimentError):
    """The request does not have the form that the operation takes."""

    code = "request.invalid"
    kind = Kind.INVALID


class LimitExceeded(MunimentError):
    """The request is larger than a limit of this space; nothing was cut and nothing was written."""

    code = "request.limit_exceeded"
    kind = Kind.EXHAUSTED


class ForeignSpace(MunimentError):
    """The request names another space than the one that is open."""

    code = "request.foreign_space"
    kind = Kind.DENIED


class NotCanonical(MunimentError):
    """The value has no canonical form: JSON with finite numbers, valid Unicode and bounded depth is wanted."""

    code = "request.not_canonical"
    kind = Kind.INVALID


class AccessDenied(MunimentError):
    """The access in force does not include this operation or view."""

    code = "access.denied"
    kind = Kind.DENIED


class CapabilityHidden(MunimentError):
    """A policy of this deployment hides this operation or view; `system.capabilities` lists what is hidden."""

    code = "capability.hidden"
    kind = Kind.DENIED


class NotConfirmed(MunimentError):
    """The operation may destroy content and was not confirmed; nothing was changed."""

    code = "request.not_confirmed"
    kind = Kind.DENIED


class FileUnavailable(MunimentError):
    """The file that was named cannot be read or written."""

    code = "file.unavailable"
    kind = Kind.MISSING

    @classmethod
    def because(cls, fault: OSError | ValueError, *, at: str) -> FileUnavailable:
        """Return the error for what the operating system said; a path that is no path is a file that is not there."""
        for kind, problem in cls._PROBLEMS.items():
            if isinstance(fault, kind):
                return cls(at=at, problem=problem)
        return cls(at=at, problem="not_accessible")

    _PROBLEMS: ClassVar[dict[type[Exception], str]] = {
        FileNotFoundError: "not_found",
        NotADirectoryError: "not_found",
        ValueError: "not_found",
        IsADirectoryError: "is_directory",
        PermissionError: "not_permitted",
    }


# --- cursors --------------------------------------------------------------------------------------------------------


class CursorInvalid(MunimentError):
    """The cursor was not issued for this request."""

    code = "cursor.invalid"
    kind = Kind.INVALID


class CursorStale(MunimentError):
    """What the cursor leads through has changed, or the cursor has expired; begin again without it."""

    code = "cursor.stale"
    kind = Kind.CONFLICT


# --- transcripts ----------------------------------------------------------------------------------------------------


class TurnConflict(MunimentError):
    """A turn with this id was committed before with other content; nothing was written."""

    code = "transcript.turn_conflict"
    kind = Kind.CONFLICT


class AliasConflict(MunimentError):
    """The chat id already stands for another conversation of this subject; nothing was written."""

    code = "transcript.alias_conflict"
    kind = Kind.CONFLICT


class UnknownConversation(MunimentError):
    """The space has no conversation of this name."""

    code = "transcript.unknown_conversation"
    kind = Kind.MISSING


class UnknownPlace(MunimentError):
    """The conversation has no such turn, message, part or field."""

    code = "transcript.unknown_place"
    kind = Kind.MISSING


class WordsErased(MunimentError):
    """The words are erased; there is nothing left to show or to redact."""

    code = "transcript.words_erased"
    kind = Kind.CONFLICT


# --- lifecycle ------------------------------------------------------------------------------------------------------


class HoldMissing(MunimentError):
    """There is no hold at this position of the log."""

    code = "lifecycle.hold_missing"
    kind = Kind.MISSING


class SpaceErased(MunimentError):
    """The space was erased: its keys are destroyed, and nothing in it can be read or written any more."""

    code = "space.erased"
    kind = Kind.MISSING


# --- keys -----------------------------------------------------------------------------------------------------------


class KeyWrong(MunimentError):
    """The root key is not the one that this store was made with; nothing was read or written."""

    code = "key.wrong"
    kind = Kind.DENIED


class KeyUnavailable(MunimentError):
    """The root key cannot be had from the source that was named."""

    code = "key.unavailable"
    kind = Kind.UNAVAILABLE


class KeyExposed(MunimentError):
    """The key file can be read by others; make it readable by its owner alone (chmod 600)."""

    code = "key.exposed"
    kind = Kind.DENIED


class KeyInvalid(MunimentError):
    """The root key or the source that was named for it is malformed."""

    code = "key.invalid"
    kind = Kind.INVALID


class KeyMissing(MunimentError):
    """A key is missing for content that the log does not call erased."""

    code = "key.missing"
    kind = Kind.CORRUPT


# --- the store ------------------------------------------------------------------------------------------------------


class Corrupt(MunimentError):
    """What is stored does not agree with its proof; nothing of it is shown."""

    code = "store.corrupt"
    kind = Kind.CORRUPT


class RolledBack(MunimentError):
    """The store is behind a checkpoint that is kept outside it; it opens for inspection only."""

    code = "store.rolled_back"
    kind = Kind.CORRUPT


class StoreMissing(MunimentError):
    """There is no store, or no such space, at the place that was named."""

    code = "store.missing"
    kind = Kind.MISSING


class StoreNewer(MunimentError):
    """The store was written by a newer release; this one does not touch it."""

    code = "store.newer"
    kind = Kind.UNAVAILABLE


class StoreFull(MunimentError):
    """There is no room left for the write; nothing of it was kept."""

    code = "store.full"
    kind = Kind.EXHAUSTED


class StoreReadOnly(MunimentError):
    """The store cannot be written, and what was asked for needs that."""

    code = "store.read_only"
    kind = Kind.UNAVAILABLE


class StoreBusy(MunimentError):
    """Other writers held the store for longer than the patience of this one; the request may be repeated."""

    code = "store.busy"
    kind = Kind.UNAVAILABLE


class StoreFault(MunimentError):
    """The disk refused a read or a write; the store reopens before it trusts anything again."""

    code = "store.fault"
    kind = Kind.UNAVAILABLE


class StoreClosed(MunimentError):
    """The store is closed."""

    code = "store.closed"
    kind = Kind.UNAVAILABLE


class Conflict(MunimentError):
    """The state that the write was decided on has changed meanwhile; nothing was written."""

    code = "log.conflict"
    kind = Kind.CONFLICT


# --- backups --------------------------------------------------------------------------------------------------------


class FileTaken(MunimentError):
    """There is a file of this name already; nothing was written over it."""

    code = "file.taken"
    kind = Kind.CONFLICT


class RestoreConflict(MunimentError):
    """A restore would take something away that is there, and that was not asked for; nothing was changed."""

    code = "backup.restore_conflict"
    kind = Kind.CONFLICT


# --- archives -------------------------------------------------------------------------------------------------------


class ArchiveRefused(MunimentError):
    """The archive is not what it says it is, or not what was asked for; nothing was written."""

    code = "archive.refused"
    kind = Kind.CORRUPT


class ArchiveConflict(MunimentError):
    """What is here stands in the way of the archive; nothing was written."""

    code = "archive.conflict"
    kind = Kind.CONFLICT


# --- models ---------------------------------------------------------------------------------------------------------


class ModelInvalid(MunimentError):
    """The model that was named is not one that can be used."""

    code = "model.invalid"
    kind = Kind.INVALID


class ModelUnavailable(MunimentError):
    """The embedder that was named is not there: not installed, not imported, or its settings are missing."""

    code = "model.unavailable"
    kind = Kind.UNAVAILABLE


# --- contexts -------------------------------------------------------------------------------------------------------


class TokensUnavailable(MunimentError):
    """Tokens cannot be counted in this encoding here."""

    code = "tokens.unavailable"
    kind = Kind.UNAVAILABLE


# --- evidence -------------------------------------------------------------------------------------------------------


class EvidenceRefused(MunimentError):
    """The evidence does not prove what it claims."""

    code = "evidence.refused"
    kind = Kind.CORRUPT


class EvidenceMissing(MunimentError):
    """There is nothing in the log to prove for this request."""

    code = "evidence.missing"
    kind = Kind.MISSING
