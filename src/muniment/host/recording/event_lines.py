"""Server-sent events as they arrive: chunks of bytes become the data of whole events, wherever a chunk is cut."""

from __future__ import annotations

from collections.abc import Iterator

DATA = b"data:"


class EventLines:
    """Reads one stream of events. What an event is called is left out; the formats repeat it in its data."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._after_return = False  # a line feed that follows belongs to the same line end

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the data of every event that the chunk completes; a carriage return alone ends a line too."""
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_return = False
        if chunk:
            self._after_return = chunk.endswith(b"\r")
        *lines, self._rest = (self._rest + chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            if line.startswith(DATA):
                self._data.append(line[len(DATA) :].removeprefix(b" "))
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data = []
