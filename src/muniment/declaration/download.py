"""A download: the file that an operation writes, at a path beside the store or into a stream that a transport gives.

The mirror image of an upload. From Python and on the command line the parameter is the path of a new file, or from
Python a stream that is open for writing. A transport whose caller is elsewhere gives a stream: the request then has no
path, and the operation writes nothing into the stream before it may leave the store.
"""

from __future__ import annotations

from os import PathLike
from typing import Annotated, BinaryIO

from msgspec import Struct

DOWNLOAD = object()  # marks the parameter that is the file
Download = Annotated[str | PathLike[str] | BinaryIO, DOWNLOAD]


class WrittenFile(Struct, frozen=True, kw_only=True):
    """What a download is: a name that fits it, and its media type."""

    name: str
    media_type: str = "application/octet-stream"


class DownloadReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The report of an operation with a download. `file` is the path of the file, where it has one."""

    file: str | None = None

    @property
    def written(self) -> WrittenFile | None:
        """Return what was written, or None where nothing was."""
        raise NotImplementedError
