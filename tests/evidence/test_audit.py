"""The header-only audit: nobody needs a key to see that a log was edited."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import Corrupt
from muniment.evidence import header
from muniment.evidence.audit import Audit
from muniment.evidence.tree import Frontier, frontier_at
from muniment.evidence.verifier import Checkpoint, leaf_hash
from tests.evidence.logs import Log

LOG = Log("audit")
STREAM = LOG.converse(["one", "two", "three"])
LOG.converse(["four"] * 12)


def audit(headers: list[bytes], leaves: list[bytes] | None = None, log: str = LOG.id) -> Audit:
    made = Audit(log)
    for exact, leaf in zip(headers, leaves or map(leaf_hash, headers), strict=True):
        made.take(exact, leaf)
    return made


def test_a_sound_log_passes_its_audit() -> None:
    made = Audit(LOG.id)
    taken = [made.take(exact, leaf_hash(exact)) for exact in LOG.exact]
    assert sum(map(len, taken)) == LOG.size >> 4 == 1
    assert made.frontier == LOG.rows.frontier
    report = made.finish(LOG.rows.frontier)
    assert (report.events, report.streams, report.turns) == (LOG.size, 3, 15)
    assert report.root == LOG.rows.frontier.root()


def test_checkpoints_are_compared_on_the_way() -> None:
    made = audit(LOG.exact[:3])
    made.checkpoint(Checkpoint(origin="o", size=3, root=frontier_at(LOG.rows, 3).root()))
    with pytest.raises(Corrupt):
        made.checkpoint(Checkpoint(origin="o", size=3, root=bytes(32)))
    with pytest.raises(AssertionError):
        made.checkpoint(Checkpoint(origin="o", size=4, root=bytes(32)))
    assert made.finish(frontier_at(LOG.rows, 3)).checkpoints == 1


def test_another_head_than_the_headers_have_is_corrupt() -> None:
    for claimed in (
        frontier_at(LOG.rows, LOG.size - 1),
        Frontier(size=LOG.size, hashes=LOG.rows.frontier.hashes[::-1]),
    ):
        with pytest.raises(Corrupt):
            audit(LOG.exact).finish(claimed)


@given(st.integers(0, LOG.size - 2), st.booleans())
def test_a_log_without_one_of_its_events_is_corrupt(gone: int, renumbered: bool) -> None:
    """Taking an event out is seen, also when the positions after it are made dense again and all leaves recomputed."""
    rest = [header.parse(exact) for exact in LOG.exact[:gone] + LOG.exact[gone + 1 :]]
    if renumbered:
        rest = [msgspec.structs.replace(one, pos=number) for number, one in enumerate(rest)]
    with pytest.raises(Corrupt):
        audit([header.encode(one) for one in rest])


@given(st.integers(0, LOG.size - 1), st.data())
def test_a_header_with_a_changed_byte_is_corrupt(position: int, data: st.DataObject) -> None:
    """The leaf that is stored for it tells."""
    exact = LOG.exact[position]
    at = data.draw(st.integers(0, len(exact) - 1))
    new = data.draw(st.integers(0, 255).filter(lambda byte: byte != exact[at]))
    changed = exact[:at] + bytes([new]) + exact[at + 1 :]
    headers = [*LOG.exact[:position], changed, *LOG.exact[position + 1 :]]
    with pytest.raises(Corrupt, match=f"position {position}"):
        audit(headers, list(map(leaf_hash, LOG.exact)))


def test_the_log_of_another_space_is_corrupt() -> None:
    with pytest.raises(Corrupt, match="foreign log"):
        audit(LOG.exact, log=Log("other").id)
