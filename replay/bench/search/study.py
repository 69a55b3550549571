"""Search, corpus by corpus: how the index comes to be, how long answers take, and what writers pay."""

from __future__ import annotations

from replay.bench.scene import Measuring, Scene
from replay.bench.search.changes import changes
from replay.bench.search.corpora import corpora
from replay.bench.search.growth import growth
from replay.bench.search.latency import by_meaning, by_words, models
from replay.bench.search.queries import Kind, asked


def search(scene: Scene) -> Measuring:
    """Measure every corpus that is there."""
    sentences: list[str] = []
    for corpus in corpora(scene):
        questions = asked(corpus)
        sentences = sentences or [query.text for query in questions.everywhere if query.kind is Kind.SENTENCE]
        yield from growth(corpus, quick=scene.quick)
        yield from by_words(corpus, questions, quick=scene.quick)
        yield from by_meaning(corpus, questions, quick=scene.quick)
        yield from changes(corpus, questions, quick=scene.quick)
    yield from models(sentences)
