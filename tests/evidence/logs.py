"""Small logs in memory, made by the product's own code, for laws that hold of any log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET

from muniment.evidence import header, tree
from muniment.evidence.bundle import AnnouncedSigner, BundleHead, bundle, event_line, receipt
from muniment.evidence.notes import Signer, origin_of
from muniment.evidence.verifier import VerifierKey, leaf_hash, open_announcement, signer_line
from muniment.kernel.canonical import encode
from muniment.kernel.digest import b64url
from muniment.kernel.sources import seeded_sources

Fields = dict[str, object]


class Rows:
    """Stored hashes, as a store would keep them."""

    def __init__(self) -> None:
        self.frontier = tree.Frontier()
        self.levels: dict[int, list[bytes]] = {0: []}
        self.reads = 0

    def append(self, leaves: Sequence[bytes]) -> None:
        self.frontier, nodes = tree.extend(self.frontier, leaves)
        self.levels[0] += leaves
        for node in nodes:
            row = self.levels.setdefault(node.level, [])
            assert len(row) == node.index
            row.append(node.hash)

    def hashes(self, level: int, first: int, count: int) -> list[bytes]:
        self.reads += 1
        return self.levels[level][first : first + count]


def rows(leaves: Iterable[bytes]) -> Rows:
    made = Rows()
    made.append(list(leaves))
    return made


def numbered(size: int) -> list[bytes]:
    return [leaf_hash(str(number).encode()) for number in range(size)]


class Log:
    """A log of one space: a stream for the space, streams for conversations, all fields disclosable."""

    def __init__(self, seed: str = "log") -> None:
        sources = seeded_sources(seed)
        self.sources = sources
        self.id = sources.ids.new_id()
        self.signer = Signer(origin_of(self.id), sources.entropy.take(32))
        self.announced: list[str] = []
        self.rows = Rows()
        self.headers: list[header.Header] = []
        self.exact: list[bytes] = []
        self.disclosures: list[dict[str, str]] = []
        self._heads: dict[int, tuple[int, int, str | None]] = {}
        self.append("space.opened", 0, {"space": "home"})

    @property
    def size(self) -> int:
        return len(self.exact)

    def append(
        self, kind: str, stream: int, fields: Fields, *, refs: dict[str, int] | None = None, reason: str | None = None
    ) -> int:
        seq, turns, prev = self._heads.get(stream, (0, 0, None))
        seed = self.sources.entropy.take(32)
        values = [(label, encode(value)) for label, value in fields.items()]
        is_turn, refs = kind == "turn.committed", dict(refs or {})
        turns += is_turn
        changes = stream != 0 and kind not in {"turn.committed", "conversation.opened"}
        target = refs.pop("turn", 0)
        made = header.Header(
            fields=header.commit_fields(seed, values),
            kind=kind,
            log=self.id,
            pos=self.size,
            prev=prev,
            reason=reason,
            refs=refs,
            seq=seq + 1,
            stream=stream,
            t=self.sources.clock.now_ms(),
            entry={"turn": turns} if is_turn else UNSET,
            opens=kind.partition(".")[0] if seq == 0 else UNSET,
            target=target if changes else UNSET,
        )
        exact = header.encode(made)
        self.headers.append(made)
        self.exact.append(exact)
        self.disclosures.append({label: header.disclose(seed, label, value) for label, value in values})
        self._heads[stream] = (seq + 1, turns, b64url(leaf_hash(exact)))
        self.rows.append([leaf_hash(exact)])
        return made.pos

    def converse(self, words: Iterable[str]) -> int:
        stream = self.append("conversation.opened", self.size, {"conversation": {"id": "c"}})
        for word in words:
            self.append("turn.committed", stream, {"actor": "agent", "message/0/content/0": {"text": word}})
        return stream

    def certify(self, stream: int, view: str = "export", **more: int) -> int:
        refs = {"stream": stream, "through": self._heads.get(stream, (0, 0, None))[0], **more}
        return self.append("export.issued", 0, {"export": {"view": view}}, refs=refs)

    def checkpoint(self) -> str:
        return self.signer.sign_checkpoint(self.signer.key.name, self.size, self.rows.frontier.root())

    def announcement(self, key: VerifierKey, version: int | None = None) -> str:
        """Return the note by which the present key announces another, here and now."""
        line = signer_line(version or len(self.announced) + 2, self.signer.key, key)
        return self.signer.sign_checkpoint(self.signer.key.name, self.size, self.rows.frontier.root(), [line])

    def succeeded(self, life: str | None = None) -> Log:
        """Let another key sign from here on; with a life, under another origin."""
        name = self.signer.key.name if life is None else origin_of(self.id, life)
        new = Signer(name, self.sources.entropy.take(32))
        self.announced.append(self.announcement(new.key))
        self.signer = new
        self.append("signer.announced", 0, {"announcement": self.announced[-1]})
        return self

    def signers(self) -> list[AnnouncedSigner]:
        sizes = [open_announcement(note).checkpoint.size for note in self.announced]
        proofs = [tree.consistency_proof(self.rows, size, self.size) for size in sizes]
        return [AnnouncedSigner(note=n, consistency=p) for n, p in zip(self.announced, proofs, strict=True)]

    def export(
        self,
        *streams: int,
        certificates: Iterable[int] = (),
        withhold: Iterable[str] = (),
        before: int | None = None,
        after: int = -1,
        view: str = "export",
    ) -> list[bytes]:
        """Return a bundle under the newest checkpoint, with the events of the streams between two positions."""
        held = [made for made in self.headers if made.stream in streams and after < made.pos < (before or self.size)]
        chosen = sorted({made.pos for made in held} | set(certificates))
        hidden = set(withhold)
        events = [
            (pos, event_line(self.exact[pos], {k: v for k, v in self.disclosures[pos].items() if k not in hidden}))
            for pos in chosen
        ]
        ranges: dict[int, tuple[int, int]] = {}
        for made in held:
            ranges[made.stream] = ranges.get(made.stream, (made.seq, 0))[0], made.seq
        life = self.signer.key.name.removeprefix(origin_of(self.id)).removeprefix("/")
        head = BundleHead(log=self.id, size=self.size, streams=ranges, export={"view": view}, life=life)
        return list(bundle(head, events, self.rows, self.checkpoint(), signers=self.signers()))

    def receipt(self, position: int) -> bytes:
        line = event_line(self.exact[position], self.disclosures[position])
        proof = tree.inclusion_proof(self.rows, position, self.size)
        return receipt(line, position, proof, self.checkpoint(), self.signers()).encode()
