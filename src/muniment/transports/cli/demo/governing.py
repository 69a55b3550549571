"""The steps of the demo about governance: redact, hold, remember and reveal."""

from __future__ import annotations

from muniment.events.changes import RedactionReason, Transition
from muniment.events.references import Plane
from muniment.governance.views import Reason, View
from muniment.operations.evidence.disclosure_entries import DisclosureEntry
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.provenance.derivations import Derivation
from muniment.operations.provenance.links import MemoryKey
from muniment.operations.transcripts.redact import Passage
from muniment.transports.cli.demo.observations import of_turn, text_of
from muniment.transports.cli.demo.stage import DemoCheck, DemoStage, DemoStep, DemoTable

NAMED, HELD, SHARED = 0, 3, [View.HOST_UI, View.EXPORT]
ORDER = "LF-20418"
DESK = "privacy-desk"
REFUND_RULE = MemoryKey(plane=Plane.LONG_TERM, key="refund-lf-20418")


def redact(stage: DemoStage) -> DemoStep:
    """Redact the order number for the host and for exports."""
    turn = stage.turns[NAMED]
    said = str(turn.messages[1].content)
    start = said.index(ORDER)
    passage = Passage(turn=turn.turn, message=1, part=0, start=start, end=start + len(ORDER))
    with stage.opened() as runtime:
        first, second = (
            runtime.transcripts.redact(stage.key, passage, SHARED, RedactionReason.PERSONAL_DATA, DESK)
            for _ in range(2)
        )
        host, owner = (runtime.transcripts.replay(stage.key, view) for view in (View.HOST_UI, View.RAW_OWNER))
    words = " ".join(str(message.parts) for message in host.turns[NAMED].messages)
    return DemoStep(
        name="redact",
        title="Redact part of a message for some views",
        story=(
            "The order number identifies the customer. Eight characters of the first turn are redacted for the host's "
            "user interface and for exports. A marker replaces them, and the report says which characters are "
            "withheld and why. The owner still reads them."
        ),
        exhibits=[of_turn(host, NAMED, "the first turn, for the host")],
        checks=[
            DemoCheck(expected="the redaction was recorded once", held=first.changed and not second.changed),
            DemoCheck(expected="a marker replaces the number", held="[redacted: personal_data]" in words),
            DemoCheck(expected="the host does not see the number", held=ORDER not in words),
            DemoCheck(expected="the owner still sees it", held=ORDER in text_of(owner)),
        ],
    )


def hold(stage: DemoStage) -> DemoStep:
    """Hold a turn and see that a request does not erase it."""
    turn = stage.turns[HELD]
    scope = Scope(conversation=stage.key.conversation, channel=stage.key.channel, turn=turn.turn)
    with stage.opened() as runtime:
        held = runtime.lifecycle.hold(scope, "complaint LF-20418 is before a court", "legal")
        refused = runtime.lifecycle.request(stage.key, Transition.ERASE, "the customer asked for it", DESK, turn.turn)
        owner = text_of(runtime.transcripts.replay(stage.key, View.RAW_OWNER))
        released = runtime.lifecycle.release(held.position or 0, "the case is closed", "legal")
    return DemoStep(
        name="hold",
        title="Protect a turn with a legal hold",
        story=(
            "The customer asks to erase the fourth turn, but a court wants it kept. The hold wins, and the report "
            "names it: its position in the log, who asked for it, and why. It is released when the case is closed."
        ),
        exhibits=[
            DemoTable(
                title="kept",
                columns=["turn", "rule", "position", "reason", "requester"],
                rows=[[str(one.turn), one.rule, str(one.position), one.reason, one.requester] for one in refused.kept],
            )
        ],
        checks=[
            DemoCheck(expected="the request changed nothing", held=not refused.changed and refused.receipt is None),
            DemoCheck(
                expected="the report names the hold", held=[one.position for one in refused.kept] == [held.position]
            ),
            DemoCheck(expected="the content is still there", held="nadia.ferreira" in owner),
            DemoCheck(expected="the hold is released", held=released.changed),
        ],
    )


