"""A shop to search in: a few turns of several conversations, and what queries find in them."""

from __future__ import annotations

from typing import Any

from muniment.events.identity import Channel, ConversationId, TurnId
from muniment.events.message import Message, Role
from muniment.events.turn import Turn
from muniment.operations.transcripts.hits import Hit, SearchPage, SearchRanking, Sort
from tests.turns import SUBJECT, short
from tests.worlds import World

DAY_MS = 86_400_000
BEGUN_MS = 1_704_067_200_000  # 2024-01-01
BY_TIME = SearchRanking(sort=Sort.TIME)


def said(role: Role, text: str, speaker: str, day: int) -> Message:
    return Message(role=role, content=text, speaker_id=speaker, observed_ms=BEGUN_MS + day * DAY_MS)


def talked(number: int, conversation: str, question: str, reply: str, *, channel: str = "default") -> Turn:
    """Return a turn of Ada and a desk, on the day of its number."""
    return Turn(
        turn=TurnId(f"{conversation}-{number}"),
        subject=SUBJECT,
        conversation=ConversationId(conversation),
        channel=Channel(channel),
        messages=[
            said(Role.USER, question, "Ada Lovelace", number),
            said(Role.ASSISTANT, reply, "desk", number),
        ],
    )


TURNS = [
    talked(1, "tea", "Have you got green tea?", "Green and black tea, and a green teapot."),
    talked(2, "tea", "The order is 4711-zephyr.", "Thank you, the tea leaves tomorrow."),
    talked(3, "walk", "我们去青川县旅行吧", "青川很美。"),
    talked(40, "walk", "Where is my dog?", "At home, drinking tea.", channel="mail"),
]


def found(world: World, query: str, **request: Any) -> SearchPage:
    return world.runtime.transcripts.search(query, **{"limit": 50, **request})


def hits(told: SearchPage) -> list[Hit]:
    """Return the hits that hold something of what was looked for."""
    return [hit for hit in told.hits if not hit.is_context]


def places(told: SearchPage) -> list[str]:
    return [short(hit.place.message) for hit in hits(told)]


def highlighted(hit: Hit) -> list[str]:
    return [hit.excerpt.text[start:end] for start, end in hit.excerpt.highlights]


FINDS: dict[str, set[str]] = {
    "zephyr": {"tea-2#0"},
    "4711-zephyr": {"tea-2#0"},
    "green dog": {"tea-1#0", "tea-1#1", "walk-40#0"},
    '"green tea"': {"tea-1#0"},
    '"green tea" dog': {"tea-1#0"},
    '"black tea" "green teapot"': {"tea-1#1"},
    "tea -green": {"tea-2#1", "walk-40#1"},
    'tea -"green tea" -leaves': {"tea-1#1", "walk-40#1"},
    "tea from:ada": {"tea-1#0"},
    'tea from:"lovelace ADA"': {"tea-1#0"},
    "tea -from:ada from:desk": {"tea-1#1", "tea-2#1", "walk-40#1"},
    "tea from:ada from:desk role:user": {"tea-1#0"},
    "tea from:nobody": set(),
    "tea in:tea": {"tea-1#0", "tea-1#1", "tea-2#1"},
    "tea in:mail/walk": {"walk-40#1"},
    "tea in:tea in:mail/walk after:2024-01-02": {"tea-2#1", "walk-40#1"},
    "tea -in:tea": {"walk-40#1"},
    "tea before:2024-01-03": {"tea-1#0", "tea-1#1"},
    "tea on:2024-01-03": {"tea-2#1"},
    "tea on:2024-01": {"tea-1#0", "tea-1#1", "tea-2#1"},
    "tea after:2024-01-03 before:2025": {"walk-40#1"},
    "tea after:2024-01 -after:2024": {"walk-40#1"},
    "tea before:2025 before:2024-01-03": {"tea-1#0", "tea-1#1"},
    "tea after:2023 after:2024-01-03": {"walk-40#1"},
    "tea role:assistant": {"tea-1#1", "tea-2#1", "walk-40#1"},
    "青川": {"walk-3#0", "walk-3#1"},
    '"青川县"': {"walk-3#0"},
    "青川 dog": {"walk-3#0", "walk-3#1", "walk-40#0"},
    "TEAS drink": {"tea-1#0", "tea-1#1", "tea-2#1", "walk-40#1"},
    "rowid:1 NEAR(dog) AND* ^": {"walk-40#0"},
    "' OR 1=1; DROP TABLE events; --zephyr": set(),
    "\u202edog": {"walk-40#0"},
    "unheard-of": set(),
}
