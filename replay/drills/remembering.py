"""What a process under load remembers, and what must be there of it, whenever it was killed.

Each conversation has one slot. Of every fourth turn an item is remembered there, which takes the place of the one
before, in one transaction with the retirement of that. Every fourth item is forgotten right afterwards. So the newest
item of a conversation is the one in use or, where that was forgotten, none is: anything else would be half a step. An
acknowledgement is written before the next step begins, so the newest item is either there or acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator

from muniment.events.identity import SubjectId, TurnId
from muniment.governance.views import View
from muniment.memory.candidate import ACCEPTED, Candidate, ItemSource
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.selection import ItemFilter, ItemSelection
from muniment.operations.memory.shown_item import ShownItem
from muniment.runtime.runtime import Runtime
from replay.words import key_of

SUBJECT = SubjectId("anna")
REMEMBERED_EVERY = 4  # turns
FORGOTTEN_EVERY = 4 * REMEMBERED_EVERY
PAGE_ITEMS = 500

Items = dict[str, dict[int, ShownItem]]  # conversation -> the items of its turns, by the number of the turn


def is_remembered(number: int) -> bool:
    """Tell whether an item is remembered of a turn."""
    return number % REMEMBERED_EVERY == 0


def is_forgotten(number: int) -> bool:
    """Tell whether the item of a turn is forgotten again."""
    return number % FORGOTTEN_EVERY == 0


def remember(runtime: Runtime, conversation: str, number: int) -> None:
    """Remember an item of a turn in the slot of its conversation."""
    candidate = Candidate(
        subject=SUBJECT,
        kind="task",
        topic=conversation,
        text=f"The last turn was number {number}",
        id=_item(conversation, number),
        evidence=[ItemSource(conversation=key_of(conversation), turn=TurnId(f"turn-{number}"))],
        judgement=ACCEPTED,
    )
    [decided] = runtime.memory.remember([candidate], "drill").candidates
    assert decided.changed, f"it is new: {decided.reason}"


def forget(runtime: Runtime, conversation: str, number: int) -> None:
    """Forget the item of a turn."""
    target = ForgetTarget(item=_item(conversation, number))
    assert runtime.memory.forget(SUBJECT, target, "asked for", "drill").changed, "it was there"


def items_of(runtime: Runtime) -> Items:
    """Return all items that are not forgotten, in use or not."""
    found: Items = {}
    for item in _listed(runtime):
        conversation, _, number = item.id.rpartition(" item ")
        found.setdefault(conversation, {})[int(number)] = item
    return found


def wrong_with(items: Items, conversation: str, remembered: int, forgotten: int) -> Iterator[str]:
    """Yield what is wrong with a conversation whose items were acknowledged up to these turns."""
    of_it = items.get(conversation, {})
    for number in range(REMEMBERED_EVERY, remembered + 1, REMEMBERED_EVERY):
        if number not in of_it and not is_forgotten(number):
            yield "an acknowledged item is gone"
    for number in range(FORGOTTEN_EVERY, forgotten + 1, FORGOTTEN_EVERY):
        if number in of_it:
            yield "an item is there that was acknowledged as forgotten"
    newest = max([*of_it, remembered], default=0)
    in_use = [number for number, item in of_it.items() if item.retired is None]
    if in_use != [newest] * (newest in of_it):
        yield "a newer statement was recorded by half"


def _item(conversation: str, number: int) -> str:
    return f"{conversation} item {number}"


def _listed(runtime: Runtime) -> Iterator[ShownItem]:
    after: int | None = None
    while True:
        page = runtime.memory.list_(SUBJECT, View.RAW_OWNER, ItemSelection(state=ItemFilter.ALL), PAGE_ITEMS, after)
        yield from (item for item in page.items if item.text is not None)
        after = page.next_after
        if after is None:
            return
