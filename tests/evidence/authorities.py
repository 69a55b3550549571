"""Timestamp authorities: one made by hand that can do anything wrong, served over HTTP on loopback."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from muniment.evidence.verifier import parse_der

NOW = datetime(2026, 6, 15, 12, 0, 0, tzinfo=UTC)
SHA256 = "2.16.840.1.101.3.4.2.1"
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey


# --- DER --------------------------------------------------------------------------------------------------------------


def der(tag: int, *content: bytes) -> bytes:
    body = b"".join(content)
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + body


def oid(dotted: str) -> bytes:
    first, second, *rest = map(int, dotted.split("."))
    encoded = b""
    for arc in (40 * first + second, *rest):
        septets = [arc & 0x7F]
        while arc := arc >> 7:
            septets.append(arc & 0x7F | 0x80)
        encoded += bytes(reversed(septets))
    return der(0x06, encoded)


def integer(value: int) -> bytes:
    return der(0x02, value.to_bytes(value.bit_length() // 8 + 1))


def algorithm(dotted: str) -> bytes:
    return der(0x30, oid(dotted))


# --- certificates -----------------------------------------------------------------------------------------------------


class Certified(NamedTuple):
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: Key

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()


class Purposes(NamedTuple):
    """What a certificate is for."""

    names: list[x509.ObjectIdentifier]
    critical: bool = True
    more: tuple[x509.ExtensionType, ...] = ()  # critical extensions beside


LEAF = x509.BasicConstraints(ca=False, path_length=None)
ANY_CA = x509.BasicConstraints(ca=True, path_length=None)


def certified(
    name: str,
    issuer: Certified | None = None,
    *,
    purposes: Purposes | None = None,
    basic: x509.BasicConstraints = LEAF,
    years: tuple[int, int] = (-1, 1),
    key: Key | None = None,
) -> Certified:
    own = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.certificate.subject)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + timedelta(days=365 * years[0]))
        .not_valid_after(NOW + timedelta(days=365 * years[1]))
        .add_extension(basic, critical=True)
    )
    if purposes is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes.names), critical=purposes.critical)
        for extension in purposes.more:
            builder = builder.add_extension(extension, critical=True)
    return Certified(builder.sign(own if issuer is None else issuer.key, hashes.SHA256()), own)


STAMPS = Purposes([ExtendedKeyUsageOID.TIME_STAMPING])


class Authority:
    """A timestamp authority; what it does wrong is set on it."""

    def __init__(self, signer: Certified, chain: list[Certified] | None = None) -> None:
        self.signer = signer
        self.chain = chain or []
        self.time = NOW
        self.nonce_added = 0
        self.imprint: bytes | None = None  # of something else than what was asked for
        self.status = 0
        self.names_signer = True
        self.info_changed = False
        self.asked = 0
        self.version = 1
        self.time_text = ""
        self.scheme = ""  # of the signature, instead of the one that it has
        self.attributes_added: list[bytes] = []

    def answer(self, request: bytes) -> bytes:
        """Return the TimeStampResp to a TimeStampReq."""
        self.asked += 1
        if self.status > 1:
            return der(0x30, der(0x30, integer(self.status)))
        _, imprint, *options = parse_der(request).items()
        nonce = next(int.from_bytes(one.content) for one in options if one.tag == 0x02)
        return der(0x30, der(0x30, integer(self.status)), self.token(imprint.items()[1].content, nonce))

    def token(self, digest: bytes, nonce: int = 1) -> bytes:
        """Return the TimeStampToken over a SHA-256."""
        digest = self.imprint or digest
        info = der(
            0x30,
            integer(self.version),
            oid("1.2.3.4"),
            der(0x30, algorithm(SHA256), der(0x04, digest)),
            integer(7),
            der(0x18, (self.time_text or self.time.strftime("%Y%m%d%H%M%SZ")).encode()),
            integer(nonce + self.nonce_added),
        )
        named = hashlib.sha256(self.signer.der if self.names_signer else b"another").digest()
        attributes = [
            der(0x30, oid("1.2.840.113549.1.9.3"), der(0x31, oid("1.2.840.113549.1.9.16.1.4"))),
            der(0x30, oid("1.2.840.113549.1.9.4"), der(0x31, der(0x04, hashlib.sha256(info).digest()))),
            der(
                0x30,
                oid("1.2.840.113549.1.9.16.2.47"),
                der(0x31, der(0x30, der(0x30, der(0x30, der(0x04, named))))),
            ),
        ]
        signed = der(0x31, *sorted(attributes + self.attributes_added))
        if self.info_changed:
            info = info.replace(b"20260615", b"20250615")
        signer = der(
            0x30,
            integer(1),
            der(0x30, self.signer.certificate.issuer.public_bytes(), integer(self.signer.certificate.serial_number)),
            algorithm(SHA256),
            b"\xa0" + signed[1:],
            *self._signature(signed),
        )
        certificates = der(0xA0, *(one.der for one in (self.signer, *self.chain)))
        content = der(0x30, oid("1.2.840.113549.1.9.16.1.4"), der(0xA0, der(0x04, info)))
        body = der(0x30, integer(3), der(0x31, algorithm(SHA256)), content, certificates, der(0x31, signer))
        return der(0x30, oid("1.2.840.113549.1.7.2"), der(0xA0, body))

    def _signature(self, signed: bytes) -> tuple[bytes, bytes]:
        key = self.signer.key
        if self.scheme:
            return algorithm(self.scheme), der(0x04, bytes(64))
        if isinstance(key, ed25519.Ed25519PrivateKey):
            return algorithm("1.3.101.112"), der(0x04, key.sign(signed))
        if isinstance(key, ed448.Ed448PrivateKey):
            return algorithm("1.3.101.112"), der(0x04, key.sign(signed))
        if isinstance(key, rsa.RSAPrivateKey):
            return algorithm("1.2.840.113549.1.1.11"), der(0x04, key.sign(signed, PKCS1v15(), hashes.SHA256()))
        return algorithm("1.2.840.10045.4.3.2"), der(0x04, key.sign(signed, ec.ECDSA(hashes.SHA256())))


@contextmanager
def served(answer: Authority, code: int = 200, bytes_added: int = 0) -> Iterator[str]:
    """Serve an authority on loopback; give its URL."""

    class Reply(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/timestamp-query"
            body = answer.answer(request) + bytes(bytes_added)
            self.send_response(code)
            if code == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Reply)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/stamp?x=1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
