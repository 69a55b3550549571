"""Agent skills that the host mounts, in a recall and in prompts: in one ranking with the rest, and left as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import muniment
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.memory.recall_weights import COMPONENTS
from muniment.memory.skill_file import SKILL_FILE
from muniment.operations.memory.recall_report import (
    PlaneReport,
    RecallHit,
    RecallMiss,
    RecallPlane,
    RecallRanking,
    RecallScope,
)
from muniment.operations.transcripts.show_hits import SCORE_DIGITS
from muniment.runtime.runtime import Runtime
from muniment.space.options import Options
from tests.memory.items import candidate
from tests.turns import SUBJECT, plain_turn

SKILLS = RecallScope(planes=[RecallPlane.AGENT_SKILL])
ASKED = "How do I merge two invoices?"


def package(folder: Path, name: str, description: str) -> Path:
    """Write a skill; return its file."""
    path = folder / name / SKILL_FILE
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\nRun the scullery script.\n", "utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package(tmp_path, "invoices", "Merges and splits invoices of customers")
    package(tmp_path, "weather", "Says how warm it will be")
    return tmp_path


@pytest.fixture
def runtime(folder: Path) -> Iterator[Runtime]:
    """Yield a store whose host mounts two skills, and that remembers what has the same words."""
    with muniment.open("memory:", options=Options(sources=seeded_sources("skills"), skills=(folder,))) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        remembered = candidate("Merges invoices on Fridays", topic="invoices", id="habit")
        assert runtime.memory.remember([remembered], "host").recorded == 1
        yield runtime


def hits(runtime: Runtime, query: str = ASKED, scope: RecallScope = SKILLS, limit: int = 8) -> list[RecallHit]:
    explained = RecallRanking(explain=True)
    return runtime.memory.recall(SUBJECT, query, scope=scope, ranking=explained, limit=limit).hits


def plane(
    runtime: Runtime, query: str = ASKED, scope: RecallScope = SKILLS, view: View = View.MODEL_CONTEXT
) -> PlaneReport:
    planes = runtime.memory.recall(SUBJECT, query, view, scope).planes
    (report,) = [each for each in planes if each.plane is RecallPlane.AGENT_SKILL]
    return report


def test_a_mounted_skill_is_a_hit_among_the_others(runtime: Runtime) -> None:
    """AS-03: in one ranking, with the same components; it is in no log, and rests on no turn."""
    found = hits(runtime, scope=RecallScope())
    assert [(hit.plane, hit.id) for hit in found] == [
        (RecallPlane.LONG_TERM, "habit"),
        (RecallPlane.AGENT_SKILL, "invoices"),
    ]
    skill = found[1]
    assert (skill.topic, skill.text) == ("invoices", "Merges and splits invoices of customers")
    assert (skill.position, skill.observed_ms, skill.evidence) == (None, None, [])
    assert skill.fingerprint == runtime.skills.mounted().packages[0].fingerprint
    components = skill.components or {}
    assert set(components) <= set(COMPONENTS)
    assert skill.score == pytest.approx(sum(components.values()), abs=10 ** (1 - SCORE_DIGITS))
    assert min(components["lexical"], components["exact"], components["scope"], components["authority"]) > 0
    assert "Run the" not in f"{found}"


def test_a_skill_takes_a_place_of_the_limit(runtime: Runtime) -> None:
    assert [hit.id for hit in hits(runtime, scope=RecallScope(), limit=1)] == ["habit"]
    report = plane(runtime, "customers", RecallScope())
    assert (report.candidates, report.matched, report.selected, report.ids) == (2, 1, 1, ["invoices"])


def test_of_skills_that_fit_alike_the_one_that_is_mounted_first_comes_first(folder: Path) -> None:
    for name in ("b-two", "a-one"):
        package(folder / "more", name, "Sorts stamps")
    options = Options(sources=seeded_sources("skills"), skills=(folder, folder / "more"))
    with muniment.open("memory:", options=options) as runtime:
        assert [hit.id for hit in hits(runtime, "stamps")] == ["a-one", "b-two"]


def test_what_a_skill_tells_an_agent_to_do_is_not_searched(runtime: Runtime) -> None:
    assert plane(runtime, "scullery").miss is RecallMiss.NOTHING_MATCHED


def test_a_recall_says_why_it_has_no_skill(runtime: Runtime, folder: Path) -> None:
    """RC-08, AS-04: what is broken is counted, and named by `skills.mounted`."""
    asked = "Where did my invoices, letters, parcels, notes, receipts and contracts go?"
    assert plane(runtime, asked).miss is RecallMiss.BELOW_THRESHOLD
    assert plane(runtime).findings == 0
    for name in ("invoices", "weather"):
        (folder / name / SKILL_FILE).write_text("no front matter", "utf-8")
    report = plane(runtime)
    assert (report.candidates, report.miss) == (0, RecallMiss.UNAVAILABLE)
    assert report.findings == len(runtime.skills.mounted().findings) > 0
    package(folder, "mail", "Merges invoices into letters")
    assert (plane(runtime).ids, plane(runtime).findings, plane(runtime).miss) == (["mail"], report.findings, None)


def test_without_directories_there_is_nothing_to_recall() -> None:
    with muniment.open("memory:", options=Options(sources=seeded_sources("skills"), skills=())) as runtime:
        assert plane(runtime).miss is RecallMiss.NOTHING_THERE


def test_a_view_without_words_shows_no_skill(runtime: Runtime) -> None:
    report = plane(runtime, view=View.OPERATOR_AUDIT)
    assert (report.candidates, report.withheld, report.miss) == (0, 2, RecallMiss.WITHHELD)
    assert "invoices" not in runtime.memory.prompt(SUBJECT, 500, view=View.OPERATOR_AUDIT).text


def test_a_recall_of_the_past_has_no_skill(runtime: Runtime) -> None:
    """Nobody knows what was mounted then."""
    then = runtime._session.space.sources.clock.now_ms()
    scope = RecallScope(planes=list(RecallPlane), as_of_ms=then)
    assert plane(runtime, scope=scope).miss is RecallMiss.NOTHING_THERE
    assert [hit.id for hit in hits(runtime, scope=scope)] == ["habit"]


def test_skills_move_no_score_of_what_they_have_less_of(runtime: Runtime, folder: Path) -> None:
    """A hit of another plane scores the same with and without skills that match less of the question."""
    with_skills = {hit.id: hit.score for hit in hits(runtime, "merges invoices on Fridays", RecallScope())}
    for name in ("invoices", "weather"):
        (folder / name / SKILL_FILE).unlink()
    without = {hit.id: hit.score for hit in hits(runtime, "merges invoices on Fridays", RecallScope())}
    assert without == {name: score for name, score in with_skills.items() if name != "invoices"}


def test_a_recall_leaves_the_files_as_they_are(runtime: Runtime, folder: Path) -> None:
    def state() -> list[object]:
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        return [(path, path.stat().st_mtime_ns, path.stat().st_size) for path in files]

    before, events = state(), runtime.spaces.usage().events
    assert hits(runtime)
    assert (state(), runtime.spaces.usage().events) == (before, events)


def test_a_prompt_offers_first_the_skill_that_was_recalled(runtime: Runtime) -> None:
    """PJ-06: a hint, and none of its instructions."""
    text = runtime.memory.prompt(SUBJECT, 500).text
    assert text.index("invoices: Merges and splits") < text.index("weather: Says")
    text = runtime.memory.prompt(SUBJECT, 500, "How warm will it be?").text
    assert text.index("weather: Says") < text.index("invoices: Merges and splits")
    assert "Run the" not in text


def test_an_inspection_counts_the_active_packages(runtime: Runtime, folder: Path) -> None:
    (folder / "weather" / SKILL_FILE).write_bytes(os.urandom(8))
    assert runtime.subjects.inspect(SUBJECT, View.RAW_OWNER).skills.active == 1


def test_a_skill_with_the_name_of_an_item_is_not_taken_for_it(folder: Path) -> None:
    package(folder, "habit", "Files stamps by country")
    with muniment.open("memory:", options=Options(sources=seeded_sources("skills"), skills=(folder,))) as runtime:
        runtime.transcripts.commit(plain_turn(1))
        likes = [("Lives in Rome", "home", 0.9), ("Likes tea", "habit", 0.3)]
        given = [candidate(text, topic=name, id=name, confidence=sure) for text, name, sure in likes]
        assert runtime.memory.remember(given, "host").recorded == 2
        block = runtime.memory.prompt(SUBJECT, 500, "Which stamps by country?")
        assert block.recalled == 1
        assert [block.text.count(text) for text in ("Likes tea", "Files stamps")] == [1, 1]
        assert block.text.index("Lives in Rome") < block.text.index("Likes tea")
