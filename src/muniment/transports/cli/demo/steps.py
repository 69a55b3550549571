"""The steps of the demo about evidence. Each runs real operations, shows the result and checks it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from muniment.errors import MunimentError
from muniment.events.changes import Transition
from muniment.governance.views import View
from muniment.transports.cli.demo import intruder
from muniment.transports.cli.demo.observations import (
    found_on_disk,
    noticed,
    numbered,
    of_turn,
    side_by_side,
    streams,
    text_of,
    verifier,
)
from muniment.transports.cli.demo.stage import DemoCheck, DemoStage, DemoStep, DemoTable

VIEWS = [View.RAW_OWNER, View.HOST_UI, View.OPERATOR_AUDIT]
MASKED, ERASED = 2, 3  # index of the masked and of the erased turn
ADDRESS = "nadia.ferreira@mail.example"
PROMISE, FORGED = "84.50 euros", "48.50 euros"
YESTERDAY = "yesterday"


def commit(stage: DemoStage) -> DemoStep:
    """Commit the conversation."""
    with stage.opened() as runtime:
        done = [runtime.transcripts.commit(turn) for turn in stage.turns]
        again = runtime.transcripts.commit(stage.turns[0])
        stage.vkey = runtime.evidence.checkpoint().vkey
    stage.copied(YESTERDAY)
    return DemoStep(
        name="commit",
        title="Store a conversation",
        story=(
            "A customer talks to the agent of a shop: five turns with tool calls, a promised refund and an e-mail "
            "address. A commit returns once the turn is durable, encrypted and part of the hash tree. Committing the "
            "same turn again returns the first receipt."
        ),
        exhibits=[
            DemoTable(
                title="receipts",
                columns=["turn", "sequence", "position", "messages", "leaf"],
                rows=[
                    [one.turn, str(one.sequence), str(one.position), str(len(turn.messages)), f"{one.leaf or '':.16}…"]
                    for one, turn in zip(done, stage.turns, strict=True)
                ],
            )
        ],
        checks=[
            DemoCheck(
                expected="every turn is committed, numbered from 1", held=numbered([one.sequence for one in done])
            ),
            DemoCheck(
                expected="a repeated commit adds nothing and returns the first receipt",
                held=not again.committed and again.position == done[0].position,
            ),
            DemoCheck(
                expected="no file of the store holds readable content, in UTF-8 or UTF-16",
                held=not found_on_disk(stage.store, stage.words()),
            ),
        ],
    )


def replay(stage: DemoStage) -> DemoStep:
    """Replay the first two turns side by side under three views."""
    with stage.opened() as runtime:
        shown = [runtime.transcripts.replay(stage.key, view) for view in VIEWS]
    raw, host, operator = (text_of(one) for one in shown)
    words = stage.words()
    return DemoStep(
        name="replay",
        title="Show the same turns to three audiences",
        story=(
            "The owner sees everything. The host's user interface sees what the customer and the agent said, without "
            "the steps in between. An operator sees who, when, with which tools and about which order, but no "
            "content. Each view names what it withholds, and why."
        ),
        exhibits=[
            DemoTable(
                title="the first two turns",
                columns=["turn", "who", *VIEWS],
                rows=[row for place in range(2) for row in side_by_side(shown, place)],
            )
        ],
        checks=[
            DemoCheck(expected="raw_owner shows everything", held=all(word in raw for word in words)),
            DemoCheck(
                expected="host_ui shows the promise, but no tool steps and no reasoning",
                held=PROMISE in host and not any(step in host for step in ("tool_call", "reasoning", "service desk")),
            ),
            DemoCheck(
                expected="operator_audit shows no content of the conversation",
                held=not any(word in operator for word in words),
            ),
        ],
    )


def mask(stage: DemoStage) -> DemoStep:
    """Mask a turn."""
    turn = stage.turns[MASKED]
    with stage.opened() as runtime:
        first, second = (
            runtime.lifecycle.request(stage.key, Transition.MASK, "about somebody's health", "privacy-desk", turn.turn)
            for _ in range(2)
        )
        shown = runtime.transcripts.replay(stage.key, View.RAW_OWNER)
    hidden = [item for item in shown.items if item.turn == turn.turn]
    return DemoStep(
        name="mask",
        title="Mask a turn",
        story=(
            "In the third turn the customer mentions the health of her father. A mask hides the content in every "
            "view, also for the owner. The content is still stored, and an audited unmask can bring it back."
        ),
        exhibits=[of_turn(shown, MASKED, "the third turn, for the owner")],
        checks=[
            DemoCheck(expected="the request changed one turn", held=first.changed and first.affected_turns == 1),
            DemoCheck(expected="repeating the request changes nothing", held=not second.changed),
            DemoCheck(expected="the owner sees none of its content", held="hospital" not in text_of(shown)),
            DemoCheck(
                expected="every message of it is withheld as lifecycle_masked",
                held=len(hidden) == len(turn.messages) and {item.reason for item in hidden} == {"lifecycle_masked"},
            ),
        ],
    )


def erase(stage: DemoStage) -> DemoStep:
    """Erase a turn, with a receipt."""
    turn = stage.turns[ERASED]
    with stage.opened() as runtime:
        before = text_of(runtime.transcripts.replay(stage.key, View.RAW_OWNER))
        report = runtime.lifecycle.request(
            stage.key, Transition.ERASE, "the customer asked for it", "privacy-desk", turn.turn
        )
        shown = runtime.transcripts.replay(stage.key, View.RAW_OWNER)
        entries = runtime.lifecycle.receipts(stage.key).entries
    receipt = report.receipt
    assert receipt is not None, "an erasure that changed something has a receipt"
    proof = stage.directory / "erasure.tlog-proof"
    proof.write_text(receipt.proof, encoding="utf-8")
    proved = verifier(stage, proof)
    return DemoStep(
        name="erase",
        title="Erase a turn and get a receipt",
        story=(
            "The fourth turn holds an e-mail address, and the customer wants it gone. muniment destroys the keys of "
            "the content and replaces the key that wrapped them. It stays provable that there was a turn: the receipt "
            "lists what was done where, what no store can reach, and proves that the log recorded the erasure."
        ),
        exhibits=[
            DemoTable(
                title="the receipt",
                columns=["where", "what was done"],
                rows=[[place.place, place.done] for place in receipt.places],
            ),
            DemoTable(title="outside the store", columns=["not reached"], rows=[[one] for one in receipt.outside]),
            of_turn(shown, ERASED, "the fourth turn, for the owner"),
        ],
        checks=[
            DemoCheck(expected="the address was readable before", held=ADDRESS in before),
            DemoCheck(expected="one turn was erased", held=receipt.turns_erased == 1),
            DemoCheck(expected="the address is gone from every view", held=ADDRESS not in text_of(shown)),
            DemoCheck(
                expected="no content is left after the erasure",
                held=[entry.content_left for entry in entries] == [0] * len(entries) and len(entries) == 4,
            ),
            DemoCheck(
                expected="a separate process verifies the proof of the erasure",
                held=proved["verified"] is True and proved["erasures"] == 1,
            ),
        ],
    )


def export(stage: DemoStage) -> DemoStep:
    """Export the conversation, certified."""
    with stage.opened() as runtime:
        document = runtime.evidence.export(stage.key, View.EXPORT, recipient="auditor", purpose="complaint LF-20418")
    stage.bundle.write_text(document.text, encoding="utf-8")
    summary = document.summary
    return DemoStep(
        name="export",
        title="Export the conversation for an auditor",
        story=(
            "The export is one file: every event of the conversation with what the view discloses of it, one proof "
            "that connects them to the root of the tree, and the signed root. It is certified: the log recorded how "
            "long the conversation was, so nobody can cut off its end unnoticed."
        ),
        exhibits=[
            DemoTable(
                title="the export",
                columns=["", "value"],
                rows=[[name, str(value)] for name, value in summary.items()] + [["bytes", str(len(document.text))]],
            )
        ],
        checks=[
            DemoCheck(expected="the log records the export", held=isinstance(summary["certificate"], int)),
            DemoCheck(expected="the export contains the promise", held=intruder.discloses(document.text, PROMISE)),
            DemoCheck(
                expected="the export contains no masked or erased content",
                held=not intruder.discloses(document.text, "hospital")
                and not intruder.discloses(document.text, ADDRESS),
            ),
        ],
    )


def verify(stage: DemoStage) -> DemoStep:
    """Verify the bundle offline, in a process of its own."""
    proved = verifier(stage, stage.bundle)
    command = f"python -m muniment.evidence show {stage.bundle.name} --key {stage.vkey}"
    said = [
        [entry["title"], words["who"], words["text"] or words["state"]]
        for entry in proved.get("entries", ())
        for words in entry["said"]
    ]
    facts = [[name, str(proved.get(name))] for name in ("origin", "size", "root", "events", "disclosed", "withheld")]
    return DemoStep(
        name="verify",
        title="Let the auditor verify it offline",
        story=(
            "The verifier is one file that needs no access to the store and no secret, only the export and the public "
            f"key. Here it runs in a separate process: {command}"
        ),
        exhibits=[
            DemoTable(title="proved", columns=["", "value"], rows=facts),
            DemoTable(title="what is proved, to read", columns=["where", "who", "said"], rows=said),
        ],
        checks=[
            DemoCheck(expected="the verifier accepts the export", held=proved["verified"] is True),
            DemoCheck(expected="it finds all five turns", held=[one["turns"] for one in streams(proved)] == [5]),
            DemoCheck(expected="what it shows has the words of the view", held=any(PROMISE in row[2] for row in said)),
            DemoCheck(expected="it proves that nothing is missing", held=proved.get("complete") is True),
        ],
    )


def forge(stage: DemoStage) -> DemoStep:
    """Forge the bundle and see it refused."""
    bundle = stage.bundle.read_text(encoding="utf-8")
    forgeries = {
        f"'{PROMISE}' changed to '{FORGED}'": intruder.with_another_word(bundle, PROMISE, FORGED),
        "the last turn left out": intruder.without_last_turn(bundle),
    }
    rows, checks = [], []
    for number, (what, forged) in enumerate(forgeries.items(), start=1):
        path = stage.directory / f"forged-{number}.jsonl"
        path.write_text(forged, encoding="utf-8")
        proved = verifier(stage, path)
        rows.append(
            [what, "accepted" if proved["verified"] else "refused", str(proved.get("code")), str(proved.get("at"))]
        )
        checks.append(DemoCheck(expected=f"refused: {what}", held=forged != bundle and proved["verified"] is False))
    return DemoStep(
        name="forge",
        title="Reject forged exports",
        story=(
            "Somebody changes one word of the export: the refund shrinks by 36 euros. Somebody else leaves out the "
            "last turn. The same verifier checks both."
        ),
        exhibits=[DemoTable(title="forgeries", columns=["what was done", "verdict", "reason", "where"], rows=rows)],
        checks=checks,
    )


def tamper(stage: DemoStage) -> DemoStep:
    """Edit copies of the store on the disk and see them refused."""
    edits: dict[str, Callable[[Path], None]] = {
        "one bit of encrypted content changed": intruder.flip_a_bit,
        "the row that masked a turn removed": intruder.lift_the_mask,
        "the date of a turn moved": intruder.move_a_date,
    }
    rows, checks = [], []
    for what, edit in edits.items():
        copy = stage.copied(edit.__name__)
        edit(copy)
        when, code = noticed(stage, copy)
        rows.append([what, when, code])
        checks.append(DemoCheck(expected=f"refused: {what}", held=code == "store.corrupt"))
    try:
        with stage.opened(root=stage.another_root()):
            code = ""
    except MunimentError as refused:
        code = refused.code
    rows.append(["opened with another root key", "on opening", code])
    checks.append(DemoCheck(expected="refused: another root key", held=code == "key.wrong"))
    when, code = noticed(stage, stage.copied("untouched"))
    rows.append(["nothing", when, code])
    checks.append(DemoCheck(expected="an unchanged copy is accepted", held=not code))
    return DemoStep(
        name="tamper",
        title="Reject a store that was edited on disk",
        story=(
            "Somebody with access to the disk edits copies of the store with a database tool. Every row is bound to "
            "its hash and its keys, and every conversation has an encrypted count of its events."
        ),
        exhibits=[DemoTable(title="edits", columns=["what was done", "noticed", "error"], rows=rows)],
        checks=checks,
    )


def roll_back(stage: DemoStage) -> DemoStep:
    """Put an old copy of the store in its place and see it refused."""
    when, code = noticed(stage, stage.directory / YESTERDAY)
    with stage.opened(stage.directory / YESTERDAY) as runtime:
        health = runtime.system.health()
    return DemoStep(
        name="roll_back",
        title="Reject an older copy of the store",
        story=(
            "The copy from before the mask is genuine in every byte, but what happened later is missing from it, "
            "including the erasure. The pin, a signed checkpoint outside the store, is newer, so the copy opens for "
            "inspection only."
        ),
        exhibits=[
            DemoTable(
                title="the older copy",
                columns=["", "value"],
                rows=[
                    ["events in the copy", str(health.events)],
                    ["events at the pin", str(health.pinned_size)],
                    ["noticed", when],
                    ["error", code],
                ],
            )
        ],
        checks=[
            DemoCheck(expected="the older copy is refused as rolled back", held=code == "store.rolled_back"),
            DemoCheck(expected="it is not reported as sound", held=not health.sound),
        ],
    )
