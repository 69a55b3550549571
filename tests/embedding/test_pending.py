"""When vectors are made: never by a commit, a few by a question, all of them on demand; and never of what is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import muniment
from muniment.embedding.bert import Bert
from muniment.embedding.choice import EmbedderChoice, EmbedderKind
from muniment.embedding.guarded import EmbedderFlaw, GuardedEmbedder
from muniment.embedding.protocol import Embedder
from muniment.errors import AccessDenied, KeyUnavailable, LimitExceeded, ModelInvalid, ModelUnavailable
from muniment.events.changes import Transition
from muniment.events.message import Role, TextPart
from muniment.events.turn import Turn
from muniment.evidence.pin import FilePin
from muniment.governance.access import Access, Effect
from muniment.governance.views import View
from muniment.kernel.sources import seeded_sources
from muniment.operations.system import models
from muniment.operations.transcripts import embed as embedding
from muniment.operations.transcripts.embed import NEWEST_PASSAGES_MAX, coverage, embed_newest
from muniment.operations.transcripts.hits import SemanticCoverage
from muniment.ranking.columns import Scores
from muniment.runtime.open import open_without_key
from muniment.runtime.runtime import Runtime
from muniment.search.document_table import SearchDocument
from muniment.search.index import Index
from muniment.search.meaning import Meaning
from muniment.space.options import Options
from muniment.space.space import Space
from tests.embedding.embedders import MISBEHAVIOUR, Bad, Stuck, Words
from tests.embedding.models import minilm, small_folder
from tests.turns import answer, answered, plain_turn, question
from tests.turns import asked as message
from tests.worlds import PINS, World, root_key

TURNS = 12
WAIT_S = 30.0
PASSAGES = 2 * TURNS


OPEN: list[World] = []


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    """Every world is closed."""
    yield
    while OPEN:
        OPEN.pop().close()


def said(number: int, text: str) -> Turn:
    """Return a turn in which a user says something."""
    return replace(plain_turn(number), messages=[message(text), answered("so it is")])


def world_with(embedder: Embedder | EmbedderChoice | None, turns: int = TURNS) -> World:
    """Return a world in memory with an embedder and plain turns."""

    def opened(_times: int) -> Runtime:
        options = Options(sources=seeded_sources("embedding"), embedder=embedder)
        return muniment.open("memory:", keys=root_key(), options=options)

    OPEN.append(World(opened))
    return OPEN[-1].with_turns(turns)


def space_of(world: World) -> Space:
    """Return the open space."""
    return world.runtime._session.space


def asked(world: World, query: str = "anything") -> tuple[SemanticCoverage, str | None, Scores | None]:
    """Ask as a search does, by meaning alone: how far it counted, why not, and the cosine of each document."""
    space = space_of(world)
    with space.indexes.caught_up(View.HOST_UI) as caught:
        embed_newest(space, View.HOST_UI, caught)
        index = caught.current
        scores = index.similarity(query)
        return *coverage(space, index), None if scores is None else scores[index.every()]


def words_of(world: World, view: View = View.HOST_UI) -> list[str]:
    """Return what a view shows of the plain turns, message by message."""
    messages = (each for turn in world.replay(view).turns for each in turn.messages)
    parts = (part for each in messages for part in each.parts)
    return [part.content for part in parts if isinstance(part, TextPart)]


def test_a_commit_embeds_nothing() -> None:
    """Durable first: meaning comes when it is asked for."""
    words = Words()
    world = world_with(words)
    assert words.given == []
    world.runtime.transcripts.search("question")
    assert len(words.given) == NEWEST_PASSAGES_MAX


def test_a_question_embeds_the_newest_and_says_how_far_meaning_counts() -> None:
    """Absent, partial, full: some of the newest with every question, until nothing is missing."""
    words = Words()
    world = world_with(words)
    told = words_of(world)
    states = [asked(world)[0] for _ in range(PASSAGES // NEWEST_PASSAGES_MAX + 1)]
    assert states == [SemanticCoverage.PARTIAL] * (PASSAGES // NEWEST_PASSAGES_MAX - 1) + [SemanticCoverage.FULL] * 2
    assert words.given == told[::-1]


def test_without_an_embedder_meaning_is_absent_without_a_reason() -> None:
    """Nothing was promised, so nothing is wrong."""
    world = world_with(None)
    found = world.runtime.transcripts.search("question")
    assert (found.semantic, found.semantic_reason) == (SemanticCoverage.ABSENT, None)
    with pytest.raises(ModelUnavailable):
        world.runtime.system.reembed()


def test_reembed_makes_all_that_is_missing_and_a_repeat_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """In batches, with progress, until meaning is full."""
    monkeypatch.setattr(embedding, "BATCH_PASSAGES", 5)
    words, told = Words(), []
    world = world_with(words)
    session = replace(world.runtime._session, progress=lambda *each: told.append(each))
    report = Runtime(session).system.reembed()
    assert (report.passages, report.embedded, report.pending) == (PASSAGES, PASSAGES, 0)
    assert (report.embedder, report.embedder_digest) == (words.name, words.digest)
    assert [each[1:] for each in told if each[0] == embedding.PROGRESS_STAGE] == [
        *((done, PASSAGES) for done in range(0, PASSAGES, 5)), (PASSAGES, PASSAGES),
    ]  # fmt: skip
    assert asked(world)[0] is SemanticCoverage.FULL
    assert world.runtime.system.reembed().embedded == 0
    assert sorted(words.given) == sorted(words_of(world))


def test_meaning_finds_what_shares_no_word() -> None:
    """The cosine of a document to a question is that of its best passage."""
    alike = Words(alike={"dog": "hound"})
    world = world_with(alike, turns=0)
    for number, text in enumerate(["a hound", "a train", "x " * 900 + "\n" + "hound " * 300], start=1):
        world.commit(said(number, text))
    world.runtime.system.reembed()
    _, _, scores = asked(world, "dog")
    assert scores is not None
    users = scores[::2]
    assert users.argmin() == 1
    assert users[2] > 0.95


def test_a_view_embeds_what_it_shows_and_nothing_else() -> None:
    """What is masked, erased or out of the view is given to no embedder."""
    words = Words()
    world = world_with(words).masked(2).erased(3)
    report = world.runtime.system.reembed()
    assert report.passages == PASSAGES - 4
    assert not {question(2), answer(2), question(3), answer(3)}.intersection(words.given)
    audit = world.runtime.system.reembed(View.OPERATOR_AUDIT)
    assert audit.passages == audit.embedded == 0


@pytest.mark.parametrize("transition", [Transition.MASK, Transition.ERASE])
def test_what_is_gone_before_its_vector_comes_is_not_kept(transition: Transition) -> None:
    """Erasure does not wait for an embedder, and nothing that it returns later brings a turn back."""
    stuck = Stuck()
    world = world_with(stuck, turns=3)
    done = threading.Thread(target=world.runtime.system.reembed)
    done.start()
    assert stuck.entered.acquire(timeout=30)
    world.request(transition, 2)
    stuck.gate.set()
    done.join(30)
    with space_of(world).indexes.caught_up(View.HOST_UI) as (index, _):
        assert len(index.meaning) == len(index.present_passages()) == 4


def test_what_is_hidden_loses_its_vector_at_once() -> None:
    """A vector is content: it goes with the words."""
    world = world_with(Words())
    world.runtime.system.reembed()
    world.masked(5)
    assert asked(world)[0] is SemanticCoverage.FULL
    with space_of(world).indexes.caught_up(View.HOST_UI) as (index, _):
        assert len(index.meaning) == PASSAGES - 2


def test_an_index_that_grew_has_the_cosines_of_one_made_anew() -> None:
    """The cosines of an index that followed every change are incrementally those of one that was made again."""
    world = world_with(Words())
    world.runtime.system.reembed()
    world.masked(4).erased(6).with_turns(3).archived(2)
    world.runtime.system.reembed()
    _, _, grown = asked(world, question(3))
    space_of(world).indexes.drop()
    world.runtime.system.reembed()
    _, _, made_anew = asked(world, question(3))
    assert grown is not None
    assert made_anew is not None
    assert sorted(grown.tolist()) == sorted(made_anew.tolist())


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", MISBEHAVIOUR)
def test_an_embedder_that_misbehaves_costs_meaning_and_nothing_else(how: str) -> None:
    """The search answers by words and says why; nothing is stored; `reembed` says it, too."""
    world = world_with(Bad(MISBEHAVIOUR[how]))
    plain = world_with(None)
    query = words_of(world)[0]
    found, expected = world.runtime.transcripts.search(query), plain.runtime.transcripts.search(query)
    assert found.hits == expected.hits
    assert found.hits
    assert found.semantic is SemanticCoverage.ABSENT
    assert found.semantic_reason in {EmbedderFlaw.FAILED, EmbedderFlaw.MALFORMED}
    with space_of(world).indexes.caught_up(View.HOST_UI) as (index, _):
        assert len(index.meaning) == 0
    with pytest.raises(ModelUnavailable):
        world.runtime.system.reembed()


def test_an_embedder_that_hangs_is_waited_for_no_longer_than_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Late is a flaw of this answer; when it is back, meaning is."""
    monkeypatch.setattr(embedding, "NEWEST_WAIT_S", 0.01)
    stuck = Stuck()
    world = world_with(stuck)
    assert asked(world)[:2] == (SemanticCoverage.ABSENT, EmbedderFlaw.LATE)
    stuck.gate.set()
    monkeypatch.undo()
    assert asked(world)[:2] == (SemanticCoverage.PARTIAL, None)


