"""The acts of governance: something is redacted, held, remembered and revealed, and all of it is found again."""

from __future__ import annotations

from muniment.events.changes import RedactionReason, Transition
from muniment.events.references import Plane
from muniment.governance.views import View
from muniment.operations.lifecycle import Scope
from muniment.operations.provenance.links import MemoryKey
from muniment.operations.provenance.provenance import Derivation
from muniment.operations.transcripts.redact import Passage
from muniment.transports.cli.demo.observations import of_turn, text_of
from muniment.transports.cli.demo.stage import DemoCheck, DemoStage, DemoStep, DemoTable

NAMED, HELD, SHARED = 0, 3, [View.HOST_UI, View.EXPORT]
ORDER = "LF-20418"
DESK = "privacy-desk"
REFUND_RULE = MemoryKey(plane=Plane.LONG_TERM, key="refund-lf-20418")


def redact(stage: DemoStage) -> DemoStep:
    """Redact the number of the order for those who are not of the house."""
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
        title="Some words are redacted for some views",
        story=(
            "The number of the order names the customer. Ten characters of the first turn are redacted for the host's "
            "user interface and for exports. A marker stands in their place, and the report says which characters are "
            "withheld and why; the owner still reads them."
        ),
        exhibits=[of_turn(host, NAMED, "the first turn, for the host")],
        checks=[
            DemoCheck(expected="the redaction was recorded once", held=first.changed and not second.changed),
            DemoCheck(expected="a marker stands in the text", held="[redacted: personal_data]" in words),
            DemoCheck(expected="the host reads no number in it", held=ORDER not in words),
            DemoCheck(expected="the owner reads it", held=ORDER in text_of(owner)),
        ],
    )


def hold(stage: DemoStage) -> DemoStep:
    """Hold a turn, and see that it is not erased."""
    turn = stage.turns[HELD]
    scope = Scope(conversation=stage.key.conversation, channel=stage.key.channel, turn=turn.turn)
    with stage.opened() as runtime:
        held = runtime.lifecycle.hold(scope, "complaint LF-20418 is before a court", "legal")
        refused = runtime.lifecycle.request(stage.key, Transition.ERASE, "the customer asked for it", DESK, turn.turn)
        owner = text_of(runtime.transcripts.replay(stage.key, View.RAW_OWNER))
        released = runtime.lifecycle.release(held.position or 0, "the case is closed", "legal")
    return DemoStep(
        name="hold",
        title="What is held is not erased",
        story=(
            "The customer asks for the fourth turn to be erased, but a court has asked for it to be kept. A hold beats "
            "the request, and the report names it: where it stands in the log, who asked, and why. It is released when "
            "the case is closed."
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
            DemoCheck(expected="the words are still there", held="nadia.ferreira" in owner),
            DemoCheck(expected="the hold is released", held=released.changed),
        ],
    )


def remember(stage: DemoStage) -> DemoStep:
    """Record what was remembered of an erased turn and another, and prove where it came from."""
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
        name="remember",
        title="A memory keeps its source, also an erased one",
        story=(
            "The agent remembers a sentence about the refund. The log keeps which turns it came from, with a digest "
            "over their leaves: the source is proved although the words of one of its turns are gone, and who "
            "erased it finds the memory that cites it."
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
    """Reveal masked words on record, list who saw what, and see that everything is in order."""
    with stage.opened() as runtime:
        revealed = runtime.disclosure.reveal(stage.key, stage.turns[2].turn, "a question of the customer", "supervisor")
        shown = runtime.evidence.disclosures().disclosures
        found = runtime.evidence.inspect()
    return DemoStep(
        name="look_back",
        title="Who saw what, and is everything in order",
        story=(
            "A supervisor reads the masked turn. That takes a right of its own, and it is on record before a word is "
            "shown. The log tells who received what, when, and why; an inspection of everything the store owns finds "
            "nothing wrong."
        ),
        exhibits=[
            DemoTable(
                title="disclosures",
                columns=["position", "what", "who", "why"],
                rows=[
                    [str(one.position), one.kind, one.recipient or one.requester or "", one.purpose or one.reason or ""]
                    for one in shown
                ],
            )
        ],
        checks=[
            DemoCheck(expected="the masked words were shown", held="hospital" in str(revealed.turn)),
            DemoCheck(
                expected="the export and the reveal are on record",
                held=[one.kind for one in shown] == ["export.issued", "content.revealed"],
            ),
            DemoCheck(
                expected="the inspection finds nothing", held=not found.fail_closed and found.findings_total == 0
            ),
        ],
    )
