"""A small witness that holds to the rules of C2SP tlog-witness, on loopback; and what it can be made to do wrong.

Written from the text of the specification; it shares the verifier's arithmetic of proofs with the product, which public
vectors check, and none of the product's code for witnesses.
"""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from muniment.evidence.verifier import Refused, VerifierKey, open_note, parse_checkpoint, verify_consistency

NAME = "witness.example/w1"
TIME_S = 1_800_000_000


class LoopbackWitness:
    """Knows logs by their origin and key, and the last checkpoint that it cosigned of each."""

    def __init__(self, *logs: VerifierKey, seed: bytes = bytes(32), name: str = NAME) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(seed)
        self._name = name
        self._logs = {key.name: key for key in logs}
        self.known: dict[str, tuple[int, bytes]] = {}
        self.requests: list[bytes] = []
        self.time_s = TIME_S

    @property
    def vkey(self) -> str:
        """The public key."""
        typed = b"\x04" + self._private.public_key().public_bytes_raw()
        return f"{self._name}+{self._key_id(typed).hex()}+{base64.b64encode(typed).decode()}"

    def _key_id(self, typed: bytes) -> bytes:
        return hashlib.sha256(self._name.encode() + b"\n" + typed).digest()[:4]

    def line(self, text: str) -> str:
        """Return a cosignature of the text of a checkpoint, as a signature line."""
        typed = b"\x04" + self._private.public_key().public_bytes_raw()
        message = f"cosignature/v1\ntime {self.time_s}\n{text}".encode()
        signature = self._key_id(typed) + self.time_s.to_bytes(8) + self._private.sign(message)
        return f"\N{EM DASH} {self._name} {base64.b64encode(signature).decode()}\n"

    def answer(self, body: bytes) -> tuple[int, bytes]:
        """Answer one request: status and body."""
        self.requests.append(body)
        head, _, note = body.decode().partition("\n\n")
        word, *lines = head.split("\n")
        old, proof = int(word.removeprefix("old ")), [base64.b64decode(line) for line in lines]
        checkpoint = parse_checkpoint(note.partition("\n\n")[0] + "\n")
        key = self._logs.get(checkpoint.origin)
        if key is None:
            return 404, b""
        try:
            text, _ = open_note(note, [key])
        except Refused:
            return 403, b"invalid signature"
        if old > checkpoint.size:
            return 400, b""
        size, root = self.known.get(checkpoint.origin, (0, b""))
        if old != size or (old == checkpoint.size and root != checkpoint.root):
            return 409, f"{size}\n".encode()
        try:
            if old:
                verify_consistency(old, checkpoint.size, proof, root, checkpoint.root)
            elif proof:
                return 422, b"consistency proof"
        except Refused:
            return 422, b"consistency proof"
        self.known[checkpoint.origin] = (checkpoint.size, checkpoint.root)
        return 200, self.line(text).encode()


class Hanging(LoopbackWitness):
    """Takes a request and never answers, until it is let go."""

    def __init__(self, *logs: VerifierKey) -> None:
        super().__init__(*logs)
        self.let_go = threading.Event()

    def answer(self, body: bytes) -> tuple[int, bytes]:
        """Wait."""
        self.let_go.wait()
        return super().answer(body)


class Saying(LoopbackWitness):
    """Answers what it was told to, whatever it is asked."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__()
        self._said = status, body

    def answer(self, body: bytes) -> tuple[int, bytes]:
        """Return what it was told to."""
        self.requests.append(body)
        return self._said


@contextmanager
def served(witness: LoopbackWitness) -> Iterator[str]:
    """Serve a witness on loopback; give the URL that its requests begin with."""

    class Reply(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, answer = (404, b"") if self.path != "/w1/add-checkpoint" else witness.answer(body)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/w1/add-checkpoint")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Reply)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/w1"
    finally:
        if isinstance(witness, Hanging):
            witness.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()