def test_a_question_that_gets_no_vector_is_answered_by_words() -> None:
    """Vectors are there, but nothing to compare them with."""
    stuck = Stuck(only_queries=True)
    world = world_with(stuck)
    world.runtime.system.reembed()
    with space_of(world).indexes.caught_up(View.HOST_UI) as (index, _):
        assert index.meaning.embedder is not None
        index.meaning.embedder.query_wait_s = 0.01
    state, flaw, scores = asked(world)
    stuck.gate.set()
    assert (state, flaw, scores) == (SemanticCoverage.ABSENT, EmbedderFlaw.LATE, None)


@pytest.mark.parametrize("kind", [EmbedderKind.IMPORTED, EmbedderKind.ONNX, EmbedderKind.HTTP])
def test_a_choice_that_cannot_be_met_is_said_and_search_answers(kind: EmbedderKind) -> None:
    """A missing model is a reason, not an error of the search; `reembed` raises it."""
    world = world_with(EmbedderChoice(kind=kind, spaces=frozenset({"default"})))
    found = world.runtime.transcripts.search(words_of(world)[0])
    assert found.hits
    assert (found.semantic, found.semantic_reason) == (SemanticCoverage.ABSENT, ModelUnavailable.code)
    with pytest.raises(ModelUnavailable):
        world.runtime.system.reembed()


