"""The steps of the demo about search: what each view finds, and what none of them finds any more."""

from __future__ import annotations

from muniment.governance.views import View
from muniment.operations.transcripts.hits import SearchPage
from muniment.runtime.runtime import Runtime
from muniment.transports.cli.demo.observations import found_on_disk
from muniment.transports.cli.demo.stage import DemoCheck, DemoStage, DemoStep, DemoTable

SEARCHED = [View.RAW_OWNER, View.HOST_UI, View.OPERATOR_AUDIT]
QUESTION = "Which number has the refund?"
PROMISE = "84.50 euros"
STEP = '"open refund"'  # the name of a tool
NAMED = '"order LF-20418"'
GONE = ["hospital", '"nadia.ferreira@mail.example"']  # of the turns that are masked and erased


def search(stage: DemoStage) -> DemoStep:
    """Search the conversation under three views."""
    with stage.opened() as runtime:
        best = runtime.transcripts.search(QUESTION)
        counts = {query: counted(runtime, query) for query in (STEP, NAMED, *GONE)}
        [hit] = runtime.transcripts.search(f"{GONE[0]} from:nadia role:user").hits
    start, end = hit.excerpt.highlights[0]
    return DemoStep(
        name="search",
        title="Search the conversation",
        story=(
            "A question finds the turn that answers it, without a model. Each view has its own index, in memory only, "
            "built from exactly what the view shows: hidden content is not found, not counted, and does not change a "
            "score."
        ),
        exhibits=[answers(best), by_view(counts)],
        checks=[
            DemoCheck(
                expected="the first hit is the promise", held=bool(best.hits) and PROMISE in best.hits[0].excerpt.text
            ),
            DemoCheck(
                expected="the owner finds a tool step by its name, the host finds none",
                held=counts[STEP][View.RAW_OWNER] > 0 and not counts[STEP][View.HOST_UI],
            ),
            DemoCheck(
                expected="the owner and the host find what the customer said",
                held=all(counts[query][view] for query in (NAMED, *GONE) for view in SEARCHED[:2]),
            ),
            DemoCheck(
                expected="the operator finds nothing",
                held=not any(count[View.OPERATOR_AUDIT] for count in counts.values()),
            ),
            DemoCheck(expected="the excerpt highlights the word", held=hit.excerpt.text[start:end] == GONE[0]),
        ],
    )


def search_again(stage: DemoStage) -> DemoStep:
    """Search for what is redacted, masked and erased by now."""
    with stage.opened() as runtime:
        counts = {query: counted(runtime, query) for query in (NAMED, *GONE)}
    return DemoStep(
        name="search_again",
        title="Search again after hiding and erasing",
        story=(
            "The same searches, now that a number is redacted, one turn masked and another erased. The indexes catch "
            "up with the log before each answer, and no readable part of them is on disk."
        ),
        exhibits=[by_view(counts)],
        checks=[
            DemoCheck(
                expected="only the owner finds the redacted number",
                held=[bool(counts[NAMED][view]) for view in SEARCHED] == [True, False, False],
            ),
            DemoCheck(
                expected="no view finds what is masked or erased",
                held=not any(counts[query][view] for query in GONE for view in SEARCHED),
            ),
            DemoCheck(
                expected="no file of the store holds readable content",
                held=not found_on_disk(stage.store, stage.words()),
            ),
        ],
    )


def counted(runtime: Runtime, query: str) -> dict[View, int]:
    """Return how many messages each view finds."""
    return {view: runtime.transcripts.search(query, view).total for view in SEARCHED}


def answers(found: SearchPage) -> DemoTable:
    """Return the hits of a search."""
    return DemoTable(
        title=QUESTION,
        columns=["turn", "who", "excerpt", "score"],
        rows=[[hit.place.turn, hit.speaker, hit.excerpt.text, f"{hit.score:.2f}"] for hit in found.hits[:3]],
    )


def by_view(counts: dict[str, dict[View, int]]) -> DemoTable:
    """Return how many messages each view finds for each query."""
    rows = [[query, *(str(count[view]) for view in SEARCHED)] for query, count in counts.items()]
    return DemoTable(title="messages found", columns=["query", *SEARCHED], rows=rows)
