"""Where things are when nobody says: the store, the root key, the pins; from the environment or the user's directories.

| setting | environment | default |
|---|---|---|
| store | `MUNIMENT_STORE` | `$XDG_DATA_HOME/muniment` (`~/.local/share/muniment`) |
| root key | `MUNIMENT_KEYS` | `file:$XDG_CONFIG_HOME/muniment/root.key` (`~/.config/...`) |
| pins, several with `:` between them | `MUNIMENT_PINS` | `$XDG_STATE_HOME/muniment/pins` (`~/.local/state/...`) |
| what it is when one of several pins cannot be reached | `MUNIMENT_PIN_FAILURE` | `error`, or `warning` |
| space | `MUNIMENT_SPACE` | `default` |
| profile | `MUNIMENT_PROFILE` | none |
| policies, separated by commas | `MUNIMENT_POLICIES` | none |
| limits, as `turn_messages_max=1000`, separated by commas | `MUNIMENT_LIMITS` | those of `Limits` |
| embedder | `MUNIMENT_EMBEDDER` | `auto`: the model that was imported into the store, if there is one |
| of `onnx` | `MUNIMENT_EMBEDDER_FOLDER` | none |
| of `http` | `MUNIMENT_EMBEDDER_URL`, `_MODEL`, `_DIMENSION`, `_KEY_VARIABLE`, `_SPACES` (with commas) | none |
| encoding that tokens are counted in | `MUNIMENT_ENCODING` | none: they are estimated |
| timestamp authority that `evidence checkpoint` asks | `MUNIMENT_TIMESTAMP_URL` | none |
| witnesses that it asks, each as `URL VKEY`, separated by commas | `MUNIMENT_WITNESSES` | none |
| directories with agent skills, several with `:` between them | `MUNIMENT_SKILLS` | none |
| where traces of operations go: `otel` | `MUNIMENT_TRACES` | nowhere |
| program that signs outside the store, as `command:/path/to/program` | `MUNIMENT_SIGNER` | none |
| client key, for commands that do no more than it allows | `MUNIMENT_CLIENT_KEY` | none: what the owner may |

`MUNIMENT_KEYS_FILE` is the path of a file with the root key itself, instead of `MUNIMENT_KEYS`.
The key of the endpoint of `http` is in the variable that `_KEY_VARIABLE` names, or in the file that this variable names
with `_FILE` behind it; the same is true of `env:NAME` as the root key and of the client key (`kernel.environment`).

The first four say where a store in a directory is; the others apply to every store that is opened.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from muniment.embedding.choice import EmbedderChoice, EmbedderKind
from muniment.errors import ExtraMissing, InvalidInput
from muniment.events.identity import DEFAULT_SPACE, SpaceName
from muniment.evidence.cosignatures import HttpWitness
from muniment.evidence.notes import NoteSigner
from muniment.evidence.outside_signer import open_signer
from muniment.evidence.pins import PinFailure
from muniment.governance.limits import Limits
from muniment.governance.policy import Policy
from muniment.governance.profiles import Profile
from muniment.kernel.environment import secret_of
from muniment.space.options import OperationObserver
from muniment.space.token_counter import ENCODINGS, Encoding, token_counter

Vocabulary = TypeVar("Vocabulary", bound=StrEnum)


class TraceTarget(StrEnum):
    """Where traces of operations go."""

    OTEL = "otel"


KEYS, KEYS_FILE, CLIENT_KEY = "MUNIMENT_KEYS", "MUNIMENT_KEYS_FILE", "MUNIMENT_CLIENT_KEY"
LIMIT_DIGITS_MAX = 12
EMBEDDER_TEXTS = ("folder", "url", "model", "key_variable")
PREFIX = "MUNIMENT_"
NAMES = frozenset(
    {
        *(
            PREFIX + name
            for name in (
                "STORE",
                "PINS",
                "PIN_FAILURE",
                "SPACE",
                "PROFILE",
                "POLICIES",
                "EMBEDDER",
                "ENCODING",
                "CLIENT_KEY",
            )
        ),
        *(f"{PREFIX}EMBEDDER_{name.upper()}" for name in (*EMBEDDER_TEXTS, "dimension", "spaces")),
        f"{PREFIX}WITNESSES",
        f"{PREFIX}SKILLS",
        CLIENT_KEY,
        f"{CLIENT_KEY}_FILE",
        f"{PREFIX}TRACES",
        KEYS,
        KEYS_FILE,
    }
)


class Settings(Struct, frozen=True, kw_only=True):
    """What `open` falls back to."""

    store: Path
    keys: str
    pins: tuple[Path, ...]
    space: SpaceName = DEFAULT_SPACE


def settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that an environment sets."""
    return Settings(
        store=Path(environment.get("MUNIMENT_STORE") or _user(environment, "XDG_DATA_HOME", ".local/share")),
        keys=_keys(environment),
        pins=_pins(environment),
        space=SpaceName(environment.get("MUNIMENT_SPACE") or DEFAULT_SPACE),
    )


