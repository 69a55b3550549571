"""`open` and its variants. The only place that names concrete stores."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import UNSET
from msgspec.structs import replace

from muniment.crypto.root import LocalRoot, RootKey
from muniment.crypto.root_sources import key_file
from muniment.crypto.secret import KEY_BYTES
from muniment.crypto.store import open_keys, plan_keys
from muniment.declaration.session import Deployment, Session
from muniment.errors import KeyExposed, KeyInvalid, KeyUnavailable, KeyWrong, MunimentError, RolledBack, StoreMissing
from muniment.events.binding import learn
from muniment.events.identity import DEFAULT_SPACE, SpaceName, check_name
from muniment.events.turn import Turn
from muniment.evidence.pin import FilePin
from muniment.evidence.pins import Pins
from muniment.governance.access import Access
from muniment.governance.profiles import PROFILE_POLICIES
from muniment.log.connection import OpenMode
from muniment.log.memory import MemoryStore
from muniment.log.sqlite import SqliteStore
from muniment.runtime.catalogue import catalogue, resume_erasure
from muniment.runtime.runtime import Runtime
from muniment.runtime.settings import (
    Settings,
    names_set,
    set_embedder,
    set_limits,
    set_observer,
    set_pin_failure,
    set_policies,
    set_profile,
    set_signer,
    set_skills,
    set_timestamp_url,
    set_token_counter,
    set_witnesses,
    settings,
)
from muniment.space.open_store import Logs, MakeStore, OpenStore
from muniment.space.options import DEFAULTS, Options, StoreKind
from muniment.space.root_keys import announcing_new_key
from muniment.space.space import Space

MEMORY = "memory:"


def open(  # noqa: A001 - muniment.open() is what a newcomer types
    store: str | Path | None = None,
    *,
    keys: str | Path | RootKey | None = None,
    space: str | None = None,
    options: Options = DEFAULTS,
) -> Runtime:
    """Open a store and a space in it, creating both on first use, and return the runtime.

    `store` is a directory, or `memory:` for one that is gone when it is closed; without it `MUNIMENT_STORE` or the
    user's data directory. `keys` is the path of the file with the root key, its URI (`file:/path`, `env:NAME`,
    `passphrase:`, `keyring:service/name`), or a `RootKey` of your own; without it `MUNIMENT_KEYS` or a key file in the
    user's configuration directory, which is created on first use and must be backed up. Raises `key.wrong` before
    anything is read or written; a log that is behind its pin, or that does not account for itself, opens for inspection
    only.
    """
    return Runtime(_opened(store, keys, space, _deployed(options)))


def _opened(
    store: str | Path | None, keys: str | Path | RootKey | None, space: str | None, options: Options
) -> Session:
    learn(Turn)
    if str(store) == MEMORY:
        return _in_memory(keys, space, options)
    name = SpaceName(space) if space is not None else settings().space
    check_name(name, at="space")
    opened_store, options = _on_disk(store, keys, options)
    session = _entered(opened_store, name, options)
    return replace(session, deployment=_deployment(keys, None))


def open_store(
    store: str | Path | None = None, *, keys: str | Path | RootKey | None = None, options: Options = DEFAULTS
) -> Runtime:
    """Open a store and no space in it: for restoring a backup into it.

    A store that is not there is created by what is restored into it, and by nothing else. The root key must be there: a
    new one would not be the right one. `store` and `keys` are those of `open`. What needs an open space raises
    `store.missing`.
    """
    opened_store, options = _on_disk(store, keys, _deployed(options), later=True)
    return Runtime(_session(opened_store, None, options))


def open_to_diagnose(
    store: str | Path | None = None,
    *,
    keys: str | Path | RootKey | None = None,
    space: str | None = None,
    options: Options = DEFAULTS,
) -> Runtime:
    """Open what there is: the space; or the store without its key; `system.doctor` says why it was not more."""
    options = replace(options, create=False)
    try:
        return Runtime(_opened(store, keys, space, _deployed(options)))
    except MunimentError as trouble:
        plain = replace(options, profile=None, policies=frozenset(), embedder=None, token_counter=None)
        directory = Path(store) if store is not None else settings().store
        session = _session(OpenStore(directory, None, Logs(_read_store), plain), None, plain)
        return Runtime(replace(session, deployment=_deployment(keys, trouble)))


def _deployment(keys: str | Path | RootKey | None, trouble: MunimentError | None) -> Deployment:
    key_path, source = None, None
    with contextlib.suppress(MunimentError):
        source = _source(keys) if keys is not None else settings().keys
        key_path = key_file(source) if isinstance(source, str) else None
    known, unknown = names_set(source if isinstance(source, str) else "")
    return Deployment(at_rest=True, key_file=key_path, settings=known, unknown_settings=unknown, trouble=trouble)


def open_without_key(store: str | Path | None = None, *, options: Options = DEFAULTS) -> Runtime:
    """Open a store without its key: audit and verification work, everything else raises `key.unavailable`.

    Nothing of the store is touched before an operation needs it; verification needs none at all.
    """
    directory = Path(store) if store is not None else settings().store
    options = _deployed(options)
    if options.pin is None:
        with contextlib.suppress(MunimentError):  # who has no home has no pins there
            options = replace(options, pin=_pins(settings()))
    return Runtime(_session(OpenStore(directory, None, Logs(_read_store), options), None, options))


def _on_disk(
    store: str | Path | None, keys: str | Path | RootKey | None, options: Options, *, later: bool = False
) -> tuple[OpenStore, Options]:
    defaults = settings()
    directory = Path(store) if store is not None else defaults.store
    uri = _source(keys) if keys is not None else defaults.keys
    with announcing_new_key(uri), _naming_paths(directory, uri):
        if later and options.create:
            opened = plan_keys(directory, uri, options.sources)
        else:
            opened = open_keys(directory, uri, options.sources, create=options.create)
    options = replace(options, pin=options.pin or _pins(defaults))
    return OpenStore(directory, opened, Logs(_sqlite_store, resume=resume_erasure), options), options


def _pins(defaults: Settings) -> Pins:
    return Pins([FilePin(path) for path in defaults.pins], failure=set_pin_failure())


def _source(keys: str | Path | RootKey) -> str | RootKey:
    return f"file:{keys}" if isinstance(keys, Path) else keys


def _in_memory(keys: str | Path | RootKey | None, space: str | None, options: Options) -> Session:
    """Open a store whose log is in memory; its wrapped keys are in a private directory that goes when it is closed."""
    sources = options.sources
    root = _source(keys) if keys is not None else LocalRoot(sources.entropy.take(KEY_BYTES), sources.entropy)
    name = SpaceName(space) if space is not None else DEFAULT_SPACE
    check_name(name, at="space")
    directory = Path(tempfile.mkdtemp(prefix="muniment-"))
    remove = partial(_remove, directory, os.getpid())
    with contextlib.ExitStack() as undo:
        undo.callback(remove)
        opened = open_keys(directory, root, sources, create=True)
        logs = Logs(_memory_store, at_rest=False, resume=resume_erasure)
        opened_store = OpenStore(directory, opened, logs, options, farewell=remove)
        weakref.finalize(opened_store, remove)
        session = _entered(opened_store, name, options)
        undo.pop_all()
    return session


def _remove(path: Path, made_by: int) -> None:
    """Remove a private directory; a child that was forked leaves that of its parent alone."""
    if os.getpid() == made_by:
        shutil.rmtree(path, ignore_errors=True)


def _sqlite_store(path: Path, is_new: bool) -> SqliteStore:
    return SqliteStore(path, mode=OpenMode.CREATE if is_new else OpenMode.WRITE)


def _read_store(path: Path, _is_new: bool) -> SqliteStore:
    return SqliteStore(path, mode=OpenMode.READ)


def _memory_store(_path: Path, _is_new: bool) -> MemoryStore:
    return MemoryStore()


def _entered(opened_store: OpenStore, name: SpaceName, options: Options) -> Session:
    with _naming_paths(opened_store.directory, None):
        opened = opened_store.space(name, create=options.create)
    pins = Pins.of(options.pin)
    if isinstance(opened.fault, RolledBack) and pins is not None:
        opened.fault.path = _file_of(pins, opened.notary.origin)
    return _session(opened_store, opened, options)


def _file_of(pins: Pins, origin: str) -> str | None:
    """Return the file of the pin that knows most, where it is one."""
    known = pins.read(origin)
    files = (place for place in pins.places if isinstance(place, FilePin) and place.read(origin) == known)
    return next((str(place.file_of(origin)) for place in files), None)


@contextlib.contextmanager
def _naming_paths(directory: Path, keys: str | RootKey | None) -> Iterator[None]:
    """Say in an error about a store or its root key where the store, or the file of the key, was looked for."""
    try:
        yield
    except StoreMissing as error:
        error.path = str(directory)
        raise
    except (KeyUnavailable, KeyExposed, KeyInvalid, KeyWrong) as error:
        if isinstance(keys, str) and (path := key_file(keys)) is not None:
            error.path = str(path)
        raise


def _deployed(options: Options) -> Options:
    """Return the options with whatever is not given as the settings have it."""
    return replace(
        options,
        limits=set_limits() if options.limits is UNSET else options.limits,
        profile=set_profile() if options.profile is UNSET else options.profile,
        policies=set_policies() if options.policies is UNSET else options.policies,
        embedder=set_embedder() if options.embedder is UNSET else options.embedder,
        token_counter=set_token_counter() if options.token_counter is UNSET else options.token_counter,
        timestamp_url=set_timestamp_url() if options.timestamp_url is UNSET else options.timestamp_url,
        witnesses=set_witnesses() if options.witnesses is UNSET else options.witnesses,
        signer=options.signer or set_signer(),
        skills=set_skills() if options.skills is UNSET else options.skills,
        observer=set_observer() if options.observer is UNSET else options.observer,
    )


def _session(opened_store: OpenStore, opened: Space | None, options: Options) -> Session:
    """Return the session of the one who opened a store: every right, under the policies of the deployment."""
    profile, policies = options.profile or None, options.policies or frozenset()
    if profile is not None:
        policies |= PROFILE_POLICIES[profile]
    return Session(
        store=opened_store,
        opened=opened,
        access=Access(policies=policies),
        progress=options.progress,
        profile=profile,
        pressure=options.pressure,
        token_counter=options.token_counter or None,
        timestamp_url=options.timestamp_url or None,
        witnesses=options.witnesses or (),
        skills=options.skills or (),
        observer=options.observer or None,
        catalogue=catalogue,
    )


# --- stores for a harness ---------------------------------------------------------------------------------------------


class _MemoryStores:
    """Stores in memory that stay when they are closed, each under the path that it would have on a disk."""

    def __init__(self) -> None:
        self._stores: dict[Path, MemoryStore] = {}

    def take(self, path: Path, _is_new: bool) -> MemoryStore:
        return self._stores.setdefault(path, MemoryStore())


def maker_of(kind: StoreKind) -> MakeStore:
    """Return what makes logs of a kind, for `session_at`.

    Logs in memory are kept by their paths, so that they can be opened again; whoever takes them does not close them.
    """
    return _MemoryStores().take if kind is StoreKind.MEMORY else _sqlite_store


def session_at(
    directory: Path, root: RootKey, space: SpaceName, options: Options, *, make: MakeStore, at_rest: bool
) -> Session:
    """Open a store whose logs `make` makes: for a harness that puts something in between (decision 0120).

    Otherwise as `open`, without the settings: profile and policies are those of the options.
    """
    check_name(space, at="space")
    keys = open_keys(directory, root, options.sources, create=options.create)
    opened_store = OpenStore(directory, keys, Logs(make, at_rest, resume_erasure), options)
    return _session(opened_store, opened_store.space(space, create=options.create), options)
