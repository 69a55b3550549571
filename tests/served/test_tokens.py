"""Tokens of an issuer: who they make a caller, and what is refused. The issuer is a real server on this machine."""

from __future__ import annotations

import contextlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.utils import base64url_encode
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from muniment.errors import FileUnavailable, InvalidInput, IssuerUnavailable, NotAuthenticated
from muniment.governance.client_scope import ClientScope
from muniment.kernel.sources import system_sources
from muniment.runtime.catalogue import catalogue
from muniment.transports.http import issuer_keys
from muniment.transports.http.http_app import HttpSetup, http_app
from muniment.transports.http.issuer_keys import DISCOVERY, FRESH_S, KEYS_MAX, RETRY_S, IssuerKeys, JwksFile, keys_of
from muniment.transports.http.serving import Listener, ServeOptions
from muniment.transports.http.token_metadata import PATH as METADATA
from muniment.transports.http.tokens import LEEWAY_S, TOKEN_CHARS_MAX, TokenOptions, Tokens
from tests.cli.shell import Shell
from tests.served.conftest import EVERYTHING
from tests.served.test_mcp import FEATURED, mounts
from tests.worlds import World, memory_world

AUDIENCE = "https://memory.example/mcp"
RSA, OTHER = (rsa.generate_private_key(public_exponent=65_537, key_size=2048) for _ in range(2))
EC, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
KEYS: dict[str, tuple[Any, str]] = {"rsa": (RSA, "RS256"), "ec": (EC, "ES256"), "ed": (ED, "EdDSA")}


