"""What must hold after any sequence of commands."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import muniment
from muniment.crypto.root import LocalRoot
from muniment.crypto.secret import KEY_BYTES
from muniment.events.identity import ConversationKey
from muniment.evidence.pin import FilePin
from muniment.governance.listing import LifecycleFilter
from muniment.governance.views import View
from muniment.kernel.digest import unb64url
from muniment.kernel.sources import seeded_sources
from muniment.operations.transcripts.hits import SearchRanking, SearchScope
from muniment.runtime.runtime import Runtime
from muniment.search import view_index
from muniment.space.options import Options
from tests.laws.marked import marks_in, pages, seen
from tests.laws.walks import KEYS, Walk, commit, search, steps
from tests.worlds import PINS, STORE, World, memory_world, sqlite_world

LONG = 60
ALL, AT_ONCE = SearchScope(lifecycle=LifecycleFilter.ACTIVE_AND_ARCHIVED), SearchRanking(asked_ms=1_700_000_000_000)

limits = st.integers(1, 7)


@pytest.mark.slow
@given(st.lists(steps, max_size=20), limits)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_every_view_shows_what_the_model_says_after_every_command(
    drawn: list[tuple[int, int, int]], limit: int
) -> None:
    """Exactly the pieces of text that a plain model names, in every view, however the pages are cut."""
    walk = Walk(memory_world())
    try:
        for step in drawn:
            walk.check(walk.step(*step), limit)
    finally:
        walk.world.close()


@pytest.mark.slow
@given(st.lists(steps, max_size=20))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_view_shows_more_than_the_raw_owner(drawn: list[tuple[int, int, int]]) -> None:
    """Views are monotone: whatever was done, each shows a part of what the raw owner sees, fields of operators too."""
    walk = Walk(memory_world())
    try:
        for step in drawn:
            walk.step(*step)
        for key in KEYS:
            whole = seen(walk.world.runtime, key, View.RAW_OWNER)
            assert all(seen(walk.world.runtime, key, view) <= whole for view in View)
    finally:
        walk.world.close()


@pytest.mark.slow
@given(st.lists(steps, min_size=4, max_size=12), st.lists(limits, min_size=1, max_size=8), st.sampled_from(View))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_pages_give_the_whole_once_while_others_append(
    drawn: list[tuple[int, int, int]], cuts: list[int], view: View
) -> None:
    """Pages of any limits, with a command between any two: every turn once, in order, none left out."""
    walk = Walk(memory_world())
    try:
        for step in drawn:
            walk.step(*step)
        replay, key = walk.world.runtime.transcripts.replay, KEYS[0]
        if not walk.of(key):
            commit(walk, 0, 0)
        found: list[str] = []
        page = replay(key, view, cuts[0])
        found += [turn.turn for turn in page.turns]
        at = 0
        while page.next_cursor is not None and at < 100:
            at += 1
            if at % 3 == 0 and at < 12:
                walk.step(*drawn[at % len(drawn)])
            page = replay(key, view, cuts[at % len(cuts)], page.next_cursor)
            found += [turn.turn for turn in page.turns]
        assert not page.has_more
        assert found == [kept.marked.turn for kept in walk.of(key)]
    finally:
        walk.world.close()


@pytest.mark.slow
@given(st.lists(steps, min_size=1, max_size=12), st.lists(steps, min_size=1, max_size=12))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_happens_in_one_space_changes_no_answer_of_another(
    tmp_path: Path, drawn: list[tuple[int, int, int]], others: list[tuple[int, int, int]]
) -> None:
    """Twin runs, with and without another tenant in the store: every answer is equal to the byte (SC-01)."""
    quiet, busy = ([told(walk) for walk in beside(tmp_path, drawn, traffic)] for traffic in ([], others))
    assert quiet == busy


def beside(home: Path, drawn: list[tuple[int, int, int]], others: list[tuple[int, int, int]]) -> Iterator[Walk]:
    """Take a walk in one space of a new store while somebody walks in another; yield it after each step."""
    with tempfile.TemporaryDirectory(dir=home) as directory:
        tenants = [tenant(Path(directory), space) for space in ("own", "other")]
        try:
            for own, other in zip_longest(drawn, others):
                if other is not None:
                    tenants[1].step(*other)
                if own is not None:
                    tenants[0].step(*own)
                    yield tenants[0]
        finally:
            for walk in tenants:
                walk.world.close()


def tenant(home: Path, space: str) -> Walk:
    """Return a walk in a space of a store, with sources of chance of its own."""
    sources = seeded_sources(f"root for {space}")
    root = LocalRoot(b"root".ljust(KEY_BYTES, b"."), sources.entropy)

    def opened(_times: int) -> Runtime:
        options = Options(sources=seeded_sources(f"seed of {space}"), pin=FilePin(home / PINS))
        return muniment.open(home / STORE, keys=root, space=space, options=options)

    return Walk(World(opened))


def told(walk: Walk) -> bytes:
    """Return everything that a space answers, as JSON."""
    runtime = walk.world.runtime
    answers: list[object] = [
        [pages(runtime, key, view) for key in KEYS for view in View],
        [runtime.conversations.list_(lifecycle=lifecycle) for lifecycle in LifecycleFilter],
        [runtime.transcripts.search("some words", view, ALL, AT_ONCE, limit=3) for view in View],
        [runtime.lifecycle.receipts(key) for key in KEYS],
        runtime.evidence.checkpoint(),
        runtime.system.health(),
    ]
    return msgspec.json.encode(answers)


@pytest.mark.slow
@given(st.lists(steps, min_size=LONG, max_size=LONG + 20))
@settings(max_examples=6, suppress_health_check=list(HealthCheck), deadline=None)
def test_after_a_long_walk_everything_is_still_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drawn: list[tuple[int, int, int]]
) -> None:
    """After any 60 commands what is shown and found is what the model says, before and after opening again.

    Audits pass, repairs find nothing, every conversation exports whole and verifies, every link is proved, and
    projections rebuilt from the log are those that were kept.
    """
    monkeypatch.setattr(view_index, "SAVED_DOCUMENTS_MIN", 1)
    with tempfile.TemporaryDirectory(dir=tmp_path) as directory:
        walk = Walk(sqlite_world(Path(directory)))
        try:
            for step in drawn:
                walk.step(*step)
            for _ in range(2):
                for key in KEYS:
                    walk.check(key, 5)
                    prove(walk, key)
                assert len(walk.world.runtime.evidence.audit().spaces) == 1
                find_everything(walk)
                walk.world.reopened()
                find_everything(walk)
                derive_again(walk)
                walk.world.reopened()
        finally:
            walk.world.close()


def find_everything(walk: Walk) -> None:
    """Search for a few marks in every view, also in what was just opened from snapshots: found where it is shown."""
    for number in range(0, len(walk.turns), 7):
        search(walk, number, 0)


def prove(walk: Walk, key: ConversationKey) -> None:
    """Export a conversation under every view; what the bundle discloses is what the view may show, and it verifies."""
    if not walk.of(key):
        return
    evidence = walk.world.runtime.evidence
    assert evidence.inspect(key).kinds == {}
    assert all(link.verified for link in evidence.links(conversation=key, limit=500).links)
    for view in View:
        bundle = walk.world.runtime.evidence.export(key, view)
        assert walk.world.runtime.evidence.verify(bundle.text.encode(), str(bundle.summary["vkey"])).complete
        assert marks_in(disclosed(bundle.text)) == walk.shown(key, view)


def disclosed(bundle: str) -> str:
    """Return all disclosures of a bundle in clear; in base64url every list starts alike."""
    return "".join(unb64url(found).decode() for found in re.findall(r'"(Wy[A-Za-z0-9_-]{60,})"', bundle))


def derive_again(walk: Walk) -> None:
    """Drop derived data and derive it from the log: equal, as an inspection of everything finds, too."""
    report = walk.world.runtime.evidence.inspect()
    assert (report.kinds, report.turns) == ({}, len(walk.turns))
    assert all(one.unchanged for one in walk.world.runtime.system.recover().projections)
