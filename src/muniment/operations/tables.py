"""The noun group `tables`: a view of a space as a read-only SQL database in memory."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from muniment.declaration.operation import SUBJECT_AND_CHANNELS, Effect, Family, Group, ResultTable, operation
from muniment.declaration.session import Session
from muniment.governance.covered_turns import CoveredTurns
from muniment.governance.views import View
from muniment.operations.page import limit_of_query
from muniment.operations.parameters import ThroughView
from muniment.operations.tabled_items import memory_rows
from muniment.tables.database import Bounds
from muniment.tables.rows import MemoryRows
from muniment.tables.shown_part import ShownPart
from muniment.tables.table_forms import DERIVED, TABLES

ROWS = 1000


class QueryResult(ResultTable, frozen=True, kw_only=True):
    """What a statement selected, as of the first `events` events of the log.

    `is_cut`: there were more rows than the limit, or more bytes of them than the space allows. Bytes are hexadecimal.
    """

    events: int
    view: View
    is_cut: bool = False

    def covered(self) -> CoveredTurns:
        """Return that it may be about any turn of the view: nobody can tell what a statement read."""
        return CoveredTurns(through=self.events)


class TableDescription(Struct, frozen=True, kw_only=True):
    """A table: what its rows are, and its columns."""

    name: str
    summary: str
    columns: list[str]


class TableDescriptions(Struct, frozen=True, kw_only=True):
    """The tables that statements read."""

    tables: list[TableDescription]


class Tables(Group):
    """A view of the space as tables: query them with SQL."""

    name = "tables"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session

    @operation(Effect.READ, family=Family.REPLAY, heeds=SUBJECT_AND_CHANNELS, request="TablesQueryRequest")
    def query(
        self,
        sql: Annotated[str, Meta(description="One SELECT statement of SQLite.")],
        view: ThroughView = View.HOST_UI,
        bindings: Annotated[
            dict[str, str | int | float | None], Meta(description="Values of the parameters, such as `:since`.")
        ] = {},  # noqa: B006 - bound and never changed
        limit: Annotated[int, Meta(description="Rows at most; above 0.")] = ROWS,
    ) -> QueryResult:
        """Query a view of the space with SQL.

        The tables hold exactly what the view shows, read from the log now: turns, messages, parts, tools, host_refs,
        attributes, links, withheld, and of memory: items, item_evidence. `conversations` counts turns, and `words`
        searches the text of messages with FTS5, as in
        `SELECT m.* FROM words JOIN messages m ON m.number = words.rowid WHERE words MATCH 'refund'`. They are in memory
        and never on a disk; an erasure removes them, and the next statement makes them again. A statement can only
        read. Raises `tables.statement` for one that SQLite refuses, `request.limit_exceeded` when it takes too
        long or the view is too large to hold.
        """
        session = self._session
        space, limits = session.space, session.space.limits
        session.access.require_view(view)
        rows = session.budget().page(limit_of_query(limit, limits.result_rows_max))
        bounds = Bounds(rows, limits.result_bytes_max, limits.statement_seconds_max)
        memory = MemoryRows(session.access.subject, partial(memory_rows, space, view, session.access))
        with space.tables.shown(view, ShownPart(session.access)) as tables:
            selected, events = tables.select(sql, bindings, bounds, memory, limits.tables_bytes_max, session.progress)
        return QueryResult(
            columns=selected.columns, rows=selected.rows, events=events, view=view, is_cut=selected.is_cut
        )

    @operation(
        Effect.READ,
        family=Family.SYSTEM,
        heeds=SUBJECT_AND_CHANNELS,
        keyless=True,
        spaceless=True,
        request="DescribeTablesRequest",
    )
    def describe(self) -> TableDescriptions:
        """List the tables and their columns; reads nothing of the store."""
        return TableDescriptions(
            tables=[
                TableDescription(name=form.name, summary=form.summary, columns=form.names)
                for form in (*DERIVED, *TABLES)
            ]
        )
