"""The picture of the README: what happens to a turn, from its commit to the check of an export."""

from __future__ import annotations

from collections.abc import Iterator

from tests.pictures.drawing import PADDING, SMALL, TITLE, Tone, arrow, box, picture, rectangle, text

LEFT, MARGIN, COLUMN, GAP = 38, 20, 184, 26
WIDTH = LEFT + 4 * COLUMN + 3 * GAP + MARGIN
WIDE = (3 * COLUMN + GAP) / 2  # two boxes where three columns are
TALL, LOW = 106, 78  # heights of boxes
COMMIT, PROVE, GOVERN = 86, 272, 408  # where the boxes of the three lanes begin
HEIGHT = 506

TITLE_WORDS = "The life of a turn"
TOLD = (
    "A committed turn is validated and decided about. It becomes one event: a header with salted commitments, sealed "
    "meta and sealed content. One SQLite transaction and one fsync make it durable. The hash of the header is a leaf "
    "of a Merkle tree, a checkpoint is signed, and a pin of it is kept outside the store. Later events redact, mask or "
    "hold the turn. A view shows what its policy allows. Erasing destroys the key of the content, and every proof "
    "holds. Anyone with the public key verifies an export."
)


def life() -> str:
    """Return the picture."""
    return picture(TITLE_WORDS, TOLD, (WIDTH, HEIGHT), _shapes())


def _column(number: int) -> float:
    return LEFT + number * (COLUMN + GAP)


def _shapes() -> Iterator[str]:
    yield text((LEFT, 34), TITLE_WORDS, TITLE, bold=True)
    yield from _commit()
    top = PROVE - 32
    yield rectangle((_column(3) - 11, top), (COLUMN + 22, HEIGHT - top - 9), Tone.OUTSIDE, dashed=True)
    yield text((_column(3), PROVE - 12), "OUTSIDE THE STORE", SMALL, "accent", bold=True)
    yield from _prove()
    yield from _govern()


def _lane(top: float, name: str, words: str) -> Iterator[str]:
    yield text((LEFT, top - 12), name, SMALL, "accent", bold=True)
    yield text((LEFT + 66, top - 12), words, ink="faint")


def _row(top: float, height: float, columns: range) -> Iterator[str]:
    """Join the boxes in neighbouring columns by arrows."""
    for number in columns:
        yield from arrow((_column(number) + COLUMN, top + height / 2), (_column(number + 1), top + height / 2))


def _commit() -> Iterator[str]:
    yield from _lane(COMMIT, "COMMIT", "When commit returns, the turn survives a power loss.")
    size = (COLUMN, TALL)
    turn = ["messages of the user,", "answer, tool calls,", "references of the host"]
    yield from box((_column(0), COMMIT), size, "1  Turn committed", turn)
    yield from box((_column(1), COMMIT), size, "2  Validate, decide", ["limits and rights;", "which messages are kept"])
    yield from box((_column(2), COMMIT), size, "3  One event", [])
    parts = [("header: commitments", Tone.PUBLIC), ("meta, sealed", Tone.SEALED), ("content, sealed", Tone.SEALED)]
    for number, (words, tone) in enumerate(parts):
        x, y = _column(2) + PADDING, COMMIT + 31 + 23 * number
        yield rectangle((x, y), (COLUMN - 2 * PADDING, 20), tone)
        yield text((x + 8, y + 14), words)
    durable = ["one SQLite transaction,", "one fsync, then the", "receipt"]
    yield from box((_column(3), COMMIT), size, "4  Durable", durable)
    yield from _row(COMMIT, TALL, range(3))


def _prove() -> Iterator[str]:
    yield from _lane(PROVE, "PROVE", "Nothing is changed, removed, inserted or reordered unnoticed.")
    middle, size, second = PROVE + LOW / 2, (WIDE, LOW), LEFT + WIDE + GAP
    tree = ["Its leaves are the hashes of the headers.", "No ciphertext is in it."]
    yield from box((LEFT, PROVE), size, "5  Merkle tree", tree, Tone.PUBLIC)
    signed = ["Size and root of the log,", "signed with Ed25519."]
    yield from box((second, PROVE), size, "6  Signed checkpoint", signed, Tone.PUBLIC)
    pinned = ["the last checkpoint:", "a rollback is noticed"]
    yield from box((_column(3), PROVE), (COLUMN, LOW), "7  Pin", pinned)
    yield from arrow((LEFT + WIDE, middle), (second, middle))
    yield from arrow((second + WIDE, middle), (_column(3), middle))
    header, bend, around = _column(2) + COLUMN / 2, COMMIT + TALL + 26, LEFT - 18
    yield from arrow((header, COMMIT + TALL), (header, bend), (around, bend), (around, middle), (LEFT, middle))
    yield text((LEFT + 4, bend - 6), "the hash of the header", ink="faint")


def _govern() -> Iterator[str]:
    yield from _lane(GOVERN, "GOVERN", "What happens to a turn is an event, too. Nothing is edited.")
    size = (COLUMN, LOW)
    yield from box((_column(0), GOVERN), size, "8  Later events", ["redact, mask, archive,", "hold, erase"])
    yield from box((_column(1), GOVERN), size, "9  A view", ["shows what it may, and", "why the rest is withheld"])
    erased = ["the key of the content is", "destroyed, proofs hold"]
    yield from box((_column(2), GOVERN), size, "10  Erase", erased, Tone.WARNING)
    verified = ["checked by anyone with", "the public key"]
    yield from box((_column(3), GOVERN), size, "11  Export", verified)
    yield from _row(GOVERN, LOW, range(3))
