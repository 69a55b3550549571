"""The steps of the demo about moving data: backup, archive, and the restore of an older backup."""

from __future__ import annotations

import msgspec

from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial, ScopeKind
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from muniment.transports.cli.demo.observations import found_on_disk, text_of
from muniment.transports.cli.demo.stage import DemoCheck, DemoStage, DemoStep, DemoTable

ADDRESS = "nadia.ferreira"
BACKUP, ARCHIVE = "backup", "conversation.archive"


def back_up(stage: DemoStage) -> DemoStep:
    """Write a backup."""
    target = stage.directory / BACKUP
    with stage.opened() as runtime:
        made = runtime.spaces.backup(str(target))
    files = sorted(path for path in target.iterdir())
    modes = [path.stat().st_mode & 0o777 for path in files]
    return DemoStep(
        name="back_up",
        title="Back up the space",
        story=(
            "Log and keys are two files, so neither can be read without the other. muniment encrypts both, reads them "
            "back and checks them before it gives them their names."
        ),
        exhibits=[
            DemoTable(
                title="the backup",
                columns=["file", "bytes"],
                rows=[[path.name, f"{path.stat().st_size:,}"] for path in files],
            )
        ],
        checks=[
            DemoCheck(expected="it holds every event, the record of the backup too", held=made.events == 13),
            DemoCheck(expected="only the owner can open its two files", held=modes == [0o600] * 2),
            DemoCheck(expected="they hold no readable content", held=not found_on_disk(target, stage.words())),
        ],
    )


def move(stage: DemoStage) -> DemoStep:
    """Export the conversation as an archive, and import it into another store."""
    file, elsewhere = stage.directory / ARCHIVE, stage.directory / "another-store"
    scope = ArchiveScope(kind=ScopeKind.CONVERSATION, channel=stage.key.channel, conversation=stage.key.conversation)
    words = [word.encode() for word in stage.words()]
    with stage.opened() as runtime:
        sent = runtime.archives.export(str(file), scope, PrivateMaterial.INCLUDE)
        before = _answers(stage, runtime)
    with stage.opened(elsewhere) as runtime:
        came = runtime.archives.import_(str(file), scope, PrivateMaterial.INCLUDE, ImportMode.BOOTSTRAP)
        after = _answers(stage, runtime)
        again = runtime.archives.export(f"{file}.again", scope, PrivateMaterial.INCLUDE)
    sealed = file.read_bytes()
    return DemoStep(
        name="move",
        title="Move the conversation to another store",
        story=(
            "An archive carries a conversation with its history: what is masked, redacted or erased stays so. It is "
            "imported completely or not at all, under fresh keys, and every view shows the same as before."
        ),
        exhibits=[
            DemoTable(
                title="the archive",
                columns=["", "root digest"],
                rows=[["exported here", sent.root.digest], ["exported there again", again.root.digest]],
            )
        ],
        checks=[
            DemoCheck(expected="all five turns are imported", held=came.turns_inserted == len(stage.turns)),
            DemoCheck(expected="every view shows the same", held=before == after),
            DemoCheck(expected="a second export has the same root", held=sent.root.digest == again.root.digest),
            DemoCheck(expected="the file holds no readable content", held=not any(word in sealed for word in words)),
        ],
    )


def restore(stage: DemoStage) -> DemoStep:
    """Restore the older backup over the store."""
    with stage.opened() as runtime:
        done = runtime.spaces.restore(str(stage.directory / BACKUP), replace=True)
    with stage.opened() as runtime:
        shown = [runtime.transcripts.replay(stage.key, view) for view in View]
        health = runtime.system.health()
    phases = [turn.phase for turn in shown[0].turns]
    return DemoStep(
        name="restore",
        title="Restore an older backup; erased stays erased",
        story=(
            "The backup is from before the mask and the erasure. The restore is confirmed, so it takes the store "
            "back, and the report lists the positions that are lost, among them the mask and the redaction. The "
            "erasures are repeated: no backup brings erased content back."
        ),
        exhibits=[
            DemoTable(
                title="the restore",
                columns=["", "value"],
                rows=[
                    ["events in the backup", str(done.events)],
                    ["positions lost", f"{done.lost_first} to {done.lost_last}"],
                    ["contents erased again", str(done.erased_again)],
                    ["phases of the turns", ", ".join(phases)],
                ],
            )
        ],
        checks=[
            DemoCheck(expected="a turn and a memory item were erased again", held=done.erased_again == 2),
            DemoCheck(expected="no view shows the address", held=ADDRESS not in "".join(map(text_of, shown))),
            DemoCheck(expected="the store is sound", held=health.sound),
        ],
    )


def _answers(stage: DemoStage, runtime: Runtime) -> list[object]:
    """Return what every view shows, without positions, which differ from log to log."""
    found: list[object] = []
    for view in View:
        page = msgspec.to_builtins(runtime.transcripts.replay(stage.key, view))
        for turn in page["turns"]:
            del turn["position"]
        found.append(page)
    return found
