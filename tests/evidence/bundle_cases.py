"""One-fault bundles, made by hand (tests/evidence/by_hand.py): what is wrong, the code of the refusal, the lines."""

from __future__ import annotations

import json

from tests.evidence.by_hand import (
    EXPORT,
    LOG,
    OTHER_LOG,
    Lines,
    World,
    bent,
    checkpoint_of,
    commitment_of,
    disclosure_of,
    jcs,
    leaf_of,
    mth,
    note_of,
    patched,
    std,
    url,
)

WORLD = World()
GOOD = WORLD.bundle()
WHOLE = WORLD.bundle(tuple(range(9)), streams={"0": [1, 2], "1": [1, 4], "2": [1, 3]})
Cases = dict[str, tuple[str, str | None, Lines]]  # name: (what is wrong, code of the refusal, lines)


def own_disclosure(raw: bytes) -> World:
    """Return a log whose owner committed to a value that is no proper JSON."""
    return World(json_of={(5, "message/0/content/0"): raw})


SHOWN = json.loads(GOOD[9])["disclosures"][0].join('""').encode()


def relabelled(**changes: str) -> Lines:
    """Return a bundle whose head says something else of the export than its certificate."""
    return WORLD.bundle(export={**EXPORT, **changes})


def to_come() -> Lines:
    """Return the bundle of a log with a view of a later release."""
    export = {"filter": {"from": 3}, "view": "auditor"}
    return World(fields_of={8: {"export": export}}).bundle(export=export)


def whole_cases() -> Cases:
    return {
        "good": ("A certified export of one conversation of two.", None, GOOD),
        "good-uncertified": (
            "Without the certificate the bundle is sound, and not complete.",
            None,
            WORLD.bundle((1, 3, 5, 6)),
        ),
        "good-stale-certificate": (
            "The certificate is not the last event under the checkpoint: the bundle is sound, and not complete.",
            None,
            World(late=1).bundle(),
        ),
        "good-certificate-of-another-stream": (
            "A certificate of a stream that was not exported is one more event of the space.",
            None,
            bent(8, refs={"stream": 2, "through": 3}).bundle(),
        ),
        "good-certificate-with-more": (
            "A certificate that names more places than this release knows.",
            None,
            bent(8, refs={"first": 1, "stream": 1, "through": 4}).bundle(),
        ),
        "good-certificate-closed": (
            "A certificate that does not disclose what was exported certifies nothing.",
            None,
            [*GOOD[:9], GOOD[9].replace(SHOWN, b""), *GOOD[10:]],
        ),
        "good-view-to-come": ("A view that this release does not know.", None, to_come()),
        "good-with-the-space": (
            "An event of the space that is no certificate.",
            None,
            WORLD.bundle((0, 1, 3, 5, 6, 8)),
        ),
        "good-whole-space": (
            "All streams, certificate included.",
            None,
            WHOLE,
        ),
        "trailing-line": ("A line after the last.", "trailing", [*GOOD, GOOD[-1]]),
        "truncated": ("The checkpoint is gone.", "truncated", GOOD[:-1]),
        "empty": ("Nothing at all.", "truncated", []),
    }


