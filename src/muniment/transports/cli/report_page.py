"""Reports on a page: some types have a layout of their own, all others are laid out by the shape of their struct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from muniment.operations.context.prompt import Context
from muniment.operations.transcripts.hits import SearchPage
from muniment.transports.cli import (
    answer_page,
    doctor_page,
    evidence_page,
    explain_page,
    import_page,
    memory_page,
    overview_page,
    turn_page,
)
from muniment.transports.cli.hit_page import tell_found
from muniment.transports.cli.plain_page import OutputPage
from muniment.transports.cli.prompts import tell_context
from muniment.transports.cli.struct_page import tell_struct

TELLERS: dict[type[Struct], Callable[[Any, OutputPage], None]] = {
    **turn_page.TELLERS,
    **overview_page.TELLERS,
    **evidence_page.TELLERS,
    **doctor_page.TELLERS,
    **explain_page.TELLERS,
    **import_page.TELLERS,
    **memory_page.TELLERS,
    **answer_page.TELLERS,
    Context: tell_context,
    SearchPage: tell_found,
}


def tell(report: Struct, page: OutputPage) -> None:
    """Write a report on a page."""
    TELLERS.get(type(report), tell_struct)(report, page)
