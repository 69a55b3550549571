"""The adapters of `muniment.host`, judged by the frameworks' own tests: `python -m replay hosts`.

One table a framework, `replay/hosts/NAME.toml`:

    name = "openai-agents sessions"       # what HOSTS.md calls it
    install = ["openai-agents==0.24.0", "pytest==9.1.0", "pytest-asyncio==1.3.0"]
    sdist = "openai-agents==0.24.0"       # optional: the source distribution that has the tests
    tests = ["agents_plug.py", "tests/memory/test_x.py", "tests/host/test_sessions_of_agents.py"]
    examples = ["examples/with_x.py"]     # optional: programs that must end with 0
    passed = 66                           # how many tests of others pass; left out where there are none
    fastest = true                        # optional: part of every CI run (`--fastest`); two of them are

    [expected_failures]
    "agents_plug::TestX::test_y[param]" = "Why it cannot pass, for whoever reads HOSTS.md."

- `install`: exact versions (`==`); the first is the framework, whose version HOSTS.md shows. All that any of the tests
  need is named: pytest, its plugins, hypothesis for our own. Muniment itself comes from this checkout.
- `sdist`: its folder `tests/` (and a `conftest.py` at its root) is unpacked into a directory that nobody keeps; nothing
  else of it, so that the installed framework is what runs.
- `tests`: a name without a slash is a plug, a file beside the table. It is copied to the root of the unpacked
  distribution, so that `from tests.memory.test_session import *` takes what is there, and puts our adapter in the place
  of the framework's. `tests/host/...` are tests of this repository: they must all pass and are not counted. Every other
  path is in the distribution. What pytest-asyncio runs needs no mark.
- `expected_failures`: tests of others by their `classname::name` of JUnit, as a run prints those it did not expect.

A run fails when a test fails that is not expected to, when an expected failure passes or is not there, when another
number passes, or when an example does not end with 0. HOSTS.md is made of the tables alone.
"""
