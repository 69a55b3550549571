"""The acts in which a space moves: it is backed up, leaves as an archive, and comes back from an older backup."""

from __future__ import annotations

import msgspec

from muniment.events.archives import ArchiveScope, ImportMode, Private, ScopeKind
from muniment.governance.views import View
from muniment.runtime.runtime import Runtime
from muniment.transports.cli.demo.looking import found_on_disk, text_of
from muniment.transports.cli.demo.stage import Act, Check, Exhibit, Stage

ADDRESS = "nadia.ferreira"
BACKUP, ARCHIVE = "backup", "conversation.archive"


def back_up(stage: Stage) -> Act:
    """Write a backup."""
    target = stage.directory / BACKUP
    with stage.opened() as runtime:
        made = runtime.spaces.backup(str(target))
    files = sorted(path for path in target.iterdir())
    modes = [path.stat().st_mode & 0o777 for path in files]
    return Act(
        name="back_up",
        title="A backup is made",
        story=(
            "Log and keys are two files, so that nobody who finds one of them can read anything. Both are sealed, read "
            "back and held to every rule before they get their names."
        ),
        exhibits=[
            Exhibit(
                title="the backup",
                columns=["file", "bytes"],
                rows=[[path.name, f"{path.stat().st_size:,}"] for path in files],
            )
        ],
        checks=[
            Check(expected="it holds every event", held=made.events == 7),
            Check(expected="there are two files, for their owner alone", held=modes == [0o600] * 2),
            Check(expected="no word can be read in them", held=not found_on_disk(target, stage.words())),
        ],
    )


def move(stage: Stage) -> Act:
    """Export the conversation as an archive, and import it into another store."""
    file, elsewhere = stage.directory / ARCHIVE, stage.directory / "another-store"
    scope = ArchiveScope(kind=ScopeKind.CONVERSATION, channel=stage.key.channel, conversation=stage.key.conversation)
    words = [word.encode() for word in stage.words()]
    with stage.opened() as runtime:
        sent = runtime.archives.export(str(file), scope, Private.INCLUDE)
        before = _answers(stage, runtime)
    with stage.opened(elsewhere) as runtime:
        came = runtime.archives.import_(str(file), scope, Private.INCLUDE, ImportMode.BOOTSTRAP)
        after = _answers(stage, runtime)
        again = runtime.archives.export(f"{file}.again", scope, Private.INCLUDE)
    sealed = file.read_bytes()
    return Act(
        name="move",
        title="The conversation moves to another store",
        story=(
            "An archive carries a conversation with all that happened to it: what is masked, redacted or erased "
            "arrives as such. It is imported whole or not at all, under fresh keys, and every view answers there as it "
            "does here."
        ),
        exhibits=[
            Exhibit(
                title="the archive",
                columns=["", "root digest"],
                rows=[["exported here", sent.root.digest], ["exported there again", again.root.digest]],
            )
        ],
        checks=[
            Check(expected="all five turns came in", held=came.turns_inserted == len(stage.turns)),
            Check(expected="every view answers the same", held=before == after),
            Check(expected="exported again it has the same root", held=sent.root.digest == again.root.digest),
            Check(expected="no word can be read in the file", held=not any(word in sealed for word in words)),
        ],
    )


def restore(stage: Stage) -> Act:
    """Restore the older backup over the store."""
    with stage.opened() as runtime:
        done = runtime.spaces.restore(str(stage.directory / BACKUP), replace=True)
    with stage.opened() as runtime:
        shown = [runtime.transcripts.replay(stage.key, view) for view in View]
        health = runtime.system.health()
    phases = [turn.phase for turn in shown[0].turns]
    return Act(
        name="restore",
        title="Erased stays erased, also after an older backup is restored",
        story=(
            "The backup was made before anything was masked or erased. Restoring it takes the store back on purpose: "
            "the report names the positions that are lost, among them the mask and the redaction. But the erasures of "
            "the present log are done again, so that no backup brings back what was erased."
        ),
        exhibits=[
            Exhibit(
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
            Check(expected="one turn was erased again", held=done.erased_again == 1),
            Check(expected="the address is in no view", held=ADDRESS not in "".join(map(text_of, shown))),
            Check(expected="the store is sound", held=health.sound),
        ],
    )


def _answers(stage: Stage, runtime: Runtime) -> list[object]:
    """Return what every view shows; the place of a turn in a log is the log's own."""
    found: list[object] = []
    for view in View:
        page = msgspec.to_builtins(runtime.transcripts.replay(stage.key, view))
        for turn in page["turns"]:
            del turn["position"]
        found.append(page)
    return found
