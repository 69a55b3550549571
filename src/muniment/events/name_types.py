"""The types of names and of numbers in a log; `identity` says which texts are names.

A name is text that a host chose, so every place that takes one takes a plain `str` (decision 0139). The aliases say in
signatures which name is meant.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

SpaceName: TypeAlias = str
Channel: TypeAlias = str
ConversationId: TypeAlias = str
ChatId: TypeAlias = str
TurnId: TypeAlias = str
SubjectId: TypeAlias = str

Sequence = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]

DEFAULT_SPACE = SpaceName("default")
DEFAULT_CHANNEL = Channel("default")
