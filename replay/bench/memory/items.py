"""What is remembered: statements about subjects, each with a turn as its evidence, the same ones in every run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import ceil

from msgspec.structs import replace

from muniment.events.identity import SubjectId, TurnId
from muniment.events.turn import Turn
from muniment.memory.candidate import Candidate, ItemSource, Ruling, SemanticJudgement
from muniment.runtime.runtime import Runtime
from replay.words import Words, key_of

ITEM_CHARACTERS = 120
TOPIC_CHARACTERS = 20
SOURCE_CHARACTERS = 100
ITEMS_OF_A_TURN = 20
AT_ONCE = 200  # candidates of a request, where only their number is of interest
QUESTION_CHARACTERS = 50
WRITER = "bench"
ACCEPTED = SemanticJudgement(decision=Ruling.ACCEPT)


def subject(number: int) -> SubjectId:
    """Return a subject by its number."""
    return SubjectId(f"subject-{number}")


def conversation(number: int) -> str:
    """Return the conversation of a subject."""
    return f"talk-{number}"


def source(words: Words, number: int, place: int = 0) -> Turn:
    """Return a turn that items of a subject rest on, the one of that number in the conversation."""
    turn = words.turn(conversation(number), place, characters=SOURCE_CHARACTERS)
    return replace(turn, subject=subject(number))


def statement(text: str, topic: str, whose: SubjectId, said: tuple[str, TurnId]) -> Candidate:
    """Return a candidate about a subject that rests on a turn of a conversation."""
    evidence = ItemSource(conversation=key_of(said[0]), turn=said[1])
    return Candidate(subject=whose, kind="fact", topic=topic, text=text, evidence=[evidence], judgement=ACCEPTED)


def statements(words: Words, count: int, subjects: int) -> Iterator[Candidate]:
    """Yield candidates of the usual size, about the subjects in turns; some rest on the same turn."""
    for number in range(count):
        text, about = " ".join(words.take(ITEM_CHARACTERS).split()), number % subjects  # no list, which is no statement
        topic = f"item {number} {text[:TOPIC_CHARACTERS]}"
        yield statement(
            text, topic, subject(about), (conversation(about), TurnId(f"turn-{number // subjects // ITEMS_OF_A_TURN}"))
        )


def fill(runtime: Runtime, words: Words, count: int, subjects: int) -> None:
    """Remember so many items about so many subjects."""
    for number in range(subjects):
        for place in range(ceil(count / subjects / ITEMS_OF_A_TURN)):
            runtime.transcripts.commit(source(words, number, place))
    left = statements(words, count, subjects)
    while batch := list(islice(left, AT_ONCE)):
        report = runtime.memory.remember(batch, WRITER)
        assert report.recorded == len(batch), "every statement has a topic of its own"


def questions(words: Words, count: int) -> list[str]:
    """Return questions: some words as they were said, without the broken ones at both ends."""
    return [" ".join(words.take(QUESTION_CHARACTERS).split()[1:-1]) for _ in range(count)]
