"""Recall: what memory has on a question, items, messages and agent skills in one ranking. Imported when used (numpy).

1. Gates come first: an index of the view holds nothing that the view hides, and only the partitions of what the
   subject may know are candidates. So nothing that is withheld moves a score.
2. The messages of the subject and the items of each plane are found by the indexes that searches use, with the same
   ranking; of each, `POOL_FACTOR` times as many as are wanted are taken further.
3. Items that rest on the best messages are candidates, too, and are lent a share of their scores (`lending`).
4. Items are read from the log and get the components that only they have. What depends on words and meaning is a share
   of the best hit of all indexes, so that there is one ranking (`memory.recall_scoring`).
5. Agent skills that the host mounts are found by words, in an index of their own.
6. What matches too little of the question is left out; an empty answer is an answer.

The past is found in an index of its own, made of the items as they were then.
"""

from __future__ import annotations

from muniment.declaration.session import Session
from muniment.governance.views import View
from muniment.operations.memory.item_index import item_index
from muniment.operations.memory.lending import lendings, lends
from muniment.operations.memory.recall_hits import recall_hits
from muniment.operations.memory.recall_query import check_asked, worded
from muniment.operations.memory.recall_ranking import plane_report, ranked_candidates
from muniment.operations.memory.recall_report import AskedRecall, RecallPlane, Recollection
from muniment.operations.memory.recalled import PlaneCount, RecalledBatch
from muniment.operations.memory.recalled_hints import only_hinted
from muniment.operations.memory.recalled_items import recalled_items
from muniment.operations.memory.recalled_messages import recalled_messages
from muniment.operations.memory.recalled_packages import recalled_packages
from muniment.operations.skills.mounted_skills import OfferedSkills, offered_skills
from muniment.ranking.question import Question

NONE_FOUND = RecalledBatch([], {})


def recall(session: Session, asked: AskedRecall, view: View, skills: OfferedSkills | None = None) -> Recollection:
    """Return what memory has on a question; `skills` are those that the view offers, if they were read."""
    space = session.space
    check_asked(session, asked, view)
    wording, now_ms = worded(session, asked, view), space.sources.clock.now_ms()
    question = Question(wording.text, now_ms if asked.scope.as_of_ms is None else asked.scope.as_of_ms)
    messages, is_lending = NONE_FOUND, bool(asked.item_planes) and lends(view, asked.weights)
    if RecallPlane.TRANSCRIPT in asked.planes or is_lending:
        messages = recalled_messages(session, asked, view, question)
    packages = NONE_FOUND
    if RecallPlane.AGENT_SKILL in asked.planes:
        packages = recalled_packages(asked, skills or offered_skills(session, view), question)
    lending = lendings(messages, asked.weights) if is_lending else []
    with item_index(session, asked, view) as opened:
        items = recalled_items(session, asked, opened, question, lending) if asked.item_planes else NONE_FOUND
        items, registries = only_hinted(session, opened.reader, asked, view, items)
        ranked = ranked_candidates(asked, messages, (items, packages), question.asked_ms)
        fitting = [each for each in ranked if each.recalled.relevance >= asked.ranking.least_relevance]
        selected = fitting[: asked.limit]
        hits = recall_hits(space, asked, view, opened, selected)
        counts = {**messages.counts, **items.counts, **packages.counts}
        planes = [
            plane_report(plane, asked, counts.get(plane, PlaneCount()), ranked, selected) for plane in asked.planes
        ]
    batch = items if asked.item_planes else messages
    return Recollection(
        hits=hits,
        planes=planes,
        semantic=batch.semantic,
        semantic_reason=batch.semantic_reason,
        extended=wording.extended,
        registries=registries,
    )