def test_an_endpoint_serves_the_spaces_that_are_named_and_no_others() -> None:
    """Words leave the machine for a space only where that was said."""
    address = EmbedderChoice(kind=EmbedderKind.HTTP, url="https://127.0.0.1:9/v1", model="m", dimension=3)
    for spaces, flaw in (
        (frozenset[str](), None),
        (frozenset({"other"}), None),
        (frozenset({"default"}), EmbedderFlaw.FAILED),
    ):
        world = world_with(replace(address, spaces=spaces), turns=1)
        found = world.runtime.transcripts.search("anything")
        assert (found.semantic, found.semantic_reason) == (SemanticCoverage.ABSENT, flaw)


# --- models -----------------------------------------------------------------------------------------------------------


def opened(home: Path, embedder: Embedder | EmbedderChoice | None = None) -> World:
    """Return a world in a directory, with the embedder that the store has or another one."""

    def again(_times: int) -> Runtime:
        options = Options(
            sources=seeded_sources("models"), pin=FilePin(home / PINS), embedder=embedder or EmbedderChoice()
        )
        return muniment.open(home / "store", keys=root_key(), options=options)

    OPEN.append(World(again))
    return OPEN[-1]


def test_an_imported_model_is_used_from_then_on_and_after_opening(tmp_path: Path) -> None:
    """Kept under its digest for the owner alone; found again by the next process; a repeat changes nothing."""
    folder = small_folder(tmp_path / "small")
    world = opened(tmp_path).with_turns(3)
    assert world.runtime.transcripts.search("question").semantic is SemanticCoverage.ABSENT
    report = world.runtime.system.import_model(str(folder))
    assert (report.name, report.dimension, report.tokens_max) == ("small", 64, 40)
    assert report.likeness > 0.995
    assert world.runtime.transcripts.search("question").semantic is SemanticCoverage.FULL
    [kept] = (tmp_path / "store/models").iterdir()
    assert (kept.name, kept.stat().st_size) == (f"{report.digest}.npz", report.bytes)
    assert kept.stat().st_mode & 0o777 == 0o600
    before = kept.stat().st_ino
    assert world.runtime.system.import_model(str(folder)) == report
    assert kept.stat().st_ino == before
    OPEN.remove(world)
    world.close()
    again = opened(tmp_path)
    assert again.runtime.system.reembed().embedder_digest.endswith(report.digest)
    assert again.runtime.transcripts.search("question").semantic is SemanticCoverage.FULL


