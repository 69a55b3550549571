"""The guide: every page is in the package, is listed, can be printed, and says what the tables of the product say."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

from muniment.governance.annotation import AttributeRefusal
from muniment.governance.custody import Rule
from muniment.governance.limits import Limits
from muniment.governance.phases import NEXT
from muniment.governance.profiles import SHARES, Ceiling
from muniment.governance.views import PartRole, Reason
from muniment.operations.lifecycle.scope import Scope
from muniment.transports.guide_pages import MARK, TOPICS, chapter, pages
from tests import guide, guide_limits
from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Return a shell in an empty directory."""
    return Shell(tmp_path)


def written() -> set[str]:
    """Return the names of the pages as they are in the sources."""
    return {path.stem for path in guide.GUIDE.glob("*.md")}


# --- pages ------------------------------------------------------------------------------------------------------------


def test_every_page_that_is_written_is_a_topic() -> None:
    assert sorted(TOPICS) == sorted(written())


def test_every_page_ships_with_the_package() -> None:
    """What importlib.resources finds is what is installed, a wheel or the sources."""
    assert {each.name for each in pages().iterdir()} >= {f"{topic}.md" for topic in written()}
    for topic in TOPICS:
        assert pages().joinpath(f"{topic}.md").read_bytes() == (guide.GUIDE / f"{topic}.md").read_bytes()


def test_the_record_of_an_installed_package_lists_every_page() -> None:
    try:
        recorded = {path.as_posix() for path in files("muniment") or []}
    except PackageNotFoundError:
        pytest.skip("muniment is not installed here, only on the path")
    if "muniment/__init__.py" not in recorded:
        pytest.skip("muniment is installed from its sources, which have no record of files")
    assert {f"muniment/guide/{topic}.md" for topic in TOPICS} <= recorded


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_has_one_title_and_its_lines_fit(topic: str) -> None:
    page = chapter(topic)
    prose = [line for line in page.text.split("\n") if not line.startswith("|")]
    fences = [place for place, line in enumerate(prose) if line.startswith("```")]
    inside = {place for first, last in zip(fences[::2], fences[1::2], strict=True) for place in range(first, last)}
    titles = [line for place, line in enumerate(prose) if line.startswith("# ") and place not in inside]
    assert titles == [f"# {page.title}"]
    assert not [line for place, line in enumerate(prose) if len(line) > 120 and place not in inside]


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_leads_only_to_pages_that_are_there(topic: str) -> None:
    words = chapter(topic).text.replace("\n", " ").split("`muniment guide ")[1:]
    assert {each.split("`")[0] for each in words} <= {*TOPICS, "TOPIC"}


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_begins_with_one_sentence_about_what_it_is_for(topic: str) -> None:
    """The README lists the pages with these sentences."""
    purpose = guide.purpose(topic)
    assert purpose.endswith(".")
    assert ". " not in purpose


def test_the_readme_links_to_the_file_of_every_page() -> None:
    links = guide.PARTS["topics"]()
    assert all(f"](src/muniment/guide/{topic}.md)" in links for topic in TOPICS)


# --- the command ------------------------------------------------------------------------------------------------------


def test_without_a_topic_every_page_is_listed_with_its_title(shell: Shell) -> None:
    lines = shell.must("guide").out.splitlines()
    for topic in written():
        assert [line for line in lines if line.split("  ")[0] == topic and chapter(topic).title in line]
    assert "TOPIC" in lines[-1]


def test_a_page_is_printed_as_it_is_written_without_the_marks(shell: Shell) -> None:
    for topic in TOPICS:
        said = shell.must("guide", topic).out
        source = (guide.GUIDE / f"{topic}.md").read_text(encoding="utf-8")
        assert said.splitlines() == [line for line in source.splitlines() if not line.startswith(MARK)]
        assert MARK not in said


