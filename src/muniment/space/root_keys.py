"""Root keys that a caller names by their URIs: a new one for the store, and one that seals what leaves it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from muniment.crypto.root import RootKey
from muniment.crypto.root_sources import OpenerContext, RootDescriptor, describe, key_file, open_root
from muniment.crypto.store import StoreKeys
from muniment.errors import KeyUnavailable
from muniment.kernel.sources import Entropy

_log = logging.getLogger("muniment")


@contextlib.contextmanager
def announcing_new_key(keys: str | RootKey) -> Iterator[None]:
    """Say that a key file was made, when what runs inside makes it; nobody else can keep it safe."""
    path = key_file(keys) if isinstance(keys, str) else None
    is_new = path is not None and not path.exists()
    yield
    if is_new:
        _log.warning("a root key was made: %s. Back it up: without it the store cannot be read.", keys)


def seal_of(
    keys: StoreKeys | None, entropy: Entropy, uri: str | None, descriptor: RootDescriptor | None
) -> tuple[RootKey, RootDescriptor]:
    """Return a key that seals what leaves a store: the one that a URI names, or the root key of the store.

    With a descriptor it is the key that sealed something before; without one, a new passphrase is asked for twice and a
    key file is made when there is none.
    """
    if keys is None:
        raise KeyUnavailable(problem="opened_without_key")
    if uri is None:
        return keys.root, keys.descriptor
    found = descriptor or describe(uri, entropy)
    with announcing_new_key(uri):
        return open_root(uri, OpenerContext(entropy=entropy, descriptor=found, create=descriptor is None)), found


def new_root(uri: str, entropy: Entropy) -> tuple[RootKey, RootDescriptor]:
    """Return the root key that a URI names, made when it is not there, and its descriptor."""
    descriptor = describe(uri, entropy)
    with announcing_new_key(uri):
        return open_root(uri, OpenerContext(entropy=entropy, descriptor=descriptor, create=True)), descriptor
