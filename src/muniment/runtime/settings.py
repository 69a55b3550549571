"""Where things are when nobody says: the store, the root key, the pins; from the environment or the user's directories.

| setting | environment | default |
|---|---|---|
| store | `MUNIMENT_STORE` | `$XDG_DATA_HOME/muniment` (`~/.local/share/muniment`) |
| root key | `MUNIMENT_KEYS` | `file:$XDG_CONFIG_HOME/muniment/root.key` (`~/.config/...`) |
| pins | `MUNIMENT_PINS` | `$XDG_STATE_HOME/muniment/pins` (`~/.local/state/...`) |
| space | `MUNIMENT_SPACE` | `default` |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from muniment.errors import InvalidInput
from muniment.events.identity import DEFAULT_SPACE, SpaceName


class Settings(Struct, frozen=True, kw_only=True):
    """What `open` falls back to."""

    store: Path
    keys: str
    pins: Path
    space: SpaceName = DEFAULT_SPACE


def settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that an environment stands for."""
    return Settings(
        store=Path(environment.get("MUNIMENT_STORE") or _user(environment, "XDG_DATA_HOME", ".local/share")),
        keys=environment.get("MUNIMENT_KEYS")
        or f"file:{_user(environment, 'XDG_CONFIG_HOME', '.config') / 'root.key'}",
        pins=Path(environment.get("MUNIMENT_PINS") or _user(environment, "XDG_STATE_HOME", ".local/state") / "pins"),
        space=SpaceName(environment.get("MUNIMENT_SPACE") or DEFAULT_SPACE),
    )


def _user(environment: Mapping[str, str], variable: str, beneath: str) -> Path:
    named = environment.get(variable)
    if named and Path(named).is_absolute():
        return Path(named) / "muniment"
    home = environment.get("HOME")
    if not home:
        raise InvalidInput(at="HOME", problem="missing_field")
    return Path(home) / beneath / "muniment"
