"""How many requests a client may send: a bucket of tokens for each, in the memory of one process."""

from __future__ import annotations

from collections import OrderedDict

from muniment.errors import RateExceeded
from muniment.kernel.locks import new_lock

CLIENTS_MAX = 10_000
MINUTE_MS = 60_000


class Rates:
    """The buckets of all clients. A bucket holds a minute's requests and fills evenly. Thread-safe."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()  # tokens, and as of when

    def take(self, client: str, per_minute: int, now_ms: int) -> None:
        """Take a token of a client, or raise `request.rate_exceeded`."""
        with self._lock:
            tokens, since_ms = self._buckets.pop(client, (float(per_minute), now_ms))
            tokens = min(per_minute, tokens + max(0, now_ms - since_ms) * per_minute / MINUTE_MS)
            is_enough = tokens >= 1
            self._buckets[client] = (tokens - 1 if is_enough else tokens, now_ms)
            if len(self._buckets) > CLIENTS_MAX:
                self._buckets.popitem(last=False)
        if not is_enough:
            raise RateExceeded(limit=per_minute)
