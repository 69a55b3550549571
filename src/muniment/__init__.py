"""muniment keeps every turn that an AI agent delivers as governed, encrypted, verifiable evidence, and answers from it.

This module re-exports the public names and does nothing else. A name is imported when it is first used, so that
`import muniment` costs a millisecond and a tool that only wants the version never loads a database or a cipher.
"""

from importlib import import_module

TYPE_CHECKING = False  # spelt like typing's, which would cost more than all the rest of this module
if TYPE_CHECKING:
    from muniment.errors import Kind, MunimentError
    from muniment.runtime.open import open as open  # noqa: A004 - muniment.open() is what a newcomer types
    from muniment.runtime.runtime import Runtime
    from muniment.version import __version__

# Public name -> the module that defines it. schemas/api.txt is generated from this table.
_HOMES = {
    "Kind": "muniment.errors",
    "MunimentError": "muniment.errors",
    "Runtime": "muniment.runtime.runtime",
    "__version__": "muniment.version",
    "open": "muniment.runtime.open",
}

__all__ = ["Kind", "MunimentError", "Runtime", "__version__", "open"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