def _pins(environment: Mapping[str, str]) -> tuple[Path, ...]:
    named = [Path(path) for path in (environment.get("MUNIMENT_PINS") or "").split(os.pathsep) if path]
    return tuple(named) or (_user(environment, "XDG_STATE_HOME", ".local/state") / "pins",)


def _keys(environment: Mapping[str, str]) -> str:
    if KEYS_FILE in environment:
        if environment.get(KEYS):
            raise InvalidInput(at=KEYS_FILE, problem="set_twice")
        return f"env:{KEYS}"  # which reads the file that the other variable names
    return environment.get(KEYS) or f"file:{_user(environment, 'XDG_CONFIG_HOME', '.config') / 'root.key'}"


def set_pin_failure(environment: Mapping[str, str] = os.environ) -> PinFailure:
    """Return what an environment says of a place for pins that cannot be reached."""
    return word(PinFailure, environment.get("MUNIMENT_PIN_FAILURE") or PinFailure.ERROR, at="MUNIMENT_PIN_FAILURE")


def names_set(keys: str, environment: Mapping[str, str] = os.environ) -> tuple[list[str], int]:
    """Return which settings an environment sets, by name, and how many variables look like one and are none.

    A variable that the source of the root key or a setting names is no setting, and no mistake.
    """
    named = {name for name in environment if name.startswith(PREFIX)}
    sources = (keys.rpartition(":")[2], environment.get("MUNIMENT_EMBEDDER_KEY_VARIABLE", ""))
    referred = {name for source in sources for name in (source, f"{source}_FILE")}
    return sorted(named & NAMES), len(named - NAMES - referred)


def set_profile(environment: Mapping[str, str] = os.environ) -> Profile | None:
    """Return the profile that an environment sets."""
    named = environment.get("MUNIMENT_PROFILE")
    return word(Profile, named, at="MUNIMENT_PROFILE") if named else None


def set_policies(environment: Mapping[str, str] = os.environ) -> frozenset[Policy]:
    """Return the policies that an environment sets; an unknown one is refused."""
    named = environment.get("MUNIMENT_POLICIES")
    return (
        frozenset(word(Policy, name.strip(), at="MUNIMENT_POLICIES") for name in named.split(","))
        if named
        else frozenset()
    )


def set_limits(environment: Mapping[str, str] = os.environ) -> Limits:
    """Return the limits that an environment sets; an unknown one, or one below 1, is refused."""
    named: dict[str, int] = {}
    for each in (environment.get("MUNIMENT_LIMITS") or "").split(","):
        name, _, amount = (part.strip() for part in each.partition("="))
        if not each.strip():
            continue
        if name not in Limits.__struct_fields__:
            raise InvalidInput(at="MUNIMENT_LIMITS", problem="unknown_word")
        if not (amount.isascii() and amount.isdecimal()) or len(amount) > LIMIT_DIGITS_MAX:
            raise InvalidInput(at="MUNIMENT_LIMITS", problem="wrong_type")
        if int(amount) < 1:
            raise InvalidInput(at="MUNIMENT_LIMITS", problem="not_positive")
        named[name] = int(amount)
    return Limits(**named)


