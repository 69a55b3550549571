"""Any sequence of holds, releases, policies and erasures, held to a plain model of what still has words."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.events.identity import Channel, ConversationId
from tests.runtime.custody import (
    EVERYTHING,
    by_hand,
    erase,
    hold,
    left,
    of,
    said,
    talk,
    turn,
)
from tests.worlds import OPERATOR

SUBJECTS = ("ada", "bob")
TALKS = ("talk", "other")


@dataclass
class ModelTurn:
    """A turn as a plain model has it."""

    talk: str
    number: int
    subjects: set[str]
    at_ms: int
    words: bool = True


@dataclass
class Plain:
    """A plain model: turns, holds as predicates by position, periods by scope."""

    turns: list[ModelTurn] = field(default_factory=list)
    holds: dict[int, tuple[str | None, int | None, str | None]] = field(default_factory=dict)
    periods: dict[str | None, tuple[int | None, int | None]] = field(default_factory=dict)

    def held(self, told: ModelTurn) -> bool:
        return any(
            talk in (None, told.talk)
            and number in (None, told.number)
            and (subject is None or subject in told.subjects)
            for talk, number, subject in self.holds.values()
        )

    def by_law(self, told: ModelTurn, now_ms: int) -> bool:
        minima = [self.periods[scope][0] for scope in (None, told.talk) if scope in self.periods]
        return any(minimum is not None and now_ms - told.at_ms < minimum for minimum in minima)

    def due(self, told: ModelTurn, now_ms: int) -> bool:
        for scope in (told.talk, None):
            end = self.periods.get(scope, (None, None))[1]
            if end is not None:
                return now_ms - told.at_ms >= end
        return False

    def erase(self, asked: list[ModelTurn], now_ms: int) -> None:
        for told in asked:
            if not self.held(told) and not self.by_law(told, now_ms):
                told.words = False


acts = st.tuples(st.integers(0, 8), st.integers(0, 5), st.sampled_from(TALKS), st.sampled_from(SUBJECTS))
maybe_ms = st.none() | st.integers(1, 6)


@settings(max_examples=60)
@given(st.lists(st.tuples(acts, maybe_ms, maybe_ms), max_size=25))
def test_no_sequence_of_requests_erases_what_is_held_or_kept_by_law(
    drawn: list[tuple[tuple[int, int, str, str], int | None, int | None]],
) -> None:
    """What has words is what a plain model says, whatever was held, released, retained, asked for and in which order.

    A held turn keeps its words until the release; words never come back.
    """
    world, hands = by_hand()
    model = Plain()
    lifecycle = world.runtime.lifecycle
    try:
        for (act, number, name, subject), least, most in drawn:
            hands.ms += 1
            known = [told for told in model.turns if told.talk == name]
            if act <= 1 or not known:
                acting = "bob" if number == 0 else None
                world.commit(said(len(known) + 1, subject, name, acting))
                owners = {subject, "bob"} if acting else {subject}
                model.turns.append(ModelTurn(name, len(known) + 1, owners, hands.ms))
            elif act == 2:
                one = known[number % len(known)]
                scope, meant = [
                    (turn(one.number, name), (name, one.number, None)), (talk(name), (name, None, None)),
                    (of(subject), (None, None, subject)), (EVERYTHING, (None, None, None)),
                ][number % 4]  # fmt: skip
                if one.words or scope.turn is None:
                    position = hold(world, scope).position
                    assert position is not None
                    model.holds[position] = meant
            elif act == 3 and model.holds:
                position = sorted(model.holds)[number % len(model.holds)]
                assert lifecycle.release(position, "over", OPERATOR).changed
                del model.holds[position]
            elif act == 4:
                if number % 2:
                    lifecycle.retain("why", OPERATOR, None, None, least, most)
                else:
                    lifecycle.retain("why", OPERATOR, Channel("default"), ConversationId(name), least, most)
                model.periods[None if number % 2 else name] = (least, most)
            elif act == 5:
                lifecycle.apply_retention(OPERATOR)
                model.erase([told for told in model.turns if model.due(told, hands.ms)], hands.ms)
            elif act == 6:
                erase(world, of(subject))
                model.erase([told for told in model.turns if subject in told.subjects], hands.ms)
            elif act == 7:
                one = known[number % len(known)]
                erase(world, turn(one.number, name))
                model.erase([one], hands.ms)
            else:
                erase(world, talk(name))
                model.erase(known, hands.ms)
            for each in TALKS:
                assert left(world, each) == [told.number for told in model.turns if told.talk == each and told.words]
        assert world.runtime.system.recover().contents_destroyed_again == 0
    finally:
        world.close()
