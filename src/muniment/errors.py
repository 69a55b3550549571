"""Everything that muniment raises on purpose.

One root, one class per refusal. A class has two constants that never change once released: `code`, a dotted name that
hosts match on, and `kind`, which is all that a transport needs to know (HTTP status, CLI exit code, JSON-RPC error).
The first line of a class docstring is what a person reads: what is wrong, then a semicolon, then what to do next. An
error puts the path, the problem and the numbers between the two.

An error text holds codes, field paths, positions and counts. It never holds content, keys or names that a host passed:
errors travel to logs and screens where content must not appear. That is why the constructors take no free text.

The vendored verifier (`muniment.evidence.verifier`) must not import this file; it has one error of its own, `Refused`.
"""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar

from muniment.phrases import PHRASES


class Kind(StrEnum):
    """Who can act: the caller (invalid, denied, missing, conflict, exhausted) or the operator (the others)."""

    INVALID = "invalid"
    DENIED = "denied"
    MISSING = "missing"
    CONFLICT = "conflict"
    CORRUPT = "corrupt"
    UNAVAILABLE = "unavailable"
    EXHAUSTED = "exhausted"


MISSPELT = frozenset({"unknown_field", "unknown_option"})  # problems whose choices are what was probably meant


class MunimentError(Exception):
    """A failure that muniment foresees.

    `at` is a path inside the request or the store (`messages[3].parts[0]`, `position 17`), never a value.
    `problem` is a word of muniment (`too_long`), never text from outside. `limit` and `found` are numbers. `choices`
    are words of muniment: those that are accepted there, or for an unknown field the names that were probably meant.

    `path` is the file or directory that the error is about, where that is known. It is for whoever runs the program: no
    text and no report holds it.
    """

    code: ClassVar[str] = "muniment"
    kind: ClassVar[Kind] = Kind.INVALID
    path: str | None = None
    counts: ClassVar[str] = ""  # how a sentence says `limit` and `found`, where that needs words of its own

    def __init__(
        self,
        *,
        at: str | None = None,
        problem: str | None = None,
        limit: int | None = None,
        found: int | None = None,
        choices: Sequence[str] = (),
    ) -> None:
        self.at = at
        self.problem = problem
        self.limit = limit
        self.found = found
        self.choices = tuple(choices)
        super().__init__(self._sentence())

    def __reduce__(self) -> tuple[Any, ...]:
        """Let an error travel to another process with all that it knows; the constructors take names alone."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]  # of pickle

    def _sentence(self) -> str:
        what, _, advice = (type(self).__doc__ or "").partition("\n")[0].rstrip(".").partition("; ")
        where = None if self.at is None or self.at in what else self.at
        told = ": ".join(part for part in (self.code, what, where, self._why()) if part is not None)
        told += "".join(f" ({each})" for each in (self._counts(), self._offer()) if each)
        return told + (f"; {advice}" if advice else "")

    def _why(self) -> str | None:
        return None if self.problem is None else PHRASES.get(self.problem, self.problem.replace("_", " "))

    def _counts(self) -> str:
        if self.counts and self.limit is not None:
            return self.counts.format(limit=self.limit, found=self.found)
        numbers = {"found": self.found, "limit": self.limit}
        return ", ".join(f"{name} {number}" for name, number in numbers.items() if number is not None)

    def _offer(self) -> str:
        if self.problem in MISSPELT and self.choices:
            return f"did you mean {' or '.join(self.choices)}?"
        return f"one of: {', '.join(self.choices)}" if self.choices else ""

    def report(self) -> dict[str, str | int | list[str]]:
        """Return the error as plain data, the same on every transport: code, kind, message and the known facts."""
        facts = {"at": self.at, "problem": self.problem, "limit": self.limit, "found": self.found}
        known: dict[str, str | int | list[str]] = {name: fact for name, fact in facts.items() if fact is not None}
        known |= {"choices": list(self.choices)} if self.choices else {}
        return {"code": self.code, "kind": str(self.kind), "message": str(self), **known}


# --- requests and cursors -------------------------------------------------------------------------------------------


class InvalidInput(MunimentError):
    """Invalid request."""

    code = "request.invalid"
    kind = Kind.INVALID


class LimitExceeded(MunimentError):
    """Limit exceeded; nothing was written: reduce the request, or raise the limit."""

    code = "request.limit_exceeded"
    kind = Kind.EXHAUSTED


class ForeignSpace(MunimentError):
    """Request names a space that is not open; open that space, or leave the name out."""

    code = "request.foreign_space"
    kind = Kind.DENIED


class NotCanonical(MunimentError):
    """Value cannot be stored exactly; use JSON with finite numbers, valid Unicode and little nesting."""

    code = "request.not_canonical"
    kind = Kind.INVALID


class AccessDenied(MunimentError):
    """Access denied; ask for this right, or use another view or operation."""

    code = "access.denied"
    kind = Kind.DENIED


class NotAuthenticated(MunimentError):
    """Missing or invalid client key; create one with `clients create`, or replace it with `clients rotate`."""

    code = "access.not_authenticated"
    kind = Kind.DENIED


class IssuerUnavailable(MunimentError):
    """Keys of the token issuer cannot be fetched; try again later, or give them to the server as a file."""

    code = "access.issuer_unavailable"
    kind = Kind.UNAVAILABLE


class KeyReused(MunimentError):
    """This idempotency key belongs to another request; nothing was changed: use a new key for a new request."""

    code = "request.key_reused"
    kind = Kind.CONFLICT


class RequestInProgress(MunimentError):
    """The request with this idempotency key has not finished; wait, or check whether it was carried out."""

    code = "request.in_progress"
    kind = Kind.CONFLICT


class AnswerErased(MunimentError):
    """The request with this idempotency key was carried out; its answer is no longer kept."""

    code = "request.answer_erased"
    kind = Kind.CONFLICT


class RateExceeded(MunimentError):
    """Too many requests from this client; wait, and send fewer."""

    code = "request.rate_exceeded"
    kind = Kind.EXHAUSTED


class StreamsExceeded(MunimentError):
    """This client has too many streams open; close one, or follow more with each."""

    code = "request.streams_exceeded"
    kind = Kind.EXHAUSTED


class RouteMissing(MunimentError):
    """Nothing is served here; /openapi.json lists what is."""

    code = "request.route_missing"
    kind = Kind.MISSING


class ServerBusy(MunimentError):
    """Server is busy; nothing was changed: try again later."""

    code = "request.busy"
    kind = Kind.UNAVAILABLE


class NotServed(MunimentError):
    """Not available over a network; run it beside the store."""

    code = "request.not_served"
    kind = Kind.DENIED


class ServerUnavailable(MunimentError):
    """Server does not answer; check its address, and that `muniment serve` runs there."""

    code = "server.unavailable"
    kind = Kind.UNAVAILABLE


class AnswerInvalid(MunimentError):
    """Cannot read the answer of the server; check its address, and use the same release on both sides."""

    code = "server.answer_invalid"
    kind = Kind.UNAVAILABLE


class ClientExists(MunimentError):
    """Client name is taken; choose another name, or replace its key with `clients rotate`."""

    code = "client.exists"
    kind = Kind.CONFLICT


class ClientMissing(MunimentError):
    """No such client; `clients list` lists those of the space."""

    code = "client.missing"
    kind = Kind.MISSING


class CapabilityHidden(MunimentError):
    """Hidden by a policy of this deployment; `system capabilities` lists what is hidden."""

    code = "capability.hidden"
    kind = Kind.DENIED

    def _why(self) -> str | None:
        return self.problem  # the name of the policy, as it is set


class NotConfirmed(MunimentError):
    """Not confirmed; nothing was changed: run it again and confirm."""

    code = "request.not_confirmed"
    kind = Kind.DENIED


class FileUnavailable(MunimentError):
    """Cannot read or write the file."""

    code = "file.unavailable"
    kind = Kind.MISSING

    @classmethod
    def because(cls, fault: OSError | ValueError, *, at: str) -> FileUnavailable:
        """Return the error for a fault of the operating system; an impossible path counts as not found."""
        known = [problem for kind, problem in cls._PROBLEMS.items() if isinstance(fault, kind)]
        error = cls(at=at, problem=[*known, "not_accessible"][0])
        error.path = fault.filename if isinstance(fault, OSError) and isinstance(fault.filename, str) else None
        return error

    _PROBLEMS: ClassVar[dict[type[Exception] | tuple[type[Exception], ...], str]] = {
        (FileNotFoundError, NotADirectoryError, ValueError): "not_found",
        IsADirectoryError: "is_directory",
        PermissionError: "not_permitted",
    }


class CursorInvalid(MunimentError):
    """Cursor does not belong to this request; start again without it."""

    code = "cursor.invalid"
    kind = Kind.INVALID


class CursorStale(MunimentError):
    """Cursor is out of date; start again without it."""

    code = "cursor.stale"
    kind = Kind.CONFLICT


# --- transcripts and lifecycle --------------------------------------------------------------------------------------


class TurnConflict(MunimentError):
    """This turn id is in use for other content; nothing was written: choose a new id."""

    code = "transcript.turn_conflict"
    kind = Kind.CONFLICT


class AliasConflict(MunimentError):
    """This chat id belongs to another conversation of the subject; nothing was written: choose a new chat id."""

    code = "transcript.alias_conflict"
    kind = Kind.CONFLICT


class UnknownConversation(MunimentError):
    """No such conversation; `conversations list` lists those that exist.

    `suggestions` are keys of conversations that the caller may list; they are in no text and in no report.
    """

    code = "transcript.unknown_conversation"
    kind = Kind.MISSING
    suggestions: tuple[Any, ...] = ()


class UnknownPlace(MunimentError):
    """No such turn, message, part, field, item, proposal, skill or registry; check its id in a list or a replay."""

    code = "transcript.unknown_place"
    kind = Kind.MISSING


class WordsErased(MunimentError):
    """Content is erased; it can be neither shown nor redacted."""

    code = "transcript.words_erased"
    kind = Kind.CONFLICT


class HoldMissing(MunimentError):
    """No hold at this position; `lifecycle receipts` lists the holds."""

    code = "lifecycle.hold_missing"
    kind = Kind.MISSING


class SpaceErased(MunimentError):
    """Space is erased; its keys are destroyed, and it can be neither read nor written."""

    code = "space.erased"
    kind = Kind.MISSING


# --- keys -----------------------------------------------------------------------------------------------------------


class KeyWrong(MunimentError):
    """Wrong root key for this store; nothing was read or written: use the key that the store was created with."""

    code = "key.wrong"
    kind = Kind.DENIED


class KeyUnavailable(MunimentError):
    """Cannot read the root key; check --keys or MUNIMENT_KEYS."""

    code = "key.unavailable"
    kind = Kind.UNAVAILABLE


class SignerUnavailable(MunimentError):
    """Signer outside the store does not answer; check MUNIMENT_SIGNER and the program that it names."""

    code = "signer.unavailable"
    kind = Kind.UNAVAILABLE


class SignerWrong(SignerUnavailable):
    """Signer outside the store has another key than this log; name the right one in MUNIMENT_SIGNER."""

    code = "signer.wrong"
    kind = Kind.DENIED


class KeyExposed(MunimentError):
    """Others can read the key file; make it private with `chmod 600`."""

    code = "key.exposed"
    kind = Kind.DENIED


class KeyInvalid(MunimentError):
    """Invalid root key, or invalid source of it; check --keys or MUNIMENT_KEYS."""

    code = "key.invalid"
    kind = Kind.INVALID


class KeyMissing(MunimentError):
    """Key is missing for content that was never erased; check the store with `evidence inspect`."""

    code = "key.missing"
    kind = Kind.CORRUPT


# --- the store ------------------------------------------------------------------------------------------------------


class Corrupt(MunimentError):
    """Stored data does not match its proof; keep a copy of the store, then run `evidence inspect`."""

    code = "store.corrupt"
    kind = Kind.CORRUPT


class RolledBack(MunimentError):
    """Store lost events that its pinned checkpoint knows; restore a newer copy, or delete the pin to accept the loss.

    An older copy was put in its place. It opens for inspection only. `path` is the file of the pin, where it is one.
    """

    code = "store.rolled_back"
    kind = Kind.CORRUPT
    counts = "{limit} events pinned, {found} found"


class FormerLife(RolledBack):
    """Store was replaced by a restored backup and came back; open the restored store, or delete the pin to keep this.

    It opens for inspection only. `path` is the file of the pin, where the pin is one.
    """

    code = "store.former_life"


class StoreMissing(MunimentError):
    """No such store or space; check --store and --space."""

    code = "store.missing"
    kind = Kind.MISSING


class StoreNewer(MunimentError):
    """Store was written by a newer release; upgrade muniment."""

    code = "store.newer"
    kind = Kind.UNAVAILABLE


class StoreFull(MunimentError):
    """Disk is full; free some space and try again."""

    code = "store.full"
    kind = Kind.EXHAUSTED


class StoreReadOnly(MunimentError):
    """Store cannot be written; copy it to a writable directory."""

    code = "store.read_only"
    kind = Kind.UNAVAILABLE


class StoreBusy(MunimentError):
    """Store is busy with other writers; try again."""

    code = "store.busy"
    kind = Kind.UNAVAILABLE


class StoreFault(MunimentError):
    """Disk error; nothing was lost that was acknowledged: check the disk and try again."""

    code = "store.fault"
    kind = Kind.UNAVAILABLE


class StoreClosed(MunimentError):
    """Store is closed; open it again."""

    code = "store.closed"
    kind = Kind.UNAVAILABLE


class Conflict(MunimentError):
    """Another writer changed this first; nothing was written: try again."""

    code = "log.conflict"
    kind = Kind.CONFLICT
    counts = "expected {limit}, found {found}"


# --- backups, archives, models and tables ---------------------------------------------------------------------------


class FileTaken(MunimentError):
    """File already exists; nothing was overwritten: choose another name."""

    code = "file.taken"
    kind = Kind.CONFLICT


class RestoreConflict(MunimentError):
    """Restoring would lose newer data; nothing was changed: preview with --dry-run, confirm with --replace."""

    code = "backup.restore_conflict"
    kind = Kind.CONFLICT
    counts = "{limit} events in the backup, {found} known here"


class ApprovalNeeded(MunimentError):
    """A second person must approve this; they run `approvals confirm`, then you repeat the request."""

    code = "approval.needed"
    kind = Kind.DENIED
    counts = "waits at position {limit}"


class ArchiveRefused(MunimentError):
    """Archive refused; nothing was written: export it again."""

    code = "archive.refused"
    kind = Kind.CORRUPT


class ArchiveConflict(MunimentError):
    """Archive conflicts with what the space holds; nothing was written."""

    code = "archive.conflict"
    kind = Kind.CONFLICT


class ModelInvalid(MunimentError):
    """Model cannot be used; choose another file or folder."""

    code = "model.invalid"
    kind = Kind.INVALID


class ModelUnavailable(MunimentError):
    """Embedder is not available; install it, import its model, or complete its settings."""

    code = "model.unavailable"
    kind = Kind.UNAVAILABLE


class ExtraMissing(MunimentError):
    """A package that this needs is not installed."""

    code = "extra.missing"
    kind = Kind.UNAVAILABLE


class TokensUnavailable(MunimentError):
    """Cannot count tokens in this encoding; install the `tokens` extra, or use another counter."""

    code = "tokens.unavailable"
    kind = Kind.UNAVAILABLE


class StatementInvalid(MunimentError):
    """Invalid SQL; `muniment tables describe` lists the tables and their columns.

    `explanation` is what SQLite says of the statement. It may quote it, so it is no part of the text.
    """

    code = "tables.statement"
    kind = Kind.INVALID
    explanation = ""

    def __init__(self, *, at: str, problem: str, explanation: str = "") -> None:
        super().__init__(at=at, problem=problem)
        self.explanation = explanation


# --- evidence -------------------------------------------------------------------------------------------------------


class EvidenceRefused(MunimentError):
    """Evidence refused; do not trust the file: ask for a new export."""

    code = "evidence.refused"
    kind = Kind.CORRUPT


class TimestampUnavailable(MunimentError):
    """Timestamp authority gave no usable answer; the checkpoint is signed and kept without it: try again."""

    code = "evidence.timestamp_unavailable"
    kind = Kind.UNAVAILABLE


class WitnessUnavailable(MunimentError):
    """Witness gave no usable answer; the checkpoint is signed and kept without its cosignature: try again."""

    code = "evidence.witness_unavailable"
    kind = Kind.UNAVAILABLE


class WitnessRefused(MunimentError):
    """Witness knows another history of this log; the log was rolled back or rewritten: restore a newer copy."""

    code = "evidence.witness_refused"
    kind = Kind.CORRUPT
    counts = "{limit} events known to the witness, {found} found"


class EvidenceMissing(MunimentError):
    """Nothing in the log to prove; check the names in the request."""

    code = "evidence.missing"
    kind = Kind.MISSING