def set_embedder(environment: Mapping[str, str] = os.environ) -> EmbedderChoice:
    """Return the embedder that an environment sets."""
    named = {name: environment.get(f"MUNIMENT_EMBEDDER_{name.upper()}") or None for name in EMBEDDER_TEXTS}
    dimension = environment.get("MUNIMENT_EMBEDDER_DIMENSION")
    if dimension and not dimension.isdecimal():
        raise InvalidInput(at="MUNIMENT_EMBEDDER_DIMENSION", problem="wrong_type")
    spaces = environment.get("MUNIMENT_EMBEDDER_SPACES") or ""
    return EmbedderChoice(
        kind=word(EmbedderKind, environment.get("MUNIMENT_EMBEDDER") or EmbedderKind.AUTO, at="MUNIMENT_EMBEDDER"),
        dimension=int(dimension) if dimension else None,
        spaces=frozenset(name.strip() for name in spaces.split(",") if name.strip()),
        **named,
    )


def set_token_counter(environment: Mapping[str, str] = os.environ) -> Encoding | None:
    """Return what counts tokens in the encoding that an environment names."""
    named = environment.get("MUNIMENT_ENCODING")
    if named and named not in ENCODINGS:
        raise InvalidInput(at="MUNIMENT_ENCODING", problem="unknown_word", choices=sorted(ENCODINGS))
    return token_counter(named) if named else None


def set_timestamp_url(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the timestamp authority that an environment sets."""
    return environment.get("MUNIMENT_TIMESTAMP_URL") or None


def set_witnesses(environment: Mapping[str, str] = os.environ) -> tuple[HttpWitness, ...]:
    """Return the witnesses that an environment sets; what is no pair of a URL and a key is refused."""
    named = [each.split() for each in (environment.get("MUNIMENT_WITNESSES") or "").split(",") if each.strip()]
    if any(len(words) != len(HttpWitness.__struct_fields__) for words in named):
        raise InvalidInput(at="MUNIMENT_WITNESSES", problem="not_understood")
    return tuple(HttpWitness(url=url, vkey=vkey) for url, vkey in named)


def set_skills(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the directories with agent skills that an environment names."""
    return tuple(Path(path) for path in (environment.get("MUNIMENT_SKILLS") or "").split(os.pathsep) if path)


def set_client_key(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the client key that an environment sets, or whose file it names."""
    key = secret_of(CLIENT_KEY, environment, at=CLIENT_KEY)
    return None if key is None else key.decode(errors="replace").strip()


def set_observer(environment: Mapping[str, str] = os.environ) -> OperationObserver | None:
    """Return what makes traces of operations, where an environment asks for them; refuses without its package."""
    named = environment.get("MUNIMENT_TRACES")
    if not named:
        return None
    word(TraceTarget, named, at="MUNIMENT_TRACES")
    if not find_spec("opentelemetry"):
        raise ExtraMissing(at="MUNIMENT_TRACES", problem="needs_otel")
    made: OperationObserver = import_module("muniment.runtime.traces").OperationTraces()
    return made


def set_signer(environment: Mapping[str, str] = os.environ) -> NoteSigner | None:
    """Return the signer outside the store that an environment names."""
    named = environment.get("MUNIMENT_SIGNER")
    return open_signer(named) if named else None


def word(vocabulary: type[Vocabulary], text: str, *, at: str) -> Vocabulary:
    """Return the member of a vocabulary that is spelt like this."""
    try:
        return vocabulary(text)
    except ValueError:
        raise InvalidInput(at=at, problem="unknown_word", choices=[*vocabulary]) from None


def _user(environment: Mapping[str, str], variable: str, beneath: str) -> Path:
    named = environment.get(variable)
    if named and Path(named).is_absolute():
        return Path(named) / "muniment"
    home = environment.get("HOME")
    if not home:
        raise InvalidInput(at="HOME", problem="missing_field")
    return Path(home) / beneath / "muniment"
