"""The request of a block for a prompt, and its report. Nothing here computes."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from muniment.events.identity import Channel, ConversationId, ConversationKey, given_key
from muniment.governance.covered_turns import CoveredTurns
from muniment.memory.memory_block import SectionReport
from muniment.memory.recall_weights import RecallPreset
from muniment.memory.tool_registry import RegistryProblem, RegistryReference
from muniment.operations.memory.recall_report import RECALL_HITS


class BlockComposition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What goes into a block beside the items of the subject.

    `conversation` is the one that goes on: with `recent_messages` so many of its newest messages are offered, and a
    question of too few words is extended with them. `hits` is how many items and messages a question may recall.
    """

    conversation: Annotated[
        ConversationId | None,
        Meta(description="The conversation that goes on: one of the channel, or of the default channel."),
    ] = None
    channel: Annotated[Channel | None, Meta(description="Channel of the conversation.")] = None
    recent_messages: Annotated[int, Meta(ge=0, description="How many of its newest messages are offered.")] = 0
    hits: Annotated[int, Meta(ge=1, description="How much a question may recall.")] = RECALL_HITS
    preset: Annotated[RecallPreset, Meta(description="Named weights of the recall.")] = RecallPreset.BALANCED

    @property
    def key(self) -> ConversationKey | None:
        """The conversation that goes on, if there is one."""
        return given_key(self.conversation, self.channel)


class PromptBlock(Struct, frozen=True, kw_only=True):
    """A block for a prompt, and what is in it.

    `tokens` is what `counter` says of exactly this text, `chars` its characters; `tokens` is never above
    `budget_tokens`, nor `chars` above what the profile allows. Items that may not stand in prompts are not offered:
    `withheld` counts them. `recalled` is how many hits a question had. `registries` give no hints.
    """

    text: str
    tokens: int
    chars: int
    budget_tokens: int
    counter: str
    cut: bool
    withheld: int
    recalled: int
    sections: list[SectionReport]
    positions: list[int]
    registries: list[RegistryProblem]

    def covered(self) -> CoveredTurns:
        """Return the items and turns that this shows."""
        return CoveredTurns(positions=self.positions)


class AskedBlock(NamedTuple):
    """The block that is wanted: of which subject, within which budget, for which question, with which tools."""

    subject: str
    budget_tokens: int
    query: str | None
    composition: BlockComposition
    registries: list[RegistryReference]
