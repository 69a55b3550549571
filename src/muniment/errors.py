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

from enum import StrEnum
from typing import ClassVar


class Kind(StrEnum):
    """Who can act: the caller (invalid, denied, missing, conflict, exhausted) or the operator (the others)."""

    INVALID = "invalid"
    DENIED = "denied"
    MISSING = "missing"
    CONFLICT = "conflict"
    CORRUPT = "corrupt"
    UNAVAILABLE = "unavailable"
    EXHAUSTED = "exhausted"


# problem of an error -> how a sentence says it, where the word itself does not read well
PHRASES: dict[str, str] = {
    "another_log": "there is another log of this name",
    "answers_nothing": "a tool result answers no call",
    "behind_pin": "the backup is older than the pinned checkpoint",
    "beyond_text": "range ends after the text",
    "blank_at_end": "starts or ends with a blank",
    "cell_malformed": "an encrypted part is malformed",
    "changed": "the data has changed since",
    "changed_meanwhile": "the file changed while it was read",
    "columns": "columns do not match the header",
    "commitment": "a field does not match its commitment",
    "content": "content does not match its header",
    "count": "wrong number of results",
    "cyclic": "contains itself",
    "declined": "you answered no",
    "differs": "does not match",
    "dimension": "vectors have another length",
    "empty": "must not be empty",
    "exists": "a space of this name exists",
    "extra_keyring_not_installed": "install the `keyring` extra",
    "file_not_made": "the key file cannot be created",
    "file_not_readable": "the key file cannot be read",
    "foreign_kind": "a kind of event that archives do not hold",
    "foreign_scope": "belongs to another scope",
    "frame": "a frame is damaged",
    "hash": "a hash does not match",
    "head": "the head does not match its stream",
    "head_not_put": "a stream has no head",
    "header": "the header is damaged",
    "held": "a legal hold protects a turn",
    "inconsistent": "the log does not extend the pinned checkpoint",
    "is_directory": "is a directory",
    "issued_in_the_future": "issued in the future: check the clock",
    "keystore_refused": "the keyring refused access",
    "layout": "the database does not have the expected layout",
    "leaf": "a leaf hash does not match",
    "length": "wrong length",
    "lone_surrogate": "invalid Unicode (lone surrogate)",
    "lookup": "a name leads to the wrong entry",
    "lookup_missing": "a name is missing from the index",
    "missing_field": "missing",
    "mode": "its permissions let others read it",
    "no_such_entry": "the keyring has no such entry",
    "no_terminal": "no terminal to ask for the passphrase",
    "nobody_to_ask": "no terminal to ask",
    "none_chosen": "none is chosen",
    "not_accessible": "cannot be accessed",
    "not_alike": "the files belong to different models",
    "not_authentic": "cannot be decrypted: changed, or wrong key",
    "not_permitted": "permission denied",
    "not_positive": "must be at least 1",
    "not_taken": "not accepted here",
    "not_the_former": "not the previous key",
    "not_understood": "cannot be parsed",
    "of_one_turn_alone": "must be in one turn",
    "opened_without_key": "the store was opened without its key",
    "order": "events are out of order",
    "owner": "the file belongs to another user",
    "passphrase_length": "passphrase is too long",
    "references": "references do not match",
    "request_too_large": "too large",
    "reversed": "the end is before the start",
    "root": "the root hash does not match",
    "root_rotated": "the root key was rotated: use the new one",
    "rotated_meanwhile": "keys were rotated in the meantime",
    "shape": "wrong shape",
    "size": "wrong size",
    "status": "the endpoint answered with an error status",
    "time": "a time does not match its header",
    "too_deep": "nested too deeply",
    "unknown_word": "unknown",
    "value_misplaced": "value is missing or not accepted",
    "versions": "versions of the key do not match",
    "without_term": "no word to search for",
}


class MunimentError(Exception):
    """A failure that muniment foresees.

    `at` is a path inside the request or the store (`messages[3].parts[0]`, `position 17`), never a value.
    `problem` is a word of muniment (`too_long`), never text from outside. `limit` and `found` are numbers.
    """

    code: ClassVar[str] = "muniment"
    kind: ClassVar[Kind] = Kind.INVALID
    counts: ClassVar[str] = ""  # how a sentence says `limit` and `found`, where that needs words of its own

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
        what, _, advice = (type(self).__doc__ or "").partition("\n")[0].rstrip(".").partition("; ")
        where = None if self.at is None or self.at in what else self.at
        told = ": ".join(part for part in (self.code, what, where, self._why()) if part is not None)
        counts = self._counts()
        return told + (f" ({counts})" if counts else "") + (f"; {advice}" if advice else "")

    def _why(self) -> str | None:
        return None if self.problem is None else PHRASES.get(self.problem, self.problem.replace("_", " "))

    def _counts(self) -> str:
        if self.counts and self.limit is not None:
            return self.counts.format(limit=self.limit, found=self.found)
        numbers = {"found": self.found, "limit": self.limit}
        return ", ".join(f"{name} {number}" for name, number in numbers.items() if number is not None)

    def report(self) -> dict[str, str | int]:
        """Return the error as plain data, the same on every transport: code, kind, message and the known facts."""
        facts = {"at": self.at, "problem": self.problem, "limit": self.limit, "found": self.found}
        known = {name: fact for name, fact in facts.items() if fact is not None}
        return {"code": self.code, "kind": str(self.kind), "message": str(self), **known}


