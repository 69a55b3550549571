"""What the runs of an agent have of a store: recall before the model is called, and a commit when a run ends.

A failure of the store follows the policy of the host (`FailurePolicy`): it is counted and logged without words of the
run, which goes on without what was asked for, or it is raised.
"""

from __future__ import annotations

from collections.abc import Callable
from logging import getLogger
from typing import TypeVar

from muniment.errors import Kind, MunimentError, UnknownConversation
from muniment.events.identity import ConversationKey
from muniment.host.adapted_store import AdaptedStore, StoreGiven
from muniment.host.failure_policy import FailurePolicy
from muniment.kernel.locks import new_lock
from muniment.operations.memory.prompt_report import BlockComposition, PromptBlock
from muniment.runtime.runtime import Runtime

RECALL_TOKENS = 800

log = getLogger(__name__)
T = TypeVar("T")


class RunEvidence:
    """Recalls for the runs of an agent and commits their turns. Thread-safe; one may serve any number of runs.

    `store` is a runtime, which stays open, or a path, which `close` closes.
    """

    def __init__(
        self,
        store: StoreGiven,
        *,
        recall_tokens: int = RECALL_TOKENS,
        policy: FailurePolicy = FailurePolicy.FAIL_OPEN,
    ) -> None:
        self._adapted = AdaptedStore(store)
        self._recall_tokens = recall_tokens
        self._policy = FailurePolicy(policy)
        self._counting = new_lock()
        self._failures = 0

    @property
    def store(self) -> Runtime:
        """The store; raises `store.closed` after `close`."""
        return self._adapted.runtime

    def close(self) -> None:
        """Close a store that was opened here. A repeat does nothing."""
        self._adapted.close()

    @property
    def failures(self) -> int:
        """How often the store failed and a run went on."""
        return self._failures

    def recalled(self, subject: Callable[[], str], conversation: ConversationKey | None, question: str) -> str:
        """Return what memory has on a question, as one block that is marked as untrusted; empty when it has nothing."""
        if not self._recall_tokens or not question.strip():
            return ""
        return self._guarded("recall", lambda: self._block(subject(), conversation, question), later="", refused="")

    def settled(self, commit: Callable[[], object]) -> bool:
        """Make a commit; return whether it is settled: false means that the store is unavailable for now.

        A commit that is refused is settled, and counted as a failure.
        """

        def committed() -> bool:
            _ = commit()
            return True

        return self._guarded("commit", committed, later=False, refused=True)

    def _block(self, subject: str, conversation: ConversationKey | None, question: str) -> str:
        prompt = self.store.memory.prompt
        if conversation is not None:
            goes_on = BlockComposition(conversation=conversation.conversation, channel=conversation.channel)
            try:
                return _text(prompt(subject, self._recall_tokens, question, composition=goes_on))
            except UnknownConversation:  # this is its first turn
                pass
        return _text(prompt(subject, self._recall_tokens, question))

    def _guarded(self, doing: str, call: Callable[[], T], *, later: T, refused: T) -> T:
        """Return what a call returns; `later` when the store is unavailable, `refused` when it fails otherwise."""
        try:
            return call()
        except Exception as error:
            if self._policy.is_raised(error):
                raise
            known = error if isinstance(error, MunimentError) else None
            with self._counting:
                self._failures += 1
            log.error("The run goes on without a %s: %s", doing, known or type(error).__name__)  # noqa: TRY400 - a traceback may quote the run
            return later if known and known.kind is Kind.UNAVAILABLE else refused


def _text(block: PromptBlock) -> str:
    """Return the text of a block, empty when nothing is in it."""
    return block.text if any(section.ids for section in block.sections) else ""
