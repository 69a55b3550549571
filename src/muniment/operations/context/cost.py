"""What a line costs: tokens and characters.

A line costs the tokens of its texts, joined by line ends, and an overhead for the message. The texts are those that a
model is given: text, the names, arguments and ids of calls, the results of tools. Tokens are counted by
`Options.token_counter`, or without one by `estimate`, which is above what the usual encodings need for text. Lines that
a shape joins into one message are counted separately, so that the sum is never too low.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from muniment.errors import InvalidInput
from muniment.operations.context.prompt_lines import Line, texts_of
from muniment.space.token_counter import Encoding, TokenCounter

ESTIMATE = "estimate"
CALLER = "caller"
BYTES_OF_TWO_TOKENS = 7  # 3.5 bytes of UTF-8 count as a token


class Cost(Struct, frozen=True, kw_only=True):
    """The part of a budget that lines use."""

    tokens: int = 0
    chars: int = 0
    lines: int = 0

    def plus(self, other: Cost) -> Cost:
        """Return the cost of both."""
        return Cost(tokens=self.tokens + other.tokens, chars=self.chars + other.chars, lines=self.lines + other.lines)

    @property
    def room(self) -> RemainingBudget:
        """The cost as a part of a budget."""
        return RemainingBudget(tokens=self.tokens, chars=self.chars)


NOTHING = Cost()


class RemainingBudget(Struct, frozen=True, kw_only=True):
    """The rest of a budget; `chars` None is no bound."""

    tokens: int
    chars: int | None = None

    def holds(self, cost: Cost) -> bool:
        """Tell whether lines fit."""
        return cost.tokens <= self.tokens and (self.chars is None or cost.chars <= self.chars)

    def without(self, other: RemainingBudget) -> RemainingBudget:
        """Return the rest when a part is used; never below 0."""
        chars = None if self.chars is None else max(0, self.chars - (other.chars or 0))
        return RemainingBudget(tokens=max(0, self.tokens - other.tokens), chars=chars)

    def within(self, other: RemainingBudget) -> RemainingBudget:
        """Return this budget, but no more than another one."""
        chars = None if self.chars is None or other.chars is None else min(self.chars, other.chars)
        return RemainingBudget(tokens=min(self.tokens, other.tokens), chars=chars)

    def share(self, percent: int) -> RemainingBudget:
        """Return a share of the budget, rounded down."""
        return RemainingBudget(
            tokens=self.tokens * percent // 100, chars=None if self.chars is None else self.chars * percent // 100
        )


def estimate(text: str) -> int:
    """Return how many tokens a text has at most, for the usual encodings: a token for each 3.5 bytes of UTF-8."""
    return -(-len(text.encode()) * 2 // BYTES_OF_TWO_TOKENS)


def counter_or_estimate(counter: TokenCounter | None) -> TokenCounter:
    """Return what counts tokens: the counter of the caller, or else the estimate."""
    return estimate if counter is None else counter


def counter_name(counter: TokenCounter | None) -> str:
    """Return what a report calls a counter."""
    return ESTIMATE if counter is None else counter.name if isinstance(counter, Encoding) else CALLER


class Meter:
    """Counts lines; no text is counted twice."""

    def __init__(self, counter: TokenCounter | None, overhead_tokens: int, file_tokens: int | None) -> None:
        self._count = counter_or_estimate(counter)
        self._overhead = overhead_tokens
        self._file = file_tokens or 0
        self._known: dict[str, int] = {}
        self.name = counter_name(counter)

    def cost(self, lines: Iterable[Line]) -> Cost:
        """Return what lines cost."""
        total = NOTHING
        for line in lines:
            for texts, files in texts_of(line):
                tokens = self._tokens("\n".join(texts)) + self._overhead + self._file * files
                total = total.plus(Cost(tokens=tokens, chars=sum(map(len, texts)), lines=1))
        return total

    def _tokens(self, text: str) -> int:
        if not text:
            return 0
        known = self._known.get(text)
        if known is None:
            known = self._count(text)
            if type(known) is not int or known < 0:
                raise InvalidInput(at="token_counter", problem="not_a_count")
            self._known[text] = known
        return known