def test_another_model_takes_the_place_of_the_first_and_vectors_are_made_anew(tmp_path: Path) -> None:
    """Two models are never mixed in one score."""
    world = opened(tmp_path).with_turns(TURNS)
    first = world.runtime.system.import_model(str(small_folder(tmp_path / "one")))
    assert world.runtime.system.reembed().embedded == PASSAGES
    second = world.runtime.system.import_model(str(small_folder(tmp_path / "two", layer_norm_eps=1e-5)))
    assert first.digest != second.digest
    with space_of(world).indexes.caught_up(View.HOST_UI) as (index, _):
        assert len(index.meaning) == 0
    assert asked(world)[0] is SemanticCoverage.PARTIAL
    assert world.runtime.system.reembed().embedded == PASSAGES - NEWEST_PASSAGES_MAX
    assert len(list((tmp_path / "store/models").iterdir())) == 1


BAD_FOLDERS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda folder: (folder / "config.json").unlink(),
    "something else": lambda folder: (folder / "config.json").write_text("[]"),
}


@pytest.mark.parametrize("fault", BAD_FOLDERS)
def test_a_bad_folder_changes_nothing(tmp_path: Path, fault: str) -> None:
    """What was imported before stays."""
    world = opened(tmp_path)
    world.runtime.system.import_model(str(small_folder(tmp_path / "one")))
    folder = small_folder(tmp_path / "two")
    BAD_FOLDERS[fault](folder)
    for named in (str(folder), str(tmp_path / "nowhere"), "no\0path"):
        with pytest.raises(ModelInvalid):
            world.runtime.system.import_model(named)
    assert len(list((tmp_path / "store/models").iterdir())) == 1


def test_a_model_is_not_imported_without_keys_and_not_from_just_anywhere(tmp_path: Path) -> None:
    """Whoever has no key of the store puts nothing into it; a path that is none is too long."""
    world = opened(tmp_path)
    with pytest.raises(LimitExceeded):
        world.runtime.system.import_model("x" * (models.PATH_CHARS_MAX + 1))
    OPEN.remove(world)
    world.close()
    with open_without_key(tmp_path / "store") as third_party, pytest.raises(KeyUnavailable):
        third_party.system.import_model(str(small_folder(tmp_path / "one")))
    assert not (tmp_path / "store/models").exists()


