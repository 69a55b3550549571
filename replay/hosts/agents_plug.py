"""The tests of the OpenAI Agents SDK for its SQLite session, run against `MunimentSession`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tests.extensions.memory.test_encrypt_session as encrypted
import tests.memory.test_session as sessions
import tests.memory.test_session_limit as limits

from muniment.host.openai_agents import MunimentSession


class PluggedSession(MunimentSession):
    """A session that is made as the tests make one: with the path of a store."""

    def __init__(self, session_id: str, db_path: str | Path = ":memory:", session_settings: Any = None) -> None:
        store = "memory:" if str(db_path) == ":memory:" else Path(db_path)
        super().__init__(session_id, store, subject="somebody", session_settings=session_settings)


for module in (sessions, limits, encrypted):
    module.SQLiteSession = PluggedSession  # type: ignore[attr-defined] - what the tests make

from tests.extensions.memory.test_encrypt_session import *  # noqa: E402, F403 - after the plug, whatever there is
from tests.memory.test_session import *  # noqa: E402, F403 - after the plug, whatever there is
from tests.memory.test_session_limit import *  # noqa: E402, F403 - after the plug, whatever there is