def head_cases() -> Cases:
    return {
        "head-format": ("Another format.", "head", WORLD.bundle(bundle="muniment-export/2")),
        "head-view": ("A view that is no word.", "head", WORLD.bundle(export={"view": "All of it"})),
        "head-export-no-object": ("A view where an object must be.", "head", WORLD.bundle(export="export")),
        "head-view-not-certified": (
            "Another view than the certificate has.",
            "certificate",
            relabelled(view="raw_owner"),
        ),
        "head-exporter-not-certified": ("Another exporter.", "certificate", relabelled(subject="judge")),
        "head-origin": ("The origin is not the log's.", "head", WORLD.bundle(origin="muniment/other")),
        "head-size": ("Not the size of the checkpoint.", "head", WORLD.bundle(size=10)),
        "head-unknown-member": ("A member that the format does not know.", "head", WORLD.bundle(note="")),
        "head-spaces": ("Insignificant white space.", "not_canonical", patched(GOOD, 1, b":", b": ")),
        "head-range-reversed": ("A range that ends before it begins.", "head", WORLD.bundle(streams={"1": [4, 1]})),
        "head-range-from-zero": ("Events are counted from 1.", "head", WORLD.bundle(streams={"1": [0, 4]})),
        "head-range-no-pair": ("A number of events.", "head", WORLD.bundle(streams={"1": 4})),
        "head-no-streams": ("Nothing exported.", "head", WORLD.bundle(streams={})),
        "head-number-large": ("Sizes beyond 53 bits.", "head", WORLD.bundle(size=2**53)),
        "head-more-events": (
            "The head promises an event that is not there.",
            "incomplete",
            WORLD.bundle(streams={"1": [1, 5]}),
        ),
    }


def line_cases() -> Cases:
    return {
        "event-not-json": ("A brace is gone.", "not_json", patched(GOOD, 5, b"{", b"")),
        "event-nan": ("NaN.", "not_json", patched(GOOD, 5, b'"v":1', b'"v":NaN')),
        "event-fraction": ("1.0 is not 1.", "not_json", patched(GOOD, 5, b'"v":1', b'"v":1.0')),
        "event-member-twice": ("The same member twice.", "not_canonical", patched(GOOD, 5, b'"v":1', b'"v":1,"v":1')),
        "event-carriage-return": (
            "A line that ends in CRLF.",
            "not_canonical",
            [*GOOD[:4], GOOD[4] + b"\r", *GOOD[5:]],
        ),
        "event-unknown-member": ("An unknown member of the line.", "event", patched(GOOD, 5, b"{", b'{"comment":"",')),
    }


def header_cases() -> Cases:
    return {
        "header-unknown-member": ("An unknown member.", "header", patched(GOOD, 5, b'"v":1', b'"v":1,"w":1')),
        "header-missing-member": ("A missing member.", "header", patched(GOOD, 5, b',"v":1', b"")),
        "header-version": ("A version from the future.", "header", patched(GOOD, 5, b'"v":1', b'"v":2')),
        "header-true-is-no-number": ("true where 1 must stand.", "header", patched(GOOD, 5, b'"v":1', b'"v":true')),
        "header-reason-text": ("A reason that is a sentence.", "header", bent(6, reason="They asked me to").bundle()),
        "header-number-large": ("A number that not every reader has exactly.", "header", bent(6, t=2**53).bundle()),
        "header-reference-large": ("A reference as large.", "header", bent(6, refs={"turn": 2**53}).bundle()),
        "header-label": ("A label that needs escapes.", "header", bent(6, fields={'a"b': commitment_of("x")}).bundle()),
        "header-digest": ("A commitment with stray bits.", "header", bent(6, fields={"actor": "B" * 43}).bundle()),
        "header-opening-place": ("A stream with a number that is not its place.", "header", bent(1, stream=2).bundle()),
    }


