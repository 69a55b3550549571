"""What SQLite complains of, in our words. The tables from its errors, and those of the system, to ours.

Texts of SQLite are dropped: they may quote what is stored. Only the class of an error is looked at.
"""

from __future__ import annotations

import errno

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

OS_FAULTS: dict[int | None, type[MunimentError]] = {
    errno.ENOSPC: StoreFull,
    errno.EDQUOT: StoreFull,
    errno.EROFS: StoreReadOnly,
    errno.EACCES: StoreReadOnly,
    errno.EPERM: StoreReadOnly,
}

# What is kept from everybody who shares a transaction, and what makes a connection untrustworthy.
PRIVATE = (Conflict,)
POISONOUS = (StoreFault, Corrupt)


def fault_of(error: Exception) -> MunimentError:
    """Return our error for one of `STORE_ERRORS` or an `OSError`; what no table names is a fault of the disk."""
    if isinstance(error, OSError):
        return OS_FAULTS.get(error.errno, StoreFault)()
    return FAULTS.get(type(error), StoreFault)()
