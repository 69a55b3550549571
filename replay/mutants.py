"""Break the code in ways that matter, one at a time, in a copy: each break must turn at least one named check red.

A mutant is a text that stands exactly once in one file, what is put in its place, and the checks that should notice. A
text that is not there any more, or twice, fails: then the table has to follow the code. The copy is in a temporary
directory; what is checked out is not touched. Each check is first seen green on an unbroken copy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from msgspec import Struct

REPOSITORY = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "replay", "fixtures", "schemas", "pyproject.toml", "README.md")
CHECK_TIMEOUT_S = 300
AT_ONCE = 2


class Mutant(Struct, frozen=True, kw_only=True):
    """One break: texts and what stands instead. `checks` are tests, or drills with a number (`drill powercut 500`)."""

    breaks: str
    file: str
    edits: tuple[tuple[str, str], ...]
    checks: tuple[str, ...]


MUTANTS: dict[str, Mutant] = {
    "aad": Mutant(
        breaks="drop the associated data, so that a cell is bound to no event",
        file="src/muniment/crypto/cell.py",
        edits=(
            (
                "encrypt(ONCE, body, CELL_CONTEXT + codec + leaf)",
                "encrypt(ONCE, body, CELL_CONTEXT + codec)",
            ),
            (
                "decrypt(ONCE, sealed[1:], CELL_CONTEXT + codec + leaf)",
                "decrypt(ONCE, sealed[1:], CELL_CONTEXT + codec)",
            ),
            (
                "hmac_of(key.secret, CELL_CONTEXT + leaf))\n    return",
                "hmac_of(key.secret, CELL_CONTEXT))\n    return",
            ),
            (
                "hmac_of(key.secret, CELL_CONTEXT + leaf))\n        body",
                "hmac_of(key.secret, CELL_CONTEXT))\n        body",
            ),
        ),
        checks=("tests/crypto/test_cell.py",),
    ),
    "fsync": Mutant(
        breaks="skip an fsync: flush the write-ahead log at a checkpoint, not at a commit",
        file="src/muniment/log/connection.py",
        edits=(('"synchronous": "FULL"', '"synchronous": "NORMAL"'),),
        checks=("drill powercut 300",),
    ),
    "fsync-by-hand": Mutant(
        breaks="skip an fsync: do not flush the emptied write-ahead log before an erasure returns",
        file="src/muniment/log/connection.py",
        edits=(("        _flush(self.wal)\n", ""),),
        checks=("drill erase 12",),
    ),
    "barrier": Mutant(
        breaks="trust the data that a failed fsync left behind",
        file="src/muniment/log/sqlite.py",
        edits=(("            self._guarded(lambda: self._empty_wal(connection))\n", ""),),
        checks=("tests/log/test_faults.py",),
    ),
    "rewrite": Mutant(
        breaks="after a failed fsync, flush the write-ahead log again without writing it again",
        file="src/muniment/log/connection.py",
        edits=(("                at += os.pwrite(descriptor, piece, at)\n", "                at += len(piece)\n"),),
        checks=("drill powercut 8000",),
    ),
    "delete": Mutant(
        breaks="forget a delete: the ciphertext of erased content stays",
        file="src/muniment/ledger/ledger.py",
        edits=(("        self.tx.destroy_content(row.position)\n        return True\n", "        return True\n"),),
        checks=("drill erase 6",),
    ),
    "segment-key": Mutant(
        breaks="keep the key of a segment in which something was erased",
        file="src/muniment/ledger/segments.py",
        edits=(("self._replaced(tx, key) if key.number in here else key for key in keys", "key for key in keys"),),
        checks=("tests/log/test_segments.py",),
    ),
    "segment-range": Mutant(
        breaks="leave the last event of a segment under its former key",
        file="src/muniment/ledger/segments.py",
        edits=(("first + SEGMENT_EVENTS - 1", "first + SEGMENT_EVENTS - 2"),),
        checks=("tests/log/test_segments.py",),
    ),
    "catalogue-delete": Mutant(
        breaks="forget the catalogue: lists of conversations still count erased turns",
        file="src/muniment/projections/conversation_catalogue.py",
        edits=(
            (
                "runs(turns, self._transcript.changes(reader, head).steps) if stepped else None",
                "None if stepped or not stepped else None",
            ),
        ),
        checks=("tests/runtime/test_catalogue.py",),
    ),
    "index-delete": Mutant(
        breaks="forget the index: search still finds removed messages",
        file="src/muniment/search/index_follower.py",
        edits=(("        for span in changed:\n", "        for span in changed[:0]:\n"),),
        checks=(
            (
                "tests/replay_harness/test_histories.py::"
                "test_a_history_holds_and_leaves_nothing_unchecked[search-what-a-view-shows]"
            ),
        ),
    ),
    "index-purge": Mutant(
        breaks="leave erased content in the memory of the index, without finding it",
        file="src/muniment/search/index.py",
        edits=(("        self.postings.purge()\n", "        pass\n"),),
        checks=("drill search 60",),
    ),
    "salt": Mutant(
        breaks="reuse one salt for all fields of a cell",
        file="src/muniment/evidence/header.py",
        edits=(("map(_label, wanted)", 'map(_label, ["one"] * len(wanted))'),),
        checks=("tests/evidence/test_own_vectors.py", "tests/events/test_vectors.py"),
    ),
    "hold": Mutant(
        breaks="ignore a hold",
        file="src/muniment/operations/lifecycle/guard.py",
        edits=(("            applying.add(Rule.HOLD)\n", "            pass\n"),),
        checks=("tests/runtime/test_custody.py",),
    ),
    "checkpoint": Mutant(
        breaks="accept an unsigned checkpoint",
        file="src/muniment/evidence/verifier.py",
        edits=(("    text, _ = open_note(note, [key])\n", "    text = parse_note(note).text\n"),),
        checks=("tests/evidence/test_notes.py",),
    ),
    "paging": Mutant(
        breaks="lose a turn between two pages",
        file="src/muniment/operations/transcripts/replay.py",
        edits=(("ReplayMark(after=last)", "ReplayMark(after=last + 1)"),),
        checks=("tests/laws/test_walks.py::test_pages_give_the_whole_once_while_others_append",),
    ),
    "space": Mutant(
        breaks="look up in any existing space",
        file="src/muniment/crypto/store.py",
        edits=(('keyed_digest(self._index_key, "space", name)', 'keyed_digest(self._index_key, "space", "one")'),),
        checks=("tests/runtime/test_doors.py",),
    ),
    "mask": Mutant(
        breaks="show masked content in one view",
        file="src/muniment/governance/judgement.py",
        edits=(
            (
                "    if phase in GONE:\n",
                "    if phase in GONE and view != 'host_ui':\n",
            ),
            (
                "    gone = GONE.get(record.phase)\n",
                "    gone = None if view == 'host_ui' and record.content else GONE.get(record.phase)\n",
            ),
        ),
        checks=("tests/laws/test_walks.py::test_every_view_shows_what_the_model_says_after_every_command",),
    ),
    "skip": Mutant(
        breaks="silently skip content that does not decrypt",
        file="src/muniment/projections/transcript.py",
        edits=(
            (
                (
                    "            salts, body = self._ledger.kept_content(opened)\n"
                    '            assert isinstance(body, TurnContent), "a turn\'s content is its words"\n'
                    "            content = body\n"
                ),
                (
                    "            try:\n                salts, content = self._ledger.kept_content(opened)\n"
                    "            except Exception:\n                pass\n"
                ),
            ),
        ),
        checks=("tests/runtime/test_edited_at_rest.py",),
    ),
    "reseal-key": Mutant(
        breaks="seal what is left of an erased message under the old key: its former ciphertext still opens",
        file="src/muniment/ledger/ledger.py",
        edits=(
            (
                "self._ledger.unsealed(row).meta, ContentKey(self._ledger.entropy.take(CONTENT_KEY_BYTES))\n",
                "self._ledger.unsealed(row).meta, opened.key\n",
            ),
        ),
        checks=("tests/laws/test_nothing_opens.py",),
    ),
    "third-key": Mutant(
        breaks="keep the old key beside the new one when what is left of an erased message is sealed again",
        file="src/muniment/ledger/ledger.py",
        edits=(
            (
                "        self.tx.put_content(row.position, seal_cell(key, squeeze(left), row.leaf))\n",
                (
                    "        self.tx.put_content(row.position, seal_cell(key, squeeze(left), row.leaf))\n"
                    '        self.tx.put_meta("former", opened.key.secret)\n'
                ),
            ),
        ),
        checks=("tests/laws/test_nothing_opens.py",),
    ),
    "heal-first": Mutant(
        breaks="destroy only the first of what came back",
        file="src/muniment/space/healing.py",
        edits=(
            (
                "        for position, messages in returned:\n",
                "        for position, messages in returned[:1]:\n",
            ),
        ),
        checks=("tests/laws/test_nothing_opens.py",),
    ),
    "pin-flush": Mutant(
        breaks="skip an fsync: put a pin in place before it is flushed",
        file="src/muniment/evidence/pin.py",
        edits=(("            os.fsync(descriptor)\n", ""),),
        checks=("tests/evidence/test_pin.py", "drill powercut 1000"),
    ),
    "fork": Mutant(
        breaks="pin silently past a fork of the log",
        file="src/muniment/ledger/attest.py",
        edits=(("            for pinned in places:\n", "            for pinned in places[:0]:\n"),),
        checks=("tests/runtime/test_forked_pins.py",),
    ),
    "pin-first": Mutant(
        breaks="pin a checkpoint before its transaction is flushed",
        file="src/muniment/ledger/ledger.py",
        edits=(
            (
                "            self.tx.put_checkpoint(frontier.size, self.note)\n",
                (
                    "            self.tx.put_checkpoint(frontier.size, self.note)\n"
                    "            self._ledger.witness.remember(self.note)\n"
                ),
            ),
        ),
        checks=("tests/runtime/test_forked_pins.py",),
    ),
    "head": Mutant(
        breaks="trust the head of a conversation without its MAC, on the way that pages take",
        file="src/muniment/projections/transcript.py",
        edits=(("self._ledger.head(reader, stream)", "reader.stream_head(stream)"),),
        checks=("tests/runtime/test_edited_at_rest.py",),
    ),
    "interrupt": Mutant(
        breaks="keep a lock that an interrupt left behind",
        file="src/muniment/log/group_commit.py",
        edits=(("            let_go(self._turn, group.lock)\n", ""),),
        checks=("tests/log/test_group.py",),
    ),
    "settled": Mutant(
        breaks="call a turn committed before its transaction is",
        file="src/muniment/log/group_commit.py",
        edits=(
            (
                "            tickets.append(group.waiting.popleft())\n",
                ("            tickets.append(group.waiting.popleft())\n            tickets[-1].settled = True\n"),
            ),
        ),
        checks=("tests/log/test_group.py",),
    ),
    "leftover": Mutant(
        breaks="go on in the transaction that an interrupted leader left open",
        file="src/muniment/log/sqlite.py",
        edits=(
            (
                "        if connection.in_transaction:  # a leader was interrupted while it gave up\n",
                "        if False:\n",
            ),
        ),
        checks=("tests/log/test_group.py",),
    ),
}


def unmade(mutant: Mutant, root: Path = REPOSITORY) -> list[str]:
    """Return the texts of a mutant that do not stand exactly once where they should."""
    source = (root / mutant.file).read_text()
    return [text for text, _ in mutant.edits if source.count(text) != 1]


def markdown() -> str:
    """Return the table of all mutants, as it stands in MUTANTS.md."""
    rows = [
        f"| `{name}` | {mutant.breaks} | `{mutant.file}` | {', '.join(f'`{check}`' for check in mutant.checks)} |"
        for name, mutant in MUTANTS.items()
    ]
    lines = [
        "# Mutants",
        "",
        "A mutant is the code with one serious mistake. The table lists the mutants, and the checks that must fail for",
        "each. `python -m replay mutants` makes each mistake in a copy of the code and runs the checks.",
        "",
        "Generated from `mutants.py`; do not edit.",
        "",
        "| mutant | mistake | file | detected by |",
        "|---|---|---|---|",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def run_mutants(names: Sequence[str]) -> bool:
    """Run the mutants of these names, or all; print a line for each; return whether each was noticed."""
    chosen = {name: mutant for name, mutant in MUTANTS.items() if not names or name in names}
    checks = sorted({check for mutant in chosen.values() for check in mutant.checks})
    with tempfile.TemporaryDirectory(prefix="muniment-mutants-") as scratch:
        sound = _copied(Path(scratch) / "sound")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            red = [
                check
                for check, green in zip(checks, pool.map(partial(_is_green, sound), checks), strict=True)
                if not green
            ]
            for check in red:
                print(f"red without any break: {check}")
            noticed = list(pool.map(partial(_noticed, Path(scratch)), chosen, chosen.values()))
    print(f"{sum(noticed)} of {len(noticed)} breaks noticed")
    return bool(noticed) and all(noticed) and not red


def _noticed(scratch: Path, name: str, mutant: Mutant) -> bool:
    """Break a copy; tell whether a check fails."""
    began = time.monotonic()
    copy = _copied(scratch / name)
    path = copy / mutant.file
    source = path.read_text()
    if missing := unmade(mutant, copy):
        print(f"{name}: NOT MADE: not once in {mutant.file}: {missing[0].strip()!r}")
        return False
    for text, instead in mutant.edits:
        source = source.replace(text, instead)
    path.write_text(source)
    by = next((check for check in mutant.checks if not _is_green(copy, check)), None)
    shutil.rmtree(copy)
    said = f"noticed by {by}" if by else f"NOT NOTICED by {', '.join(mutant.checks)}"
    print(f"{name}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    return by is not None


def _copied(target: Path) -> Path:
    """Copy what the checks need."""
    target.mkdir()
    for name in COPIED:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__", "*.md.tmp"))
        else:
            shutil.copy(source, target / name)
    return target


def _is_green(copy: Path, check: str) -> bool:
    """Run a check in a copy; a break that hangs has been noticed."""
    kind, _, rest = check.partition(" ")
    if kind == "drill":
        name, number = rest.split()
        command = [sys.executable, "-m", "replay", "drill", name, "--n", number]
    else:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", check]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy), str(copy / "src")])}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, check=False, timeout=CHECK_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