def test_a_model_that_is_another_one_when_packed_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would find something else than the weights that were given is refused; so is what makes no vectors."""
    world, folder = opened(tmp_path), small_folder(tmp_path / "one")
    monkeypatch.setattr(models, "LIKENESS_MIN", 1.1)
    with pytest.raises(ModelInvalid) as refused:
        world.runtime.system.import_model(str(folder))
    assert refused.value.problem == "not_alike"
    monkeypatch.undo()
    monkeypatch.setattr(Bert, "encode", lambda *_, **__: None)
    with pytest.raises(ModelInvalid) as refused:
        world.runtime.system.import_model(str(folder))
    assert refused.value.problem == "not_usable"
    assert not (tmp_path / "store/models").exists()


def test_a_kept_model_that_was_damaged_is_a_reason_and_no_error(tmp_path: Path) -> None:
    """The store answers by words."""
    world = opened(tmp_path).with_turns(1)
    world.runtime.system.import_model(str(small_folder(tmp_path / "one")))
    OPEN.remove(world)
    world.close()
    [kept] = (tmp_path / "store/models").iterdir()
    kept.write_bytes(kept.read_bytes()[:1000])
    again = opened(tmp_path)
    found = again.runtime.transcripts.search("question")
    assert (found.semantic, found.semantic_reason) == (SemanticCoverage.ABSENT, ModelInvalid.code)


def test_the_right_to_administer_is_needed() -> None:
    """Neither models nor vectors are anybody's."""
    world = world_with(Words(), turns=1)
    reader = world.runtime.restricted(Access(effects=frozenset({Effect.READ, Effect.APPEND, Effect.ERASE})))
    for call in (reader.system.reembed, lambda: reader.system.import_model("x")):
        with pytest.raises(AccessDenied):
            call()


def test_the_published_model_finds_by_meaning(tmp_path: Path) -> None:
    """MiniLM through the front door: imported, embedded, asked."""
    world = opened(tmp_path)
    for number, text in enumerate(["My dog was ill all week.", "The invoice is due on Friday."], start=1):
        world.commit(said(number, text))
    report = world.runtime.system.import_model(str(minilm()))
    assert report.likeness > 0.999
    world.runtime.system.reembed()
    _, _, scores = asked(world, "When must the bill be paid?")
    assert scores is not None
    assert scores[::2].argmax() == 1


def test_without_vectors_there_is_no_similarity() -> None:
    """None, and not nothing found: without an embedder, and before it made any; and none to a question of no words."""
    index = Index()
    assert index.similarity("anything") is None
    index.meaning = meaning = Meaning(GuardedEmbedder(Words()))
    assert index.similarity("anything") is None
    world = world_with(Words())
    assert asked(world, " ")[0] is SemanticCoverage.PARTIAL
    assert meaning.memory_bytes > 0


@settings(max_examples=25)
@given(some=st.sets(st.integers(0, 29)), hidden=st.sets(st.integers(0, 29), max_size=5))
def test_candidates_have_the_cosines_of_the_whole(some: set[int], hidden: set[int]) -> None:
    """Few or most of all: each has the cosine that it has among all, and nan where it has no vector."""
    index = Index()
    index.meaning = meaning = Meaning(GuardedEmbedder(Words()))
    for turn in range(30):
        text = f"words of {turn} " * (400 if turn % 7 == 0 else 1)
        index.put(1, turn + 1, [SearchDocument(message=0, role=Role.USER, speaker="ada", time_ms=turn, text=text)])
    there = index.present_passages()
    known = there[~np.isin(index.passage_rows()[there], list(hidden))]
    assert meaning.learn(known, [f"text {number}" for number in known], WAIT_S)
    whole = index.similarity("text 12")
    assert whole is not None
    assert {row for row in range(30) if np.isnan(whole[row])} == hidden
    rows = np.array(sorted(some), np.int64)
    found = index.similarity("text 12", rows)
    assert found is not None
    assert np.array_equal(found, whole[rows], equal_nan=True)
