"""The acts in which a space moves: it is backed up, leaves as an archive, and comes back from an older backup."""

from __future__ import annotations

import msgspec

from muniment.events.archive import ArchiveScope, ImportMode, PrivateMaterial, ScopeKind
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from muniment.transports.cli.demo.show_detection import found_on_disk, text_of
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
        title="A backup is made",
        story=(
            "Log and keys are two files, so that nobody who finds one of them can read anything. Both are sealed, read "
            "back and held to every rule before they get their names."
        ),
        exhibits=[
            DemoTable(
                title="the backup",
                columns=["file", "bytes"],
                rows=[[path.name, f"{path.stat().st_size:,}"] for path in files],
            )
        ],
        checks=[
            DemoCheck(expected="it holds every event", held=made.events == 7),
            DemoCheck(expected="there are two files, for their owner alone", held=modes == [0o600] * 2),
            DemoCheck(expected="no word can be read in them", held=not found_on_disk(target, stage.words())),
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
        title="The conversation moves to another store",
        story=(
            "An archive carries a conversation with all that happened to it: what is masked, redacted or erased "
            "arrives as such. It is imported whole or not at all, under fresh keys, and every view answers there as it "
            "does here."
        ),
        exhibits=[
            DemoTable(
                title="the archive",
                columns=["", "root digest"],
                rows=[["exported here", sent.root.digest], ["exported there again", again.root.digest]],
            )
        ],
        checks=[
            DemoCheck(expected="all five turns came in", held=came.turns_inserted == len(stage.turns)),
            DemoCheck(expected="every view answers the same", held=before == after),
            DemoCheck(expected="exported again it has the same root", held=sent.root.digest == again.root.digest),
            DemoCheck(expected="no word can be read in the file", held=not any(word in sealed for word in words)),
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
        title="Erased stays erased, also after an older backup is restored",
        story=(
            "The backup was made before anything was masked or erased. Restoring it takes the store back on purpose: "
            "the report names the positions that are lost, among them the mask and the redaction. But the erasures of "
            "the present log are done again, so that no backup brings back what was erased."
        ),
        exhibits=[
            DemoTable(
                title="the restore",
                columns=["", "value"],
                rows=[
                    ["events of the backup", str(done.events)],
                    ["positions that are lost", f"{done.lost_first} to {done.lost_last}"],
                    ["turns erased again", str(done.erased_again)],
                    ["phases of the turns", ", ".join(phases)],
                ],
            )
        ],
        checks=[
            DemoCheck(expected="one turn was erased again", held=done.erased_again == 1),
            DemoCheck(expected="the address is in no view", held=ADDRESS not in "".join(map(text_of, shown))),
            DemoCheck(expected="the store is sound", held=health.sound),
        ],
    )


def _answers(stage: DemoStage, runtime: Runtime) -> list[object]:
    """Return what every view shows; the place of a turn in a log is the log's own."""
    found: list[object] = []
    for view in View:
        page = msgspec.to_builtins(runtime.transcripts.replay(stage.key, view))
        for turn in page["turns"]:
            del turn["position"]
        found.append(page)
    return found
