"""The tests of frameworks against our adapters: what a run is compared with, and that the tables are whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from replay.hosts.outcome import TestsRan, differences, read
from replay.hosts.run import REPORT
from replay.hosts.tables import HERE, HostTable, markdown, tables
from replay.machine import REPOSITORY
from tests.documents import FRAMEWORKS

TABLE = HostTable(
    name="toy sessions",
    install=["toy[all]==1.2", "pytest==9.0.2"],
    tests=["toy_plug.py", "tests/host/test_toy.py"],
    passed=2,
    expected_failures={"toy_plug::test_c": "It asks for a | in a table."},
)
AS_EXPECTED = TestsRan(
    passed=frozenset({"toy_plug::test_a", "toy_plug::test_b"}), failed=frozenset({"toy_plug::test_c"})
)
JUNIT = """<testsuites><testsuite>
<testcase classname="p" name="good"/>
<testcase classname="p.TestX" name="bad[1]"><failure message="no">no</failure></testcase>
<testcase classname="p" name="ends badly"/><testcase classname="p" name="ends badly"><error>late</error></testcase>
<testcase classname="p" name="left out"><skipped/></testcase>
</testsuite></testsuites>"""

NEEDS_A_FRAMEWORK = re.compile(rf'importorskip\("(?:{"|".join(FRAMEWORKS)})')

# --- what a run came to -----------------------------------------------------------------------------------------------


def test_a_run_as_expected_has_no_findings() -> None:
    assert differences(TABLE, AS_EXPECTED) == []


@pytest.mark.parametrize(
    ("ran", "finding"),
    [
        (replace(AS_EXPECTED, failed=AS_EXPECTED.failed | {"toy_plug::test_d"}), "failed: toy_plug::test_d"),
        (
            replace(AS_EXPECTED, failed=frozenset[str](), passed=frozenset({"toy_plug::test_a", "toy_plug::test_c"})),
            "passes, but is expected to fail: toy_plug::test_c",
        ),
        (replace(AS_EXPECTED, failed=frozenset[str]()), "is expected to fail, but did not run: toy_plug::test_c"),
        (replace(AS_EXPECTED, passed=frozenset({"toy_plug::test_a"})), "1 passed instead of 2"),
    ],
)
def test_anything_else_is_a_finding(ran: TestsRan, finding: str) -> None:
    assert differences(TABLE, ran) == [finding]


def test_a_report_is_read_by_the_names_of_the_tests(tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"
    report.write_text(JUNIT)
    assert read(report) == TestsRan(
        passed=frozenset({"p::good"}),
        failed=frozenset({"p.TestX::bad[1]", "p::ends badly"}),
        skipped=frozenset({"p::left out"}),
    )


def test_without_a_report_nothing_ran(tmp_path: Path) -> None:
    assert len(differences(TABLE, read(tmp_path / "none.xml"))) == 2


# --- the tables -------------------------------------------------------------------------------------------------------


def test_the_document_says_what_the_tables_say() -> None:
    """`python -m replay hosts --write` rewrites it."""
    assert REPORT.read_text(encoding="utf-8") == markdown(tables().values())


def test_the_document_names_version_counts_and_reasons() -> None:
    text = markdown([TABLE])
    assert "| toy sessions | toy 1.2 | 2 | 1 |" in text
    assert r"| `toy_plug::test_c` | It asks for a \| in a table. |" in text


def test_a_framework_that_ships_no_tests_is_there_without_counts() -> None:
    text = markdown([replace(TABLE, tests=["tests/host/test_toy.py"], passed=0, expected_failures={})])
    assert "| toy sessions | toy 1.2 | only tests of ours | - |" in text


def test_the_order_of_the_tables_does_not_matter() -> None:
    other = replace(TABLE, name="Another")
    assert markdown([TABLE, other]) == markdown([other, TABLE])


@pytest.mark.parametrize("name", tables())
def test_a_table_pins_versions_and_names_files_that_are_there(name: str) -> None:
    table = tables()[name]
    pinned = [*table.install, *([table.sdist] if table.sdist else [])]
    assert [each for each in pinned if "==" not in each] == []
    plugs = [HERE / each for each in table.theirs if "/" not in each]
    files = [*plugs, *(REPOSITORY / each for each in (*table.ours, *table.examples))]
    assert [str(each) for each in files if not each.is_file()] == []
    assert table.sdist or all("/" not in each for each in table.theirs)
    assert all(reason.strip() for reason in table.expected_failures.values())


def test_two_of_them_are_part_of_every_run() -> None:
    assert len([name for name, table in tables().items() if table.fastest]) == 2


def test_every_example_is_in_a_table() -> None:
    examples = [each for table in tables().values() for each in table.examples]
    assert sorted(examples) == sorted(f"examples/{path.name}" for path in (REPOSITORY / "examples").glob("*.py"))


def test_every_plug_and_every_test_that_needs_a_framework_is_in_a_table() -> None:
    """What is in none would run nowhere: frameworks are installed for tables alone."""
    named = {each for table in tables().values() for each in table.tests}
    tests = [
        path for path in (REPOSITORY / "tests").rglob("test_*.py") if NEEDS_A_FRAMEWORK.search(path.read_text("utf-8"))
    ]
    assert len(tests) > 10
    assert {str(path.relative_to(REPOSITORY)) for path in tests} - named == set()
    assert {path.name for path in HERE.glob("*_plug.py")} - named == set()
