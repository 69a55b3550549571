"""The header-only audit: does the log match its checkpoints? It needs no key.

The audit reads all headers in order of position. Each header must be canonical and hash to its stored leaf. Positions
are dense from 0, and every stream is dense and chained. At the end, the tree over all leaves must have the frontier
that the store claims.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from muniment.errors import Corrupt
from muniment.evidence import header as headers
from muniment.evidence.tree import Frontier, Node, extend
from muniment.evidence.verifier import Chains, Checkpoint, Refused, leaf_hash


class AuditReport(Struct, frozen=True, kw_only=True):
    """What a successful audit covered."""

    events: int
    streams: int
    turns: int
    checkpoints: int
    root: bytes
    erasures: int
    erased_turns: int
    erased_messages: int


class Audit:
    """An audit of one log in progress."""

    def __init__(self, log: str) -> None:
        self._chains = Chains(log)
        self._frontier = Frontier()
        self._checkpoints = 0

    @property
    def frontier(self) -> Frontier:
        """The frontier over the headers so far."""
        return self._frontier

    def take(self, header: bytes, leaf: bytes) -> list[Node]:
        """Audit the next event; return the nodes that it completed, to compare with the stored ones."""
        at = f"position {self._frontier.size}"
        try:
            parsed = headers.parse(header)
        except Corrupt as corrupt:
            raise Corrupt(at=at, problem=corrupt.problem) from None
        if parsed.pos != self._frontier.size or leaf_hash(header) != leaf:
            raise Corrupt(at=at, problem="leaf")
        try:
            self._chains.take(msgspec.to_builtins(parsed), leaf)
        except Refused as refused:
            raise Corrupt(at=at, problem=refused.code) from None
        self._frontier, nodes = extend(self._frontier, [leaf])
        return nodes

    def checkpoint(self, checkpoint: Checkpoint) -> None:
        """Compare a checkpoint of exactly the size that has been audited so far."""
        assert checkpoint.size == self._frontier.size, "a checkpoint is compared when the audit reaches its size"
        if checkpoint.root != self._frontier.root():
            raise Corrupt(at=f"checkpoint {checkpoint.size}", problem="root")
        self._checkpoints += 1

    def finish(self, claimed: Frontier) -> AuditReport:
        """Compare the frontier that the store claims, and return the report."""
        if claimed != self._frontier:
            raise Corrupt(at="frontier", problem="root", limit=claimed.size, found=self._frontier.size)
        return AuditReport(
            events=self._frontier.size,
            streams=len(self._chains.lengths),
            turns=sum(self._chains.turns.values()),
            checkpoints=self._checkpoints,
            root=self._frontier.root(),
            erasures=self._chains.erasures.events,
            erased_turns=self._chains.erasures.count_turns(self._chains.turns),
            erased_messages=self._chains.erasures.count_messages(),
        )