def public(key: Any, name: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the public half of a key as an issuer publishes it."""
    algorithm = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    kind: Any = next((made for known, made in algorithm.items() if isinstance(key, known)), OKPAlgorithm)
    found: dict[str, Any] = json.loads(kind.to_jwk(key.public_key()))
    return found | ({} if name is None else {"kid": name}) | more


class Issuer:
    """An issuer of tokens; `keys` are those that it publishes, `asked` counts requests for them."""

    def __init__(self) -> None:
        self.keys: Any = {"keys": [public(key, name) for name, (key, _) in KEYS.items()]}
        self.described: dict[str, Any] = {}
        self.asked = 0
        issuer = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = {DISCOVERY: issuer.described, "/keys": issuer.keys}
                issuer.asked += self.path == "/keys"
                body = known.get(self.path)
                self.send_response(404 if body is None else 200)
                self.end_headers()
                self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.described = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}

    def token(self, subject: Any = "desk", key: str = "rsa", head: dict[str, Any] | None = None, **claims: Any) -> str:
        """Return a token; a claim that is None is left out."""
        signer, algorithm = KEYS[key]
        said = {"iss": self.url, "aud": AUDIENCE, "sub": subject, "exp": int(time.time()) + 60} | claims
        told = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(told, signer, algorithm, headers={"kid": key} | (head or {}))


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


@pytest.fixture
def tokens(issuer: Issuer) -> Tokens:
    made = TokenOptions(issuer=issuer.url, audience=AUDIENCE).verifier()
    assert made is not None
    return made


# --- what is taken ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
def test_a_token_names_a_client(issuer: Issuer, tokens: Tokens, key: str) -> None:
    assert tokens.client_name(issuer.token("desk", key)) == "desk"
    assert tokens.client_name(issuer.token("desk", key, aud=["elsewhere", AUDIENCE])) == "desk"
    late = int(time.time()) - LEEWAY_S // 2
    assert tokens.client_name(issuer.token("desk", key, exp=late)) == "desk"


def test_any_claim_may_name_the_client(issuer: Issuer) -> None:
    by_role = TokenOptions(issuer=issuer.url, audience=AUDIENCE, client_claim="azp").verifier()
    assert by_role is not None
    assert by_role.client_name(issuer.token("somebody", azp="desk")) == "desk"


def wrong_tokens(issuer: Issuer) -> dict[str, str]:
    """Return tokens that are refused, each by what is wrong with it."""
    now, good = int(time.time()), issuer.token()
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = jwt.decode(good, options={"verify_signature": False})
    head, body, signature = good.split(".")
    unsigned = jwt.encode(claims, None, "none", headers={"kid": "rsa"})  # type: ignore[arg-type]  # as it is made
    forged = jwt.encode(claims, OTHER, "RS256", headers={"kid": "rsa"})
    signed = b".".join(map(base64url_encode, (b'{"alg":"HS256","kid":"rsa","typ":"JWT"}', json.dumps(claims).encode())))
    confused = signed + b"." + base64url_encode(hmac.digest(pem, signed, "sha256"))
    return {
        "expired": issuer.token(exp=now - LEEWAY_S - 5),
        "not yet": issuer.token(nbf=now + LEEWAY_S + 60),
        "without an end": issuer.token(exp=None),
        "an end that is none": issuer.token(exp="soon"),
        "another audience": issuer.token(aud="https://elsewhere.example"),
        "no audience": issuer.token(aud=None),
        "another issuer": issuer.token(iss="https://elsewhere.example"),
        "no issuer": issuer.token(iss=None),
        "issued later": issuer.token(iat=now + LEEWAY_S + 60),
        "no client": issuer.token(subject=None),
        "a client that is no name": jwt.encode(claims | {"sub": ["desk"]}, RSA, "RS256", headers={"kid": "rsa"}),
        "an unknown key": issuer.token(head={"kid": "no-such"}),
        "no key named": jwt.encode(claims, RSA, "RS256"),
        "another kind of key": issuer.token(head={"kid": "ec"}),
        "another signer": forged,
        "unsigned": unsigned,
        "unsigned, signature cut off": f"{unsigned.split('.')[0]}.{body}.",
        "a public key as a secret": confused.decode(),
        "changed": f"{head}.{jwt.encode({**claims, 'sub': 'owner'}, OTHER, 'RS256').split('.')[1]}.{signature}",
        "critical": issuer.token(head={"crit": ["unheard-of"], "unheard-of": 1}),
        "cut off": good[:-10],
        "no token": "abc",
        "empty parts": "..",
        "not ascii": good + "é",
        "too long": issuer.token(more="x" * TOKEN_CHARS_MAX),
        "deep": f"{head}.{base64url_encode(b'[' * 9_000).decode()}.{signature}",
    }


def test_anything_else_is_refused_without_saying_why(issuer: Issuer, tokens: Tokens) -> None:
    told = set()
    for what, token in wrong_tokens(issuer).items():
        try:
            pytest.fail(f"{what}: {tokens.client_name(token)}")
        except NotAuthenticated as refused:
            told.add(str(refused))
    assert len(told) == 1


def test_a_key_is_for_the_algorithm_that_it_is_said_to_be_for(issuer: Issuer, tokens: Tokens) -> None:
    issuer.keys = {"keys": [public(RSA, "rsa", alg="RS512")]}
    with pytest.raises(NotAuthenticated):
        tokens.client_name(issuer.token())
    issuer.keys = {"keys": [public(RSA, "rsa", alg="RS256"), public(EC, "ec", alg="HS256")]}
    fresh = TokenOptions(issuer=issuer.url, audience=AUDIENCE).verifier()
    assert fresh is not None
    assert fresh.client_name(issuer.token()) == "desk"
    with pytest.raises(NotAuthenticated):
        fresh.client_name(issuer.token(key="ec"))


# --- where keys come from ---------------------------------------------------------------------------------------------


def test_the_issuer_is_asked_rarely(issuer: Issuer) -> None:
    """Keys are kept; invented ones make no traffic; a new one is found; what is known outlives an outage."""
    now = [1000.0]
    keys = IssuerKeys(issuer.url, lambda: now[0])
    for name in ("rsa", "ec", *(f"invented-{number}" for number in range(50))):
        keys.find(name)
    assert issuer.asked == 1
    issuer.keys = {"keys": [public(OTHER, "new")]}
    assert keys.find("new") is None
    now[0] += RETRY_S
    assert keys.find("new") is not None
    assert (keys.find("rsa"), issuer.asked) == (None, 2)
    issuer.keys = b"{"
    now[0] += FRESH_S
    assert keys.find("new") is not None
    assert issuer.asked == 3


PRIVATE_HALF = json.loads(RSAAlgorithm.to_jwk(RSA))
NO_KEYS: list[Any] = [
    b"{", b"[]", b"null", b"\xff", b"x" * 300_000, {}, {"keys": []}, {"keys": "x"}, {"keys": [{}]},
    {"keys": [{"kty": "oct", "k": "AA"}]}, {"keys": [public(RSA) | {"use": "enc"}]}, {"keys": [PRIVATE_HALF]},
    {"keys": [{"kty": "RSA", "n": "?", "e": "?"}]}, {"keys": [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}]},
]  # fmt: skip


@pytest.mark.parametrize("published", NO_KEYS, ids=range(len(NO_KEYS)))
def test_keys_that_are_none_open_nothing(issuer: Issuer, tokens: Tokens, published: Any) -> None:
    issuer.keys = published
    with pytest.raises(IssuerUnavailable):
        tokens.client_name(issuer.token())


def test_an_issuer_answers_for_itself(issuer: Issuer) -> None:
    keys = f"{issuer.url}/keys"
    wrong: list[Any] = [
        {"issuer": "https://elsewhere.example", "jwks_uri": keys}, {"jwks_uri": keys}, {"issuer": issuer.url}, [], None,
        *({"issuer": issuer.url, "jwks_uri": uri} for uri in ("file:///etc/passwd", "http://192.0.2.1/keys", 7)),
    ]  # fmt: skip
    for described in wrong:
        issuer.described = described
        with pytest.raises(IssuerUnavailable):
            IssuerKeys(issuer.url).find("rsa")
    assert issuer.asked == 0


def test_of_one_key_none_needs_to_be_named(tmp_path: Path, issuer: Issuer) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [public(RSA)]}))
    verifier = TokenOptions(issuer=issuer.url, audience=AUDIENCE, jwks=str(path)).verifier()
    assert verifier is not None
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "desk", "exp": int(time.time()) + 60}
    assert verifier.client_name(jwt.encode(claims, RSA, "RS256")) == "desk"
    assert issuer.asked == 0


def test_a_set_of_keys_is_bounded_and_has_one(tmp_path: Path) -> None:
    many = [public(EC, f"k-{number}") for number in range(KEYS_MAX + 9)]
    assert len(keys_of(json.dumps({"keys": many}).encode())) == KEYS_MAX
    (tmp_path / "none.json").write_text("{}")
    for path, error in ((tmp_path / "none.json", InvalidInput), (tmp_path / "missing", FileUnavailable)):
        with pytest.raises(error):
            JwksFile(str(path))
    assert issuer_keys.BYTES_MAX < 1 << 20


@pytest.mark.parametrize(
    ("options", "at"),
    [
        (TokenOptions(audience=AUDIENCE), "audience"),
        (TokenOptions(jwks="keys.json"), "jwks"),
        (TokenOptions(issuer="https://issuer.example"), "audience"),
        (TokenOptions(issuer="", audience=AUDIENCE), "issuer"),
        (TokenOptions(issuer="http://issuer.example", audience=AUDIENCE), "issuer"),
        (TokenOptions(issuer="https://a@issuer.example", audience=AUDIENCE), "issuer"),
        (TokenOptions(issuer="ftp://localhost", audience=AUDIENCE), "issuer"),
        (TokenOptions(issuer="https://[", audience=AUDIENCE), "issuer"),
        (TokenOptions(issuer="https://issuer.example", audience=AUDIENCE, client_claim=""), "client_claim"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: TokenOptions, at: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        options.verifier()
    assert refused.value.at == at


def test_nothing_is_taken_unless_it_was_asked_for() -> None:
    assert TokenOptions().verifier() is None


# --- served -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def taking(world: World, tokens: Tokens) -> Iterator[str]:
    """Serve a world that takes tokens, with MCP."""
    listener = Listener(ServeOptions(port=0))
    app = http_app(world.runtime, catalogue(), system_sources(), HttpSetup(mounts=mounts, tokens=tokens))
    server = listener.server(app)
    thread = threading.Thread(target=listener.serve, args=[server], daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listener.url
    finally:
        server.should_exit = True
        thread.join()


def test_a_token_is_as_good_as_the_key_of_its_client_and_no_better(issuer: Issuer, tokens: Tokens) -> None:
    """Over /v1 and /mcp alike; the scope comes from the store, whatever the token says; other tokens open nothing."""
    with contextlib.closing(memory_world().with_turns(1)) as world, taking(world, tokens) as url:
        clients = world.runtime.clients
        key = clients.create("desk", ClientScope()).key
        world.runtime.space("other").clients.create("elsewhere", EVERYTHING)
        token = issuer.token("desk", scope="admin erase", scp=["admin"], roles=["owner"])

        def status(path: str, bearer: str) -> int:
            return httpx2.post(f"{url}{path}", json={}, headers={"Authorization": f"Bearer {bearer}"}).status_code

        for bearer in (key, token):
            assert status("/v1/system/capabilities", bearer) == 200
            assert status("/v1/clients/list", bearer) == 403
            assert tools_of(url, bearer) == FEATURED - {"memory_remember", "memory_forget"}
        for bearer in (issuer.token("nobody"), issuer.token("elsewhere"), issuer.token(""), *wrong_bearers(issuer)):
            assert status("/v1/system/capabilities", bearer) == status("/mcp", bearer) == 401
        clients.revoke("desk")
        assert status("/v1/system/capabilities", token) == 401


def wrong_bearers(issuer: Issuer) -> list[str]:
    """Return tokens that are refused and that a header can hold."""
    return [token for token in wrong_tokens(issuer).values() if token.isascii() and len(token) < TOKEN_CHARS_MAX]


def tools_of(url: str, bearer: str) -> set[str]:
    """Return the tools that MCP offers to a bearer."""

    async def run() -> set[str]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {bearer}"}) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            return {tool.name for tool in (await client.list_tools()).tools}

    return anyio.run(partial(run))


def test_whoever_has_no_token_is_told_where_to_get_one(issuer: Issuer, tokens: Tokens) -> None:
    with contextlib.closing(memory_world()) as world, taking(world, tokens) as url:
        refused = httpx2.post(f"{url}/mcp", json={})
        named = f"https://memory.example{METADATA}/mcp"
        assert refused.headers["www-authenticate"] == f'Bearer realm="muniment", resource_metadata="{named}"'
        for path in (METADATA, f"{METADATA}/mcp"):
            assert httpx2.get(f"{url}{path}").json() == {
                "resource": AUDIENCE, "authorization_servers": [issuer.url], "bearer_methods_supported": ["header"],
                "resource_name": "muniment",
            }  # fmt: skip
    by_name = TokenOptions(issuer=issuer.url, audience="muniment").verifier()
    assert by_name is not None
    with contextlib.closing(memory_world()) as world, taking(world, by_name) as url:
        assert httpx2.get(f"{url}{METADATA}").status_code == 404
        assert "resource_metadata" not in httpx2.post(f"{url}/mcp", json={}).headers["www-authenticate"]


def test_an_issuer_that_does_not_answer_is_said_to(issuer: Issuer, tokens: Tokens) -> None:
    issuer.described = {}
    with contextlib.closing(memory_world()) as world, taking(world, tokens) as url:
        headers = {"Authorization": f"Bearer {issuer.token()}"}
        answer = httpx2.post(f"{url}/v1/system/capabilities", json={}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (503, "access.issuer_unavailable")


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    ran = Shell(tmp_path).run("serve", "--issuer", "https://issuer.example", "--port", "0")
    assert ran.code == 2
    assert "audience" in ran.err
    assert "--issuer" in Shell(tmp_path).run("serve", "--audience", "x", "--port", "0").err