def test_a_page_is_rendered_for_a_terminal(shell: Shell) -> None:
    ran = shell.run("guide", "lifecycle", terminal=True)
    assert ran.code == 0
    assert "masked_archived" in ran.out
    assert "\x1b[" in ran.out
    assert "**active**" not in ran.out
    assert MARK not in ran.out


def test_pages_and_their_list_are_documents_for_a_machine(shell: Shell) -> None:
    listed = json.loads(shell.must("guide", "--json").out)["topics"]
    assert [each["topic"] for each in listed] == list(TOPICS)
    page = json.loads(shell.must("guide", "keys", "--json").out)
    assert (page["topic"], page["title"]) == ("keys", listed[list(TOPICS).index("keys")]["title"])
    assert page["text"] == chapter("keys").text


def test_a_topic_that_is_not_there_is_refused_with_those_that_are(shell: Shell) -> None:
    ran = shell.run("guide", "kyes")
    assert (ran.code, ran.out) == (2, "")
    assert "topic: unknown" in ran.err
    assert all(topic in ran.err for topic in TOPICS)
    assert "kyes" not in ran.err


# --- generated parts --------------------------------------------------------------------------------------------------


def test_every_generated_part_stands_in_exactly_one_document() -> None:
    found = [name for path in guide.documents() for name in guide.parts_of(path.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(guide.PARTS)


def test_every_mark_of_a_document_belongs_to_a_part_or_keeps_a_place_in_the_readme() -> None:
    for path in guide.documents():
        text = path.read_text(encoding="utf-8")
        placeholders = guide.placeholders_of(text) if path.name == "README.md" else []
        assert text.count(MARK) == 2 * len(guide.parts_of(text)) + len(placeholders), path.name


def test_a_part_that_says_something_else_is_made_anew() -> None:
    before = "a\n<!-- generated: kinds -->\nold\n<!-- end -->\nb\n"
    after = guide.renewed(before)
    assert after == f"a\n<!-- generated: kinds -->\n{guide.PARTS['kinds']()}<!-- end -->\nb\n"
    assert guide.renewed(after) == after


def test_a_part_that_nothing_makes_is_refused() -> None:
    with pytest.raises(KeyError):
        guide.renewed("<!-- generated: nothing -->\n<!-- end -->\n")


def test_everything_that_a_table_lists_is_described() -> None:
    """A new limit, place or reason has to be explained to people before it ships."""
    assert set(guide_limits.LIMITS) == set(Limits.__struct_fields__)
    assert set(guide.PLACES) == set(PartRole)
    assert set(guide.REASONS) == set(Reason)
    assert set(guide.CEILINGS) == set(Ceiling)
    assert set(guide.CAUSES) == set(SHARES)
    assert set(guide.RULES) == set(Rule)
    assert set(guide.SCOPES) | {"channel"} == set(Scope.__struct_fields__)
    assert set(guide.REFUSALS) == set(AttributeRefusal)


def test_the_table_of_transitions_is_the_table_of_the_product() -> None:
    head, _, *rows = guide.PARTS["transitions"]().splitlines()
    columns = [cell.strip() for cell in head.strip("|").split("|")][1:]
    for row, (phase, after) in zip(rows, NEXT.items(), strict=True):
        first, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert first == f"**{phase}**"
        shown = dict(zip(columns, cells, strict=True))
        assert {name: to for name, to in shown.items() if to != guide.NO} == {
            str(on): str(to) for on, to in after.items()
        }


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("turn_bytes_max", 4 * 2**20, "4 MiB"),
        ("reason_bytes_max", 4096, "4 KiB"),
        ("name_bytes_max", 512, "512 bytes"),
        ("odd_bytes_max", 1500, "1,500 bytes"),
        ("patience_s", 30.0, "30 seconds"),
        ("cursor_chars_max", 4096, "4,096 characters"),
        ("nodes_max", 200_000, "200,000"),
        ("conversations_max", 5_000_000, "5,000,000"),
    ],
)
def test_an_amount_is_told_with_its_unit(name: str, value: float, told: str) -> None:
    assert guide_limits.amount(name, value) == told
