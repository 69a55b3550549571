"""What holds for every test: a home of its own, and laws that depend neither on the speed of the machine nor on luck.

A commit has one verdict: the examples of a law follow from its name. `--hypothesis-profile=explore` looks where no run
has looked before; what it finds becomes an `@example`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "explore",
    deadline=None,  # a slow machine breaks no law
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("house", settings.get_profile("explore"), derandomize=True)
settings.register_profile("quick", settings.get_profile("house"), max_examples=10)  # another Python, the same laws
settings.load_profile("house")

# A shell ignores interrupts for what it runs in the background, and so would the programs that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Whoever wants no bytecode beside the sources has it elsewhere while tests run: they start many programs, and compiling
# all that one of these imports takes twice as long as what it does. Workers inherit the place.
if sys.dont_write_bytecode:
    sys.pycache_prefix = tempfile.mkdtemp(prefix="muniment-bytecode-")
    sys.dont_write_bytecode = False
    atexit.register(shutil.rmtree, sys.pycache_prefix, ignore_errors=True)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests try many cases of what quicker tests have covered."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(wrapper=True, trylast=True)  # inside of what pauses the coverage of this process
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Where coverage does not look on, neither programs that a test starts nor a second tracer of a worker look on."""
    if not item.get_closest_marker("no_cover"):
        return (yield)
    tracer, of_threads = sys.gettrace(), threading.gettrace()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        if type(tracer).__module__.startswith("coverage"):  # a debugger goes on
            sys.settrace(None)
            threading.settrace(None)
        try:
            return (yield)
        finally:
            sys.settrace(tracer)
            threading.settrace(of_threads)


@pytest.fixture(autouse=True, scope="session")
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing of the person who runs the tests is read, and nothing is left with them."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("MUNIMENT_", "XDG_"))]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        yield
