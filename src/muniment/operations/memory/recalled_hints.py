"""Experience with tools in a recall: what gives a hint, and nothing else (TL-05, TL-06)."""

from __future__ import annotations

from typing import NamedTuple

from muniment.declaration.session import Session
from muniment.events.identity import SubjectId
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.memory.tool_registry import RegistryProblem
from muniment.operations.memory.recall_report import AskedRecall, RecallPlane
from muniment.operations.memory.recalled import PlaneCount, RecalledBatch
from muniment.operations.tools.tool_hints import tool_hints

PLANE = RecallPlane.TOOL_EXPERIENCE


class HintedBatch(NamedTuple):
    """What was found without experience that gives no hint, and the registries that give none."""

    batch: RecalledBatch
    registries: list[RegistryProblem]


def only_hinted(session: Session, reader: Reader, asked: AskedRecall, view: View, batch: RecalledBatch) -> HintedBatch:
    """Leave out experience that gives no hint: not repeated, or of tools that the host has not, or not like this."""
    references, found = asked.registries, [one.id for one in batch.candidates if one.plane is PLANE]
    if PLANE not in asked.planes or not (found or references):
        return HintedBatch(batch, [])
    hints = tool_hints(session, reader, SubjectId(asked.subject), view, references)
    lacking = set(found) - {hint.item for hint in hints.hints}
    kept = [one for one in batch.candidates if one.plane is not PLANE or one.id not in lacking]
    count = batch.counts.get(PLANE, PlaneCount())._replace(without_hint=len(lacking))
    return HintedBatch(batch._replace(candidates=kept, counts={**batch.counts, PLANE: count}), hints.refused)