# --- requests -------------------------------------------------------------------------------------------------------


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
    """Cursor does not belong to this request; start again without it."""

    code = "cursor.invalid"
    kind = Kind.INVALID


class CursorStale(MunimentError):
    """Cursor is out of date; start again without it."""

    code = "cursor.stale"
    kind = Kind.CONFLICT


# --- transcripts ----------------------------------------------------------------------------------------------------


class TurnConflict(MunimentError):
    """This turn id is in use for other content; nothing was written: choose a new id."""

    code = "transcript.turn_conflict"
    kind = Kind.CONFLICT


class AliasConflict(MunimentError):
    """This chat id belongs to another conversation of the subject; nothing was written: choose a new chat id."""

    code = "transcript.alias_conflict"
    kind = Kind.CONFLICT


class UnknownConversation(MunimentError):
    """No such conversation; `transcripts conversations` lists those that exist."""

    code = "transcript.unknown_conversation"
    kind = Kind.MISSING


class UnknownPlace(MunimentError):
    """No such turn, message, part or field in the conversation; check the ids with `transcripts replay`."""

    code = "transcript.unknown_place"
    kind = Kind.MISSING


class WordsErased(MunimentError):
    """Content is erased; it can be neither shown nor redacted."""

    code = "transcript.words_erased"
    kind = Kind.CONFLICT


# --- lifecycle ------------------------------------------------------------------------------------------------------


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
    """Store is older than its pinned checkpoint; restore a newer copy, or a backup with `spaces restore --replace`."""

    code = "store.rolled_back"
    kind = Kind.CORRUPT
    counts = "{limit} events pinned, {found} found"


class StoreMissing(MunimentError):
    """No such store or space; check --store and --space."""

    code = "store.missing"
    kind = Kind.MISSING


class StoreNewer(MunimentError):
    """Store was written by a newer release; upgrade muniment."""

    code = "store.newer"
    kind = Kind.UNAVAILABLE


class StoreFull(MunimentError):
    """Disk is full; nothing was written: free some space and try again."""

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


# --- backups --------------------------------------------------------------------------------------------------------


class FileTaken(MunimentError):
    """File already exists; nothing was overwritten: choose another name."""

    code = "file.taken"
    kind = Kind.CONFLICT


class RestoreConflict(MunimentError):
    """Restoring would lose newer data; nothing was changed: preview with --dry-run, confirm with --replace."""

    code = "backup.restore_conflict"
    kind = Kind.CONFLICT
    counts = "{limit} events in the backup, {found} known here"


# --- archives -------------------------------------------------------------------------------------------------------


class ArchiveRefused(MunimentError):
    """Archive refused; nothing was written: export it again."""

    code = "archive.refused"
    kind = Kind.CORRUPT


class ArchiveConflict(MunimentError):
    """Archive conflicts with what the space holds; nothing was written."""

    code = "archive.conflict"
    kind = Kind.CONFLICT


# --- models ---------------------------------------------------------------------------------------------------------


class ModelInvalid(MunimentError):
    """Model cannot be used; choose another file or folder."""

    code = "model.invalid"
    kind = Kind.INVALID


class ModelUnavailable(MunimentError):
    """Embedder is not available; install it, import its model, or complete its settings."""

    code = "model.unavailable"
    kind = Kind.UNAVAILABLE


# --- contexts -------------------------------------------------------------------------------------------------------


class TokensUnavailable(MunimentError):
    """Cannot count tokens in this encoding; install the `tokens` extra, or use another counter."""

    code = "tokens.unavailable"
    kind = Kind.UNAVAILABLE


# --- evidence -------------------------------------------------------------------------------------------------------


class EvidenceRefused(MunimentError):
    """Evidence refused; do not trust the file: ask for a new export."""

    code = "evidence.refused"
    kind = Kind.CORRUPT


class EvidenceMissing(MunimentError):
    """Nothing in the log to prove; check the names in the request."""

    code = "evidence.missing"
    kind = Kind.MISSING
