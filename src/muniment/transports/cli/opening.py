"""Opening the store that the options name, as an operation needs it: with keys, without, or without a space.

With a client key in the environment a command does what that key allows, as over a network.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import UNSET
from msgspec.structs import replace

from muniment.declaration.operation import Operation
from muniment.evidence.pin import FilePin
from muniment.evidence.pins import Pins
from muniment.governance.access import Effect
from muniment.governance.profiles import Profile
from muniment.kernel.sources import system_sources
from muniment.runtime.open import open, open_store, open_to_diagnose, open_without_key  # noqa: A004 - muniment.open()
from muniment.runtime.runtime import Runtime
from muniment.runtime.settings import set_client_key, set_pin_failure, word
from muniment.space.options import Options
from muniment.transports.cli.progress import shown
from muniment.transports.cli.store_options import StoreOptions


def _pins(door: StoreOptions) -> Pins | None:
    """Return the places for pins that the options name, if they name any."""
    if not door.pins:
        return None
    return Pins([FilePin(path) for path in door.pins], failure=set_pin_failure())


@contextmanager
def opened_to_read(door: StoreOptions) -> Iterator[Runtime]:
    """Open the store and the space that the options name, which must exist, for a command that is no operation."""
    options = Options(create=False, sources=door.sources or system_sources(), pin=_pins(door))
    with open(
        door.named.get("store"), keys=door.named.get("keys"), space=door.named.get("space"), options=options
    ) as it:
        yield it


@contextmanager
def opened_to_serve(door: StoreOptions, spaces_max: int | None = None) -> Iterator[Runtime]:
    """Open the store and the space that the options name, both made on first use, for as long as a server serves."""
    profile, named = door.named.get("profile"), door.named
    options = Options(
        sources=door.sources or system_sources(),
        pin=_pins(door),
        profile=UNSET if profile is None else word(Profile, profile, at="profile"),
        spaces_max=spaces_max,
    )
    with open(named.get("store"), keys=named.get("keys"), space=named.get("space"), options=options) as runtime:
        yield runtime


@contextmanager
def opened(door: StoreOptions, operation: Operation) -> Iterator[Runtime]:
    """Open a store for an operation; create it for operations that append and for those that need no space."""
    with shown() as progress:
        profile = door.named.get("profile")
        options = Options(
            create=operation.terms.spaceless or operation.effect is Effect.APPEND,
            sources=door.sources or system_sources(),
            progress=progress,
            pin=_pins(door),
            profile=UNSET if profile is None else word(Profile, profile, at="profile"),
        )
        store, key = door.named.get("store"), set_client_key()
        if key is not None:
            options = replace(options, create=False)
            runtime = open(store, keys=door.named.get("keys"), space=door.named.get("space"), options=options)
            with runtime:
                yield runtime.as_client(runtime.client_of(key))
            return
        if operation.terms.diagnosing:
            named = door.named
            runtime = open_to_diagnose(store, keys=named.get("keys"), space=named.get("space"), options=options)
        elif operation.terms.keyless:
            runtime = open_without_key(store, options=options)
        elif operation.terms.spaceless:
            runtime = open_store(store, keys=door.named.get("keys"), options=options)
        else:
            runtime = open(store, keys=door.named.get("keys"), space=door.named.get("space"), options=options)
        with runtime:
            yield runtime
