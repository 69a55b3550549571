"""The speaker of a message as every surface shows it: slices, search, prompts, exports, pages.

The log keeps what a host said; `events.turn.attributed` fills the missing identities of a turn with its subject. What
is shown follows the role of the message, so that the words of a model are never shown as those of a person:

| role | speaker of a message that names none | kind |
|---|---|---|
| user | the speaker of the turn, or its subject | the kind of the turn's speaker, or `subject` |
| assistant | the agent of the turn, or `assistant` | `assistant` |
| tool | `tool` | `tool` |
| system | `system` | `system` |

A message that names its own speaker keeps it. An agent with the name of the user names nobody else, so it is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from muniment.events.message import Role
from muniment.events.records import MessageHead
from muniment.events.turn import SUBJECT_SPEAKS, Attribution

ShownSpeaker = tuple[str, str]  # who said a message, and what kind of speaker that is


def shown_speakers(heads: Sequence[MessageHead], actor: Attribution) -> list[ShownSpeaker]:
    """Return the speaker of each message of a turn with these participants; one call for each turn of a page."""
    speakers: list[ShownSpeaker] = []
    for head in heads:
        role = head.role
        name: str = role.value
        kind = name
        if role is Role.USER:
            name, kind = actor.speaker_id or actor.subject or "", actor.speaker_kind or SUBJECT_SPEAKS
        elif role is Role.ASSISTANT and actor.agent_id and actor.agent_id not in {actor.subject, actor.speaker_id}:
            name = actor.agent_id
        speakers.append((head.speaker_id or name, head.speaker_kind or kind))
    return speakers
