"""The steps of the demo about memory: remembered with a source, recalled with what is left of it, and forgotten."""

from __future__ import annotations

from muniment.events.identity import ConversationKey, TurnId
from muniment.events.turn import Turn
from muniment.governance.views import Reason, View
from muniment.memory.candidate import Candidate, ItemSource, Ruling, SemanticJudgement
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.memory.recall_report import HitEvidence, Recollection
from muniment.transports.cli.demo.observations import found_on_disk
from muniment.transports.cli.demo.stage import DemoCheck, DemoStage, DemoStep, DemoTable

REQUESTER = "desk"
BELL, REFUND = "bell", "refund"
STATEMENTS = {  # id -> kind, topic, statement, and the index of its turn
    REFUND: ("fact", "refund", "Gets 84.50 euros back for a torn tent", 1),
    BELL: ("constraint", "deliveries", "Wants nobody to ring the bell", 2),
}
QUESTION = "May we ring the bell?"
ELSEWHERE = "What is her favourite colour?"


def remember(stage: DemoStage) -> DemoStep:
    """Remember two statements with their turns; the same again changes nothing."""
    with stage.opened() as runtime:
        given = [candidate(stage.turns, stage.key, name) for name in STATEMENTS]
        first, again = (runtime.memory.remember(given, REQUESTER) for _ in range(2))
        unjudged = runtime.memory.remember([candidate(stage.turns, stage.key, BELL, judged=False)], REQUESTER)
        listed = runtime.memory.list_(stage.turns[0].subject, View.RAW_OWNER).items
    return DemoStep(
        name="remember",
        title="Remember what was said, with its source",
        story=(
            "The agent concludes two things about the customer. Each candidate is judged first; an accepted one "
            "becomes an item that names the turn it came from. Items are encrypted, proved and erased like turns."
        ),
        exhibits=[
            DemoTable(
                title="items",
                columns=["item", "statement", "from", "state"],
                rows=[[item.id, item.text or "", item.evidence[0].citation, item.state] for item in listed],
            )
        ],
        checks=[
            DemoCheck(expected="both statements are recorded", held=first.recorded == len(STATEMENTS)),
            DemoCheck(expected="the same statements again change nothing", held=not again.recorded),
            DemoCheck(
                expected="a statement that nobody has judged is not remembered",
                held=[one.decision for one in unjudged.candidates] == [Ruling.DEFER],
            ),
            DemoCheck(
                expected="no file of the store holds a statement",
                held=not found_on_disk(stage.store, [statement for _, _, statement, _ in STATEMENTS.values()]),
            ),
        ],
    )


def recall(stage: DemoStage) -> DemoStep:
    """Recall an item whose turn was masked since, and ask for what nobody said."""
    with stage.opened() as runtime:
        subject = stage.turns[0].subject
        answer, nothing = (runtime.memory.recall(subject, question) for question in (QUESTION, ELSEWHERE))
        block = runtime.memory.prompt(subject, 120, QUESTION)
    return DemoStep(
        name="recall",
        title="Recall it, and see what it rests on",
        story=(
            "A question finds the item, although its turn is masked by now: the answer says that it needs a review, "
            "and why its source does not open. What memory does not have is not made up. For a prompt, the answer is "
            "one block within a budget of tokens, which nothing in it can close."
        ),
        exhibits=[hits(answer), DemoTable(title="for a prompt", columns=["block"], rows=[[block.text]])],
        checks=[
            DemoCheck(expected="the item is found", held=[hit.id for hit in answer.hits] == [BELL]),
            DemoCheck(
                expected="its masked source does not open",
                held=[each.withheld for hit in answer.hits for each in hit.evidence] == [Reason.LIFECYCLE_MASKED],
            ),
            DemoCheck(expected="a question that nothing answers finds nothing", held=not nothing.hits),
            DemoCheck(expected="the block keeps to its budget", held=0 < block.tokens <= block.budget_tokens),
        ],
    )


def forget(stage: DemoStage) -> DemoStep:
    """Forget an item, and try to remember it again."""
    with stage.opened() as runtime:
        subject = stage.turns[0].subject
        done = runtime.memory.forget(subject, ForgetTarget(item=BELL), "the customer asked for it", "privacy-desk")
        answer = runtime.memory.recall(subject, QUESTION)
        again = runtime.memory.remember([candidate(stage.turns, stage.key, REFUND, "refund-2")], REQUESTER)
    receipt = done.receipt
    assert receipt is not None, "something was forgotten"
    return DemoStep(
        name="forget",
        title="Forget it for good",
        story=(
            "The customer wants the second statement gone. Forgetting destroys the keys of all that the item ever "
            "said, with a receipt like that of any erasure. The other one stays."
        ),
        exhibits=[
            DemoTable(
                title="the receipt",
                columns=["where", "what was done"],
                rows=[[place.place, place.done] for place in receipt.places],
            )
        ],
        checks=[
            DemoCheck(expected="one item was forgotten", held=receipt.items_erased == 1),
            DemoCheck(expected="it is not recalled any more", held=not answer.hits),
            DemoCheck(expected="the other one is still there", held=again.candidates[0].reason == "same_text"),
        ],
    )


def candidate(
    turns: list[Turn], key: ConversationKey, name: str, item: str | None = None, *, judged: bool = True
) -> Candidate:
    """Return a statement as an agent would like to remember it."""
    kind, topic, statement, turn = STATEMENTS[name]
    return Candidate(
        id=(item or name) if judged else None,
        subject=turns[0].subject,
        kind=kind,
        topic=topic,
        text=statement,
        evidence=[ItemSource(conversation=key, turn=TurnId(turns[turn].turn))],
        judgement=SemanticJudgement(decision=Ruling.ACCEPT) if judged else None,
    )


def hits(answer: Recollection) -> DemoTable:
    """Return what was recalled."""
    return DemoTable(
        title=QUESTION,
        columns=["item", "statement", "state", "from"],
        rows=[[hit.id, hit.text, str(hit.state), *map(source, hit.evidence)] for hit in answer.hits],
    )


def source(evidence: HitEvidence) -> str:
    """Return a source, or why it does not open."""
    return f"{evidence.turn}" if evidence.withheld is None else f"{evidence.turn}, withheld: {evidence.withheld}"
