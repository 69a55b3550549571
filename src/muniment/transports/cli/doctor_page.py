"""The report of the doctor on a page: the verdict, each finding with what to do next, then what was looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from muniment.operations.system.diagnosis import DoctorReport, lines_of
from muniment.transports.cli.plain_page import OutputPage, StyledText, TextStyle
from muniment.transports.cli.scalars import label
from muniment.transports.cli.struct_page import cell, is_there


def _tell_doctor(report: DoctorReport, page: OutputPage) -> None:
    if report.healthy:
        page.line(StyledText("No problems found.", TextStyle.GOOD))
    else:
        page.line(StyledText("Problems found.", TextStyle.BAD))
    for finding, severity in lines_of(report):
        counted = f" ({finding.count:,})" if finding.count > 1 else ""
        style = TextStyle.PLAIN if finding.warning else TextStyle.BAD
        page.line(StyledText(f"{severity}:", style), StyledText(f"{finding.what}{counted}"))
        page.line(StyledText(finding.next), indent=2)
    apart = {"findings", "healthy"}
    facts = [(name, getattr(report, name)) for name in DoctorReport.__struct_fields__ if name not in apart]
    page.facts([(label(name), cell(name, value)) for name, value in facts if is_there(value)])


TELLERS: dict[type[Struct], Callable[[Any, OutputPage], None]] = {DoctorReport: _tell_doctor}
