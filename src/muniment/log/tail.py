"""The tail of a stream: what its rows amount to while a plan appends to it.

A head is what the layer above says of a stream, a tail is what the rows say. Every store compares the two.
"""

from __future__ import annotations

from muniment.log.port import EventRow, StreamHead


def follows(tail: StreamHead | None, row: EventRow) -> bool:
    """Tell whether a row is the next one of its stream, and if it is a turn, the next turn."""
    seq, turns = (tail.seq, tail.turns) if tail else (0, 0)
    return row.seq == seq + 1 and row.turn_seq in {None, turns + 1}


def longer(tail: StreamHead | None, row: EventRow) -> StreamHead:
    """Return the tail with one more row."""
    turns, changes = (tail.turns, tail.changes) if tail else (0, 0)
    return StreamHead(
        stream=row.stream,
        seq=row.seq,
        turns=turns + (row.turn_seq is not None),
        changes=changes + (row.target_seq is not None),
        leaf=row.leaf,
    )


def agrees(head: StreamHead, tail: StreamHead | None) -> bool:
    """Tell whether a head says of its stream what the rows say."""
    said = (head.seq, head.turns, head.changes, head.leaf)
    return tail is not None and said == (tail.seq, tail.turns, tail.changes, tail.leaf)