def stream_cases() -> Cases:
    return {
        "event-edited": (
            "The time of the last event was changed.",
            "root",
            patched(GOOD, 8, b'"t":17', b'"t":18'),
        ),
        "event-edited-inside": ("The time of a turn was changed.", "chain", patched(GOOD, 5, b'"t":17', b'"t":18')),
        "event-not-chained": ("The log itself skipped a leaf.", "chain", bent(5, prev=url(leaf_of(b""))).bundle()),
        "event-of-another-log": ("An event of another log.", "foreign_log", bent(5, log=OTHER_LOG).bundle()),
        "event-of-another-stream": (
            "An event that was not asked for.",
            "foreign_event",
            WORLD.bundle((1, 3, 4, 5, 6, 8)),
        ),
        "event-absent-first": (
            "The first event is absent.",
            "incomplete",
            WORLD.bundle((3, 5, 6, 8), streams={"1": [1, 3]}),
        ),
        "event-absent-inside": ("A turn is absent.", "incomplete", WORLD.bundle((1, 3, 6, 8), streams={"1": [1, 3]})),
        "event-absent-last": ("The end is cut off.", "incomplete", WORLD.bundle((1, 3, 5, 8), streams={"1": [1, 3]})),
        "event-twice": ("An event comes twice.", "order", [*GOOD[:5], GOOD[4], *GOOD[5:]]),
        "events-reordered": (
            "Two events of different streams changed places.",
            "skipped",
            [*WHOLE[:5], WHOLE[6], WHOLE[5], *WHOLE[7:]],
        ),
        "turn-number-skipped": ("The log itself skipped a turn.", "incomplete", bent(5, entry={"turn": 3}).bundle()),
        "turn-number-none": ("A turn whose number is none.", "header", bent(5, entry={"turn": 0}).bundle()),
    }


def disclosure_cases() -> Cases:
    shown = json.loads(GOOD[4])["disclosures"]
    short = disclosure_of("c2FsdA", "actor", b'"agent"')
    salted = bent(3, fields={"actor": commitment_of(short)})
    salted.disclosures[3] = {"actor": short}
    padded = GOOD[4].replace(shown[0].encode(), shown[0].encode() + b"=")
    no_list = GOOD[7].replace(b'"disclosures":[', b'"disclosures":{"a":[').replace(b'],"header"', b']},"header"')
    return {
        "disclosure-edited": (
            "Another actor.",
            "commitment",
            patched(GOOD, 5, shown[0].encode(), disclosure_of("A" * 43, "actor", b'"other"').encode()),
        ),
        "disclosure-moved": (
            "A disclosure of another event.",
            "commitment",
            [*GOOD[:4], GOOD[4].replace(shown[0].encode(), json.loads(GOOD[6])["disclosures"][0].encode()), *GOOD[5:]],
        ),
        "disclosure-twice": (
            "The same disclosure twice.",
            "disclosure",
            patched(GOOD, 5, f'"{shown[0]}"'.encode(), f'"{shown[0]}","{shown[0]}"'.encode()),
        ),
        "disclosures-reordered": (
            "Not in order of label.",
            "disclosure",
            patched(GOOD, 5, f'"{shown[0]}","{shown[1]}"'.encode(), f'"{shown[1]}","{shown[0]}"'.encode()),
        ),
        "disclosure-padded": ("Padding.", "disclosure", [*GOOD[:4], padded, *GOOD[5:]]),
        "disclosure-no-text": (
            "A number among the disclosures.",
            "disclosure",
            patched(GOOD, 5, f'"{shown[0]}"'.encode(), b"1"),
        ),
        "disclosures-no-list": ("Disclosures as an object.", "event", [*GOOD[:7], no_list, *GOOD[8:]]),
        "disclosure-salt-short": ("A salt that can be guessed.", "disclosure", salted.bundle()),
        "disclosure-member-twice": (
            "The log committed to a value with two meanings.",
            "not_json",
            own_disclosure(b'{"text":"yes","text":"no"}').bundle(),
        ),
        "disclosure-infinity": (
            "The log committed to infinity.",
            "not_json",
            own_disclosure(b'{"n":Infinity}').bundle(),
        ),
        "disclosure-lone-surrogate": (
            "The log committed to half a character.",
            "not_canonical",
            own_disclosure(b'{"text":"\\ud800"}').bundle(),
        ),
    }


def certificate_cases() -> Cases:
    return {
        "certificate-overstates": (
            "The certificate speaks of an event that is not there.",
            "incomplete",
            bent(8, refs={"stream": 1, "through": 5}).bundle(),
        ),
        "certificate-without-end": (
            "A certificate without its end.",
            "certificate",
            bent(8, refs={"stream": 1}).bundle(),
        ),
    }


