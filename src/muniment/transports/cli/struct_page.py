"""Any report on a page, by the shape of its struct.

| in a report | on the page |
|---|---|
| a scalar | a line `name  value`, aligned with its neighbours |
| a small struct of scalars, a dictionary, a list of scalars | its members beside its name |
| another struct | its members under its name |
| a list of structs | a table |
| what is absent, or empty as it is by default | nothing |

Times (`..._ms`) are in UTC, periods in the largest unit that they are whole in. A text of several lines inside a table
is only counted; `--json` has all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle
from muniment.transports.cli.scalars import label, said

SMALL_MEMBERS = 4
NONE = StyledText("none", TextStyle.FAINT)


def tell_struct(report: Struct, page: OutputPage, *, without: frozenset[str] = frozenset()) -> None:
    """Write a report: its facts first, then its tables and larger members."""
    absent = _left_out_when_empty(report)
    named = [(name, getattr(report, name)) for name in report.__struct_fields__ if name not in without]
    members = [(name, value) for name, value in named if value or name not in absent]
    facts = sorted((one for one in members if _is_fact(one[1])), key=lambda one: isinstance(one[1], Struct))
    page.facts([(label(name), _fact(name, value)) for name, value in facts])
    for name, value in members:
        if isinstance(value, list) and not _is_fact(value):
            tell_table(name, value, page)
        elif isinstance(value, Struct) and not _is_fact(value):
            page.heading(label(name))
            tell_struct(value, page)


def _left_out_when_empty(report: Struct) -> set[str]:
    """Return the members that `--json` leaves out, too, when they are empty."""
    if not report.__struct_config__.omit_defaults:
        return set()
    return {
        field.name
        for field in msgspec.structs.fields(report)
        if field.default_factory is list or (type(field.default) in (int, str) and not field.default)
    }


def _is_fact(value: object) -> bool:
    """Return whether a member fits beside its name."""
    if isinstance(value, list | tuple):
        return not any(isinstance(one, Struct) for one in value)
    if isinstance(value, Struct):
        members = [getattr(value, name) for name in value.__struct_fields__]
        return len(members) <= SMALL_MEMBERS and not any(
            isinstance(one, list | tuple | Mapping | Struct) for one in members
        )
    return is_there(value)


def _fact(name: str, value: Any) -> StyledText:
    if isinstance(value, list | tuple | Mapping) and not value:
        return NONE
    if isinstance(value, list | tuple):
        return StyledText("\n".join(said(name, one).text for one in value))
    return StyledText(members(value)) if isinstance(value, Mapping) else cell(name, value, folded=False)


def tell_table(name: str, rows: list[Struct], page: OutputPage) -> None:
    """Write structs of one type as a table, without the columns that are empty in every row."""
    columns = [
        column for column in rows[0].__struct_fields__ if any(_says_something(getattr(row, column)) for row in rows)
    ]
    cells = [[cell(column, getattr(row, column)) for column in columns] for row in rows]
    page.table([label(column) for column in columns], cells, label(name))


def cell(name: str, value: Any, *, folded: bool = True) -> StyledText:
    """Return a value as the text of a cell; `folded` counts the lines of a long text."""
    if isinstance(value, Struct):
        return StyledText(members({name: getattr(value, name) for name in value.__struct_fields__}))
    if isinstance(value, Mapping):
        return StyledText(members(value))
    if isinstance(value, list | tuple):
        inside = any(isinstance(one, Struct) for one in value)
        return StyledText(str(len(value)) if inside else " ".join(said(name, one).text for one in value))
    told = said(name, value)
    if folded and "\n" in told.text:
        return StyledText(f"({len(told.text.splitlines())} lines)", TextStyle.FAINT)
    return told


def members(values: Mapping[str, Any]) -> str:
    """Return names and values on one line, without those that are absent or empty."""
    known = {name: cell(name, value).text for name, value in values.items() if _says_something(value)}
    return ", ".join(f"{label(name)} {text}" for name, text in known.items())


def is_there(value: object) -> bool:
    """Return whether a member has a value."""
    return value is not None


def _says_something(value: object) -> bool:
    return is_there(value) and value not in ([], ())
