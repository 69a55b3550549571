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

from collections.abc import Mapping, Sequence
from functools import lru_cache

from muniment.events.message import Role
from muniment.events.records import MessageHead
from muniment.events.turn import ATTRIBUTIONS_CACHED_MAX, SUBJECT_SPEAKS, Attribution

ShownSpeaker = tuple[str, str]  # who said a message, and what kind of speaker that is


def shown_speakers(heads: Sequence[MessageHead], actor: Attribution) -> list[ShownSpeaker]:
    """Return the speaker of each message of a turn with these participants."""
    usual = usual_speakers(actor)
    return [(head.speaker_id or usual[head.role][0], head.speaker_kind or usual[head.role][1]) for head in heads]


@lru_cache(maxsize=ATTRIBUTIONS_CACHED_MAX)
def usual_speakers(actor: Attribution) -> Mapping[Role, ShownSpeaker]:
    """Return, for each role, the speaker of a message that names none in a turn with these participants."""
    named_agent = actor.agent_id and actor.agent_id not in {actor.subject, actor.speaker_id}
    return {role: (role.value, role.value) for role in Role} | {
        Role.USER: (actor.speaker_id or actor.subject or "", actor.speaker_kind or SUBJECT_SPEAKS),
        Role.ASSISTANT: (
            actor.agent_id if named_agent and actor.agent_id else Role.ASSISTANT.value,
            Role.ASSISTANT.value,
        ),
    }
