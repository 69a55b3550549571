"""How a store is opened, beyond where it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from msgspec import UNSET, Struct, UnsetType

from muniment.embedding.choice import EmbedderChoice
from muniment.embedding.protocol import Embedder
from muniment.evidence.cosignatures import HttpWitness
from muniment.evidence.notes import NoteSigner
from muniment.evidence.pin import Pin
from muniment.governance.detection.detection import Detect, Detection, detection_for
from muniment.governance.limits import Limits
from muniment.governance.policy import Policy
from muniment.governance.profiles import Pressure, Profile
from muniment.kernel.sources import Sources, system_sources
from muniment.ledger.pin_times import PIN_INTERVAL_S
from muniment.space.token_counter import TokenCounter

INDEX_BYTES_MAX = 512 * 1024 * 1024

Progress = Callable[[str, int, int], None]  # what is being done, how much is done, of how much


class StoreKind(StrEnum):
    """A kind of store for a log."""

    MEMORY = "memory"
    SQLITE = "sqlite"


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """Report progress to nobody."""


def unmeasured() -> Pressure | None:
    """Say nothing about the machine: the figures of a profile stand as they are."""
    return None


class OperationObserver(Protocol):
    """Is told of every operation: which one (`group.verb`) runs in a block, and what it is about to return."""

    def around(self, operation: str, effect: str) -> AbstractContextManager[Callable[[object], None]]:
        """Return the block that an operation runs in; it gives what takes the report, and sees what is raised."""
        ...


class Options(Struct, frozen=True, kw_only=True):
    """How a store is opened. `pin` None takes the pins of the settings; a store in memory then has none.

    `Pins` are several in one. The head is pinned after every mask, erasure, hold, release, redaction and policy, and
    when `pin_interval_s` seconds have passed since, as soon as something is appended.
    Limits, a profile and policies that are not given are those of the settings; None is no profile, whatever the
    settings say.
    `embedder` makes search find by meaning: one of yours, or a choice of those that there are; not given, it is that of
    the settings, and None is none, whatever the settings say.
    `pressure` is asked whenever a budget is needed.
    The indexes of an open store take about `index_bytes_max` of memory; the one that nobody asked for leaves first.
    At most about `spaces_max` spaces stay open, besides those in use; those that a runtime opened by name are in use as
    long as the store is open. None is no limit.
    `token_counter` counts the tokens of a text for a context; one that is not given is that of the settings, None is
    the estimate, whatever the settings say.
    `timestamp_url` is the RFC 3161 authority that `evidence checkpoint` asks; one that is not given is that of the
    settings, None is none, whatever the settings say. Nothing else asks it.
    The same is true of `witnesses`, which cosign the checkpoint.
    `signer` signs for spaces whose signing key is kept outside the store; one that is not given is that of the
    settings.
    `skills` are directories with agent skills, which are read and never written; those that are not given are those of
    the settings.
    `observer` is told of every operation, as traces are; one that is not given is that of the settings, None is none.
    `detect` says what personal data and secrets to look for, in which views and before commits; without it, nothing.
    """

    create: bool = True
    pin: Pin | None = None
    pin_interval_s: int = PIN_INTERVAL_S
    limits: Limits | UnsetType = UNSET
    detect: Detect = Detect()
    sources: Sources = system_sources()
    progress: Progress = no_progress
    profile: Profile | UnsetType | None = UNSET
    policies: frozenset[Policy] | UnsetType = UNSET
    embedder: Embedder | EmbedderChoice | UnsetType | None = UNSET
    pressure: Callable[[], Pressure | None] = unmeasured
    index_bytes_max: int = INDEX_BYTES_MAX
    spaces_max: int | None = None
    token_counter: TokenCounter | UnsetType | None = UNSET
    timestamp_url: str | UnsetType | None = UNSET
    witnesses: tuple[HttpWitness, ...] | UnsetType = UNSET
    signer: NoteSigner | None = None
    skills: tuple[Path, ...] | UnsetType = UNSET
    observer: OperationObserver | UnsetType | None = UNSET


def limits_of(options: Options) -> Limits:
    """Return the limits of a store; the settings were asked before, where there are any."""
    return Limits() if isinstance(options.limits, UnsetType) else options.limits


def detection_of(options: Options) -> Detection:
    """Return what a store detects, ready for use."""
    return detection_for(options.detect)


DEFAULTS = Options()
