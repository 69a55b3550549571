"""Detection: how much of the labelled set is found, how much beside it, and how fast."""

from __future__ import annotations

import time

from muniment.governance.detection import ALL, coverage_of, detectors_for, scan
from replay.bench.figures import Figure, at_least, ranged
from replay.bench.scene import Measured, Measuring, Scene
from replay.labelled import Half, Score, lines, scores
from replay.measure import spread
from replay.words import CORPORA

CHARACTERS_PER_CPU_SECOND_MIN = 500_000
TEXT_CHARACTERS = 400
CHARACTERS, CHARACTERS_QUICK = 2_000_000, 100_000
ROUNDS = 5


def found(_scene: Scene) -> Measuring:
    """Compare what is found with what is marked, type by type, on both halves of the set."""
    tuned, held_out = scores(Half.TUNED), scores(Half.HELD_OUT)
    total = len(lines())
    for kind in held_out:
        yield Measured(
            Figure(
                subject="redaction",
                what=f"{kind}: exact matches in a labelled set of {total} lines",
                measured=f"held out: {_told(held_out[kind])}",
                note=f"tuned on: {_told(tuned[kind])}",
            )
        )


def _told(score: Score) -> str:
    marked = score.right + score.missed
    return f"precision {score.precision:.2f}, recall {score.recall:.2f} of {marked}"


def speed(scene: Scene) -> Measuring:
    """Run every detector over texts as long as messages."""
    detection = detectors_for(ALL, {"Ada Lovelace", "Jürgen Müller", "王小明"})
    wanted = CHARACTERS_QUICK if scene.quick else CHARACTERS
    if CORPORA.is_dir():
        source = scene.words.source
        texts = [scene.words.take(TEXT_CHARACTERS) for _ in range(wanted // TEXT_CHARACTERS)]
    else:
        source = "the labelled set, repeated"
        once = [line.read()[0] for line in lines()]
        texts = once * (wanted // sum(map(len, once)) + 1)
    characters = sum(map(len, texts))

    def work() -> int:
        return sum(len(scan(text, detection.detectors).findings) for text in texts)

    rates = []
    for _ in range(ROUNDS):
        cpu = time.process_time()
        work()
        rates.append(characters / (time.process_time() - cpu))
    rate = spread(rates)
    detectors = sum(len(one.detectors) for one in coverage_of(detection))
    yield Measured(
        Figure(
            subject="redaction",
            what=f"all {detectors} detectors over {characters:,} characters",
            target=f">= {CHARACTERS_PER_CPU_SECOND_MIN:,} characters per CPU-second",
            measured=ranged(rate, "characters per CPU-second", 0),
            met=at_least(rate.median, CHARACTERS_PER_CPU_SECOND_MIN),
            note=source,
        ),
        work,
    )