def skipped_cases() -> Cases:
    at = [number for number, line in enumerate(GOOD) if b"skipped" in line]
    first = json.loads(GOOD[at[0]])["skipped"]

    def with_first(hashes: object) -> Lines:
        return [*GOOD[: at[0]], jcs({"skipped": hashes}), *GOOD[at[0] + 1 :]]

    return {
        "skipped-edited": ("A hash was changed.", "root", with_first([std(bytes(32)), *first[1:]])),
        "skipped-absent": ("A gap without its hashes.", "skipped", [*GOOD[: at[0]], *GOOD[at[0] + 1 :]]),
        "skipped-short": ("A hash is gone.", "skipped", with_first(first[1:])),
        "skipped-spare": ("A hash too many.", "skipped", with_first([*first, first[0]])),
        "skipped-hash-short": ("A hash of 31 bytes.", "skipped", with_first([std(bytes(31)), *first[1:]])),
        "skipped-no-list": ("A number for the hashes.", "skipped", with_first(1)),
        "skipped-no-text": ("A number among the hashes.", "skipped", with_first([1, *first[1:]])),
        "skipped-twice": ("The same line twice.", "event", [*GOOD[: at[0]], GOOD[at[0]], *GOOD[at[0] :]]),
        "skipped-nothing": (
            "Hashes where nothing was skipped.",
            "skipped",
            [*WHOLE[:2], jcs({"skipped": first}), *WHOLE[2:]],
        ),
        "skipped-moved": ("Two gaps have changed places.", "root", moved(at[0], at[1])),
        "skipped-spaces": ("Insignificant white space.", "not_canonical", patched(GOOD, at[0] + 1, b":", b": ")),
    }


def moved(one: int, other: int) -> Lines:
    """Return the good bundle with two of its lines in each other's place."""
    lines = list(GOOD)
    lines[one], lines[other] = lines[other], lines[one]
    return lines


def checkpoint_cases() -> Cases:
    note = json.loads(GOOD[-1])["checkpoint"]
    return {
        "checkpoint-root": (
            "Another root under the old signature.",
            "signature",
            [*GOOD[:10], jcs({"checkpoint": note.replace(std(mth(WORLD.leaves)), std(bytes(32)))})],
        ),
        "checkpoint-other-signer": (
            "Signed by somebody else under the same name.",
            "signature_missing",
            [*GOOD[:10], jcs({"checkpoint": note_of(note.partition("\n\n")[0] + "\n", seed=bytes(32))})],
        ),
        "checkpoint-other-origin": (
            "The log signed the checkpoint of another.",
            "origin",
            [*GOOD[:10], jcs({"checkpoint": note_of(note.partition("\n\n")[0].replace(LOG, OTHER_LOG) + "\n")})],
        ),
        "checkpoint-size": (
            "A checkpoint of an earlier size.",
            "head",
            [*GOOD[:10], jcs({"checkpoint": checkpoint_of(WORLD.leaves[:8])})],
        ),
        "checkpoint-not-text": ("No note.", "checkpoint_malformed", [*GOOD[:10], jcs({"checkpoint": None})]),
        "checkpoint-no-note": (
            "A text without signatures.",
            "note_malformed",
            [*GOOD[:10], jcs({"checkpoint": "x\n"})],
        ),
        "checkpoint-leading-zero": (
            "09 is not 9.",
            "checkpoint_malformed",
            [*GOOD[:10], jcs({"checkpoint": note_of(note.partition("\n\n")[0].replace("\n9\n", "\n09\n") + "\n")})],
        ),
        "checkpoint-spaces": ("Insignificant white space.", "not_canonical", patched(GOOD, 11, b":", b": ")),
    }


BUNDLES = (
    whole_cases,
    head_cases,
    line_cases,
    header_cases,
    stream_cases,
    disclosure_cases,
    certificate_cases,
    skipped_cases,
    checkpoint_cases,
)
