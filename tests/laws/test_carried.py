"""What must hold of a space that was carried elsewhere after any sequence of commands."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.events.archive import ArchiveScope, PrivateMaterial, ScopeKind
from muniment.governance.views import View
from tests.archives.documents import shown
from tests.backups import elsewhere, entered
from tests.laws.marked import pages, seen
from tests.laws.walks import KEYS, Walk, steps
from tests.worlds import memory_world


@given(st.lists(steps, max_size=25))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_backup_of_any_space_comes_back_to_the_same_answers(drawn: list[tuple[int, int, int]]) -> None:
    """Every view of every conversation, the catalogue, and the repeat of everything that was committed."""
    walk = Walk(memory_world())
    for step in drawn:
        walk.step(*step)
    runtime = walk.world.runtime
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        runtime.spaces.backup(str(home / "backup"))
        with elsewhere(home) as other:
            assert other.spaces.restore(str(home / "backup")).sound
        with entered(home) as back:
            for key in KEYS:
                for view in View:
                    assert pages(back, key, view) == pages(runtime, key, view)
            assert back.conversations.list_().conversations == runtime.conversations.list_().conversations
            assert not any(back.transcripts.commit(each.marked.handed_over()).committed for each in walk.turns)
            assert back.evidence.audit().spaces
    walk.world.close()


@given(st.lists(steps, max_size=25), st.sampled_from(PrivateMaterial))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_an_archive_of_any_conversation_comes_back_to_the_same_root(
    drawn: list[tuple[int, int, int]], private: PrivateMaterial
) -> None:
    """Exported, imported, exported: the same root, no view that shows more, and the same phases."""
    walk, target = Walk(memory_world()), memory_world("target")
    for step in drawn:
        walk.step(*step)
    runtime = walk.world.runtime
    with tempfile.TemporaryDirectory() as directory:
        for place, key in enumerate(KEYS):
            scope = ArchiveScope(kind=ScopeKind.CONVERSATION, channel=key.channel, conversation=key.conversation)
            one, two = (str(Path(directory) / f"{name}-{place}") for name in ("one", "two"))
            out = runtime.archives.export(one, scope, private)
            target.runtime.archives.import_(one, scope, private)
            assert target.runtime.archives.export(two, scope, private).root == out.root
            for view in View:
                assert seen(target.runtime, key, view) <= walk.shown(key, view)
                if private is PrivateMaterial.INCLUDE and view in {View.HOST_UI, View.EXPORT, View.MODEL_CONTEXT}:
                    assert seen(target.runtime, key, view) == walk.shown(key, view)
            if private is PrivateMaterial.EXCLUDE:
                assert not seen(target.runtime, key, View.RAW_OWNER)
            assert len(shown(target.runtime, key.conversation, key.channel)) == (len(View) if walk.of(key) else 0)
    walk.world.close()
    target.close()
