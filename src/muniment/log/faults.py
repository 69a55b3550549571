"""What SQLite complains of, in our words. The one table from its errors to ours.

Texts of SQLite are dropped: they may quote what is stored. Only the class of an error is looked at.
"""

from __future__ import annotations

import apsw
import msgspec

from muniment.errors import (
    Conflict,
    Corrupt,
    MunimentError,
    StoreBusy,
    StoreClosed,
    StoreFault,
    StoreFull,
    StoreReadOnly,
)

# What reading or writing may end with. Text that is not UTF-8 and rows of the wrong types were edited at rest.
STORE_ERRORS = (apsw.Error, UnicodeDecodeError, msgspec.ValidationError)

FAULTS: dict[type[Exception], type[MunimentError]] = {
    apsw.BusyError: StoreBusy,
    apsw.LockedError: StoreBusy,
    apsw.ProtocolError: StoreBusy,
    apsw.FullError: StoreFull,
    apsw.ReadOnlyError: StoreReadOnly,
    apsw.PermissionsError: StoreReadOnly,
    apsw.CantOpenError: StoreReadOnly,
    apsw.ConstraintError: Conflict,
    apsw.ConnectionClosedError: StoreClosed,
    apsw.CursorClosedError: StoreClosed,
    apsw.CorruptError: Corrupt,
    apsw.NotADBError: Corrupt,
    apsw.FormatError: Corrupt,
    apsw.SQLError: Corrupt,  # a table or column that our own statements name is not there
    apsw.MismatchError: Corrupt,
    UnicodeDecodeError: Corrupt,
    msgspec.ValidationError: Corrupt,
}

# What is kept from everybody who shares a transaction, and what makes a connection untrustworthy.
PRIVATE = (Conflict,)
POISONOUS = (StoreFault, Corrupt)


def fault_of(error: Exception) -> MunimentError:
    """Return our error for one of `STORE_ERRORS`; what the table does not name is a fault of the disk."""
    return FAULTS.get(type(error), StoreFault)(problem=_word(error))


def _word(error: Exception) -> str | None:
    return "disk" if isinstance(error, apsw.IOError) else None
