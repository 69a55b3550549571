"""Reads tensors from a safetensors file: eight bytes of length, a JSON header, then the numbers.

The file is somebody else's: its header says where each tensor lies and what is in it, and none of that is believed
before it was checked. Nothing in such a file can run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import DecodeError, Meta, Struct, convert, json
from numpy.typing import NDArray

from muniment.errors import ModelInvalid

HEADER_BYTES_MAX = 10_000_000
FILE_BYTES_MAX = 4_000_000_000
LENGTH_BYTES = 8
METADATA = "__metadata__"

Count = Annotated[int, Meta(ge=0)]


class Tensor(Struct, frozen=True, kw_only=True):
    """Where a tensor is after the header, its type and its shape."""

    dtype: str
    shape: list[Count]
    data_offsets: tuple[Count, Count]


def read_tensors(path: Path, named: set[str]) -> dict[str, NDArray[np.float32]]:
    """Return the named tensors of a file, as far as it has them, as float32."""
    size = path.stat().st_size
    if not LENGTH_BYTES <= size <= FILE_BYTES_MAX:
        raise ModelInvalid(at=path.name, problem="size", limit=FILE_BYTES_MAX, found=size)
    with path.open("rb") as file:
        header = int.from_bytes(file.read(LENGTH_BYTES), "little")
        if header > min(HEADER_BYTES_MAX, size - LENGTH_BYTES):
            raise ModelInvalid(at=path.name, problem="header")
        described = file.read(header)
    try:
        parsed = json.decode(described, type=dict[str, object])
        tensors = {name: convert(entry, Tensor) for name, entry in parsed.items() if name != METADATA}
    except DecodeError:
        raise ModelInvalid(at=path.name, problem="header") from None
    data = np.memmap(path, np.uint8, "r", offset=LENGTH_BYTES + header) if size > LENGTH_BYTES + header else _NOTHING
    return {name: _read(data, tensors[name], at=path.name) for name in sorted(named & tensors.keys())}


_NOTHING: NDArray[np.uint8] = np.empty(0, np.uint8)
_PLAIN = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}
_BRAIN = "BF16"  # the upper half of a float32


def _read(data: NDArray[np.uint8], tensor: Tensor, *, at: str) -> NDArray[np.float32]:
    first, end = tensor.data_offsets
    dtype = np.dtype("<u2" if tensor.dtype == _BRAIN else _PLAIN.get(tensor.dtype, "V0"))
    if not dtype.itemsize or not first <= end <= len(data):
        raise ModelInvalid(at=at, problem="tensor")
    count = 1
    for length in tensor.shape:
        count *= length
    if count * dtype.itemsize != end - first:
        raise ModelInvalid(at=at, problem="tensor")
    numbers = np.frombuffer(data[first:end].tobytes(), dtype).reshape(tensor.shape)
    if tensor.dtype == _BRAIN:
        return (numbers.astype(np.uint32) << 16).view(np.float32)
    return numbers.astype(np.float32)