def trace(stage: DemoStage) -> DemoStep:
    """Record a memory of an erased turn and another one, and prove its source."""
    with stage.opened() as runtime:
        runtime.provenance.record([
            Derivation(
                plane=REFUND_RULE.plane,
                key=REFUND_RULE.key,
                subject=stage.turns[0].subject,
                conversation=stage.key,
                turn=stage.turns[0].turn,
                through=stage.turns[HELD].turn,
            )
        ])  # fmt: skip
        links = runtime.evidence.links(memory=REFUND_RULE).links
        of_erased = runtime.evidence.links(conversation=stage.key, turn=stage.turns[HELD].turn).links
    return DemoStep(
        name="trace",
        title="Prove the source of a memory, even an erased one",
        story=(
            "The agent remembers a fact about the refund. The log records which turns it came from, with a digest "
            "over their leaves. The source stays provable although one of its turns is erased, and the erased turn "
            "leads to the memory that cites it."
        ),
        exhibits=[
            DemoTable(
                title="links",
                columns=["memory", "from", "to", "proved"],
                rows=[
                    [f"{one.plane}/{one.key}", str(one.source.turn), str(one.source.through), str(one.verified)]
                    for one in links
                ],
            )
        ],
        checks=[
            DemoCheck(expected="the memory has one source", held=len(links) == 1),
            DemoCheck(expected="the source is proved", held=all(one.verified for one in links)),
            DemoCheck(
                expected="the erased turn leads to the memory", held=[one.key for one in of_erased] == [REFUND_RULE.key]
            ),
        ],
    )


def look_back(stage: DemoStage) -> DemoStep:
    """Reveal masked content on record, list who saw what, and inspect the store."""
    with stage.opened() as runtime:
        revealed = runtime.disclosure.reveal(stage.key, stage.turns[2].turn, "a question of the customer", "supervisor")
        shown = runtime.evidence.disclosures().disclosures
        found = runtime.evidence.inspect()
    return DemoStep(
        name="look_back",
        title="See who read what, and check the store",
        story=(
            "A supervisor reveals the masked turn. That needs a right of its own, and the log records it before "
            "anything is shown. The log lists who received what, when, and why: the backup, the export and the reveal; "
            "and that an erasure was refused because of the hold. "
            "An inspection of the whole store finds no problems."
        ),
        exhibits=[
            DemoTable(
                title="disclosures",
                columns=["position", "what", "who", "why"],
                rows=[
                    [str(one.position), one.way or one.kind, _recipient(one), one.purpose or one.reason or ""]
                    for one in shown
                ],
            )
        ],
        checks=[
            DemoCheck(expected="the masked content is shown", held="hospital" in str(revealed.turn)),
            DemoCheck(
                expected="the log records the backup, the refused erasure, the export and the reveal",
                held=[one.way or one.kind for one in shown]
                == ["backup", "erasure.refused", "export.issued", "content.revealed"],
            ),
            DemoCheck(
                expected="the inspection finds no problems", held=not found.fail_closed and found.findings_total == 0
            ),
        ],
    )


def explain(stage: DemoStage) -> DemoStep:
    """Explain the erased turn."""
    turn = stage.turns[HELD]
    with stage.opened() as runtime:
        told = runtime.evidence.explain(turn.turn)
    reasons = {item.reason for shown in told.views for item in shown.items if item.message is not None}
    history = [
        [str(one.position), one.action or one.kind, one.requester or "", one.reason or ""] for one in told.history
    ]
    received = [[str(one.position), one.way or one.kind, _recipient(one), one.purpose or ""] for one in told.received]
    return DemoStep(
        name="explain",
        title="Ask for everything about one turn",
        story=(
            "The first question after an incident: what about this turn? One answer has what each view shows, what "
            "happened to the turn, who received it, what it fed, and its proof. The erased turn shows no content any "
            "more, and its history is complete."
        ),
        exhibits=[
            DemoTable(title="what happened", columns=["position", "what", "who", "why"], rows=history),
            DemoTable(title="who received it", columns=["position", "what", "who", "why"], rows=received),
        ],
        checks=[
            DemoCheck(expected="every view withholds it as erased", held=reasons == {Reason.ERASED}),
            DemoCheck(
                expected="the hold, its release and the erasure are in its history",
                held=[one.action for one in told.history if one.action] == ["hold", "release", "erase"],
            ),
            DemoCheck(
                expected="the backup and the export reached it",
                held=[one.way or one.kind for one in told.received] == ["backup", "export.issued"],
            ),
            DemoCheck(
                expected="it fed the memory of the refund", held=[one.key for one in told.memory] == [REFUND_RULE.key]
            ),
            DemoCheck(expected="it is proved, and pinned", held=told.proof.included and told.proof.pinned),
            DemoCheck(expected="the answer holds no word of it", held="nadia.ferreira" not in str(told)),
        ],
    )


def _recipient(entry: DisclosureEntry) -> str:
    return entry.recipient or entry.requester or ""
