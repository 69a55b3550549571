"""What a budget left out of a page is told to a person, too."""

from __future__ import annotations

import io
import json

from msgspec.structs import replace

import muniment
from muniment.events.turn import Turn
from muniment.governance.policy import Policy
from muniment.governance.profiles import Pressure, Profile
from muniment.kernel.sources import seeded_sources
from muniment.space.options import Options
from muniment.transports.cli.plain_page import PlainPage
from muniment.transports.cli.report_page import tell
from tests.cli.shell import Shell
from tests.turns import TALK, rich_turn
from tests.worlds import key_of, root_key

SHORT = Pressure(memory_free_bytes=0)


def told_of(turns: list[Turn]) -> tuple[str, int, int]:
    """Return how a page is told under a small budget, how many messages it withholds, and how many items it has."""
    options = Options(
        sources=seeded_sources("told"), profile=Profile.EMBEDDED, policies=frozenset[Policy](), pressure=lambda: SHORT
    )
    file = io.StringIO()
    with muniment.open("memory:", keys=root_key(), options=options) as runtime:
        for turn in turns:
            runtime.transcripts.commit(turn)
        page = runtime.transcripts.replay(key_of(TALK))
        tell(page, PlainPage(file))
    return file.getvalue(), page.audit.messages_redacted, len(page.items)


def test_what_is_withheld_is_marked_where_its_reason_was_left_out() -> None:
    """RP-04, BG-01: the list of reasons is clipped, the marks are not; the last line says what was cut and why."""
    turns = [replace(rich_turn(), turn=f"turn-{number}", chat=None) for number in range(9)]
    told, withheld, items = told_of(turns)
    assert items == 8 < withheld
    assert told.count("[content withheld") == withheld
    assert 0 < told.count("[content withheld: ") < withheld
    assert told.count("[content withheld]\n") == withheld - told.count("[content withheld: ")
    left_out = "profile embedded  page turns 4 of 9, redaction items 8 of 36  at 50 %: memory_at_floor, storage_unknown"
    assert left_out in told.splitlines()


def test_conversations_beyond_a_budget_are_told_of(filled: Shell) -> None:
    turn = json.loads((filled.directory / "turns/1.json").read_text())
    for number in range(8):
        filled.must("transcripts", "commit", "-", typed=json.dumps({**turn, "conversation": f"another-{number}"}))
    told = filled.must("conversations", "list", "--profile", "embedded").out
    assert "profile embedded  page turns 8 of 9\n" in told
    assert "profile" not in filled.must("conversations", "list").out
