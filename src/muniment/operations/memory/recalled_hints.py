"""Experience with tools in a recall: what gives a hint, and nothing else (TL-05, TL-06)."""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.events.identity import SubjectId
from muniment.governance.views import View
from muniment.log.port import Reader
from muniment.operations.memory.recall_report import RecallPlane
from muniment.operations.memory.recalled import RecalledBatch
from muniment.operations.tools.tool_hints import tool_hints


def only_hinted(session: Session, reader: Reader, subject: str, view: View, batch: RecalledBatch) -> RecalledBatch:
    """Return what was found without experience that gives no hint: not repeated, or of tools that are not there."""
    if not any(one.plane is RecallPlane.TOOL_EXPERIENCE for one in batch.candidates):
        return batch
    given = {hint.item for hint in tool_hints(session, reader, SubjectId(subject), view).hints}
    kept = [one for one in batch.candidates if one.plane is not RecallPlane.TOOL_EXPERIENCE or one.id in given]
    return batch._replace(candidates=kept)
