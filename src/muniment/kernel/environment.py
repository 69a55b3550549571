"""Secrets in the environment: the variable `NAME`, or the path of a file in `NAME_FILE`, as container platforms do it.

A file is read without the line end that editors put there, and whatever its mode is: the platform decides that.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from muniment.errors import FileUnavailable, InvalidInput

SECRET_BYTES_MAX = 64 * 1024


def secret_of(name: str, environment: Mapping[str, str], *, at: str) -> bytes | None:
    """Return the secret of this name, or None where neither `NAME` nor `NAME_FILE` is set.

    Raises `InvalidInput` when both are set, and `FileUnavailable`. Neither names what the host calls its variables.
    """
    value, path = environment.get(name), environment.get(f"{name}_FILE")
    if value is not None and path is not None:
        raise InvalidInput(at=at, problem="set_twice")
    if path is None:
        return None if value is None else value.encode(errors="surrogateescape")
    try:
        with Path(path).open("rb") as file:
            secret = file.read(SECRET_BYTES_MAX + 1)
    except (OSError, ValueError) as fault:
        raise FileUnavailable.because(fault, at=at) from None
    if len(secret) > SECRET_BYTES_MAX:
        raise InvalidInput(at=at, problem="too_long", limit=SECRET_BYTES_MAX)
    return secret.rstrip(b"\r\n")
