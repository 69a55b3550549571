"""Events are the same wherever their bytes are cut, and however their lines end."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from muniment.host.recording.event_lines import EventLines

LINES = st.text(st.characters(blacklist_characters="\r\n", codec="utf-8"), min_size=1).map(str.encode)


@given(st.lists(LINES), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(0, 400)))
def test_events_do_not_depend_on_how_they_arrive(data: list[bytes], end: bytes, cuts: list[int]) -> None:
    """The data of each event, once, in order."""
    whole = b"".join(b"event: x" + end + b"data: " + one + end + end for one in data)
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    reader = EventLines()
    pieces = [whole[start:stop] for start, stop in pairwise(places)]
    assert [found for piece in pieces for found in reader.feed(piece)] == data
    assert [found for piece in whole for found in EventLines().feed(bytes([piece]))] == []


def test_an_event_of_several_lines_is_one() -> None:
    assert list(EventLines().feed(b": comment\ndata: a\ndata:b\n\ndata: c")) == [b"a\nb"]
