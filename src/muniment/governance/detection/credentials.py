"""Credentials with a recognisable form: JSON web tokens, private keys, API keys of well-known vendors."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from muniment.governance.detection.scan import TextSpan

# --- JSON web tokens (RFC 7519): the header decodes to an object with an algorithm ------------------------------------

PARTS_SIGNED, PARTS_ENCRYPTED = 3, 5
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,4096}(?:\.[A-Za-z0-9_-]{0,16384}){2,4}(?![A-Za-z0-9_-])")


def web_tokens(text: str) -> Iterator[TextSpan | None]:
    """Find signed and encrypted JSON web tokens."""
    if "eyJ" in text:
        for match in _JWT.finditer(text):
            parts = match.group().split(".")
            header = token_header(parts[0])
            if "alg" in header:
                encrypted = len(parts) == PARTS_ENCRYPTED and "enc" in header
                token = ".".join(parts if encrypted else parts[:PARTS_SIGNED])
                yield TextSpan(match.start(), match.start() + len(token))
            else:
                yield None


def token_header(encoded: str) -> frozenset[str]:
    """Return the members of a token's header; empty when the text is no JSON object in base64url."""
    try:
        header = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(header) if isinstance(header, dict) else frozenset()


# --- private keys in PEM (RFC 7468) and similar formats ---------------------------------------------------------------

_BEGIN, _END = "-----BEGIN", "-----END"
_PRIVATE = re.compile(r"-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END_LINE = re.compile(r"-----END[A-Z0-9 ]{0,60}-----")
_KEY_WORDS = re.compile(r"[A-Za-z0-9+/=]{16}")
_CUT_OFF = re.compile(r"(?:\\[nrt]|[A-Za-z0-9+/=:,.\s-])+")


def private_keys(text: str) -> Iterator[TextSpan | None]:
    """Find private keys from their first line to their last; a truncated key extends to the end of its characters."""
    start = text.find(_BEGIN)
    while start >= 0:
        header = _PRIVATE.match(text, start)
        if header is None:
            yield None
            start = text.find(_BEGIN, start + len(_BEGIN))
            continue
        end = _end_of_key(text, header.end())
        yield TextSpan(start, end) if _KEY_WORDS.search(text, header.end(), end) else None
        start = text.find(_BEGIN, end)


def _end_of_key(text: str, start: int) -> int:
    last = text.find(_END, start)
    if last >= 0:
        line = _END_LINE.match(text, last)
        return last + len(_END) if line is None else line.end()
    body = _CUT_OFF.match(text, start)
    return start if body is None else body.end()


# --- API keys, in the forms that vendors have published ---------------------------------------------------------------


class Vendor(NamedTuple):
    """The vendor of a key, the literal at its beginning, and the pattern of the rest."""

    name: str
    literal: str
    rest: re.Pattern[str]


def _vendor(name: str, literal: str, rest: str) -> Vendor:
    return Vendor(name, literal, re.compile(rest))


VENDORS: tuple[Vendor, ...] = (
    *(_vendor("aws", literal, r"[A-Z2-7]{16}") for literal in ("AKIA", "ASIA", "ABIA", "ACCA")),
    *(_vendor("github", literal, r"[A-Za-z0-9]{36,251}") for literal in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    _vendor("github", "github_pat_", r"[A-Za-z0-9_]{40,255}"),
    *(
        _vendor("gitlab", literal, r"[A-Za-z0-9_.-]{20,300}")
        for literal in (
            *("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"),
            *("glft-", "glimt-", "glagent-", "gloas-", "glffct-"),
        )
    ),
    _vendor("slack", "xox", r"(?:[abeoprs]|e\.xox[bp])-[A-Za-z0-9-]{10,250}"),
    _vendor("slack", "xapp-", r"\d-[A-Za-z0-9-]{10,250}"),
    _vendor("slack", "https://hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9/]{20,200}"),
    *(_vendor("stripe", literal, r"(?:live|test|org)_[A-Za-z0-9_]{10,250}") for literal in ("sk_", "rk_")),
    _vendor("stripe", "whsec_", r"[A-Za-z0-9+/=]{24,100}"),
    _vendor("google", "AIza", r"[A-Za-z0-9_-]{35}"),
    _vendor("google", "GOCSPX-", r"[A-Za-z0-9_-]{28}"),
    _vendor("google", "ya29.", r"[A-Za-z0-9_.-]{20,2048}"),
    _vendor("anthropic", "sk-ant-", r"[A-Za-z0-9_-]{20,250}"),
    _vendor("openai", "sk-", r"(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}"),
    _vendor("openai", "sk-", r"[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}"),
    _vendor("openrouter", "sk-or-", r"v1-[0-9a-f]{64}"),
    _vendor("npm", "npm_", r"[A-Za-z0-9]{36}"),
    _vendor("pypi", "pypi-", r"AgE[A-Za-z0-9_-]{40,1000}"),
    _vendor("rubygems", "rubygems_", r"[0-9a-f]{48}"),
    _vendor("crates", "cio", r"[A-Za-z0-9]{32}"),
    _vendor("twilio", "SK", r"[0-9a-f]{32}"),
    _vendor("sendgrid", "SG.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _vendor("mailgun", "key-", r"[0-9a-f]{32}"),
    _vendor("brevo", "xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _vendor("huggingface", "hf_", r"[A-Za-z]{34}"),
    _vendor("replicate", "r8_", r"[A-Za-z0-9]{37}"),
    _vendor("groq", "gsk_", r"[A-Za-z0-9]{52}"),
    _vendor("xai", "xai-", r"[A-Za-z0-9]{80}"),
    _vendor("perplexity", "pplx-", r"[A-Za-z0-9]{48}"),
    *(_vendor("digitalocean", literal, r"[0-9a-f]{64}") for literal in ("dop_v1_", "doo_v1_", "dor_v1_")),
    *(_vendor("shopify", literal, r"[0-9a-fA-F]{32}") for literal in ("shpat_", "shpca_", "shppa_", "shpss_")),
    *(_vendor("square", literal, r"[A-Za-z0-9_-]{22,43}") for literal in ("sq0atp-", "sq0csp-")),
    _vendor("atlassian", "ATATT3", r"[A-Za-z0-9_=-]{100,250}"),
    _vendor("linear", "lin_api_", r"[A-Za-z0-9]{40}"),
    _vendor("notion", "ntn_", r"[A-Za-z0-9]{46}"),
    _vendor("databricks", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    *(_vendor("docker", literal, r"[A-Za-z0-9_-]{27,32}") for literal in ("dckr_pat_", "dckr_oat_")),
    *(_vendor("vault", literal, r"[A-Za-z0-9_-]{24,300}") for literal in ("hvs.", "hvb.", "hvr.")),
    *(_vendor("grafana", literal, r"[A-Za-z0-9+/_=-]{32,400}") for literal in ("glsa_", "glc_")),
    _vendor("new relic", "NRAK-", r"[A-Z0-9]{27}"),
    *(_vendor("sentry", literal, r"[A-Za-z0-9+/_=-]{60,400}") for literal in ("sntrys_", "sntryu_")),
    _vendor("postman", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    _vendor("pulumi", "pul-", r"[0-9a-f]{40}"),
    _vendor("figma", "figd_", r"[A-Za-z0-9_-]{40}"),
    _vendor("doppler", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,80}"),
    _vendor("planetscale", "pscale_", r"(?:tkn|oauth|pw)_[A-Za-z0-9_.-]{32,64}"),
    _vendor("supabase", "sbp_", r"[0-9a-f]{40}"),
    _vendor("tailscale", "tskey-", r"[a-z]{3,10}-[A-Za-z0-9_-]{20,80}"),
    _vendor("age", "AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
)
_BORDER = re.compile(r"[A-Za-z0-9]")

# Keys with the literal inside.
_TELEGRAM, _TELEGRAM_KEY = ":AA", re.compile(r"(?<![A-Za-z0-9])\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])")
_MAILCHIMP, _MAILCHIMP_KEY = "-us", re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{32}-us\d{1,2}(?![0-9A-Za-z])")
_TERRAFORM, _TERRAFORM_KEY = (
    ".atlasv1.",
    re.compile(r"(?<![0-9A-Za-z])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}(?![0-9A-Za-z])"),
)
INSIDE = ((_TELEGRAM, _TELEGRAM_KEY), (_MAILCHIMP, _MAILCHIMP_KEY), (_TERRAFORM, _TERRAFORM_KEY))


def api_keys(text: str) -> Iterator[TextSpan | None]:
    """Find keys of the vendors in the table, by their literals."""
    for vendor in VENDORS:
        start = text.find(vendor.literal)
        while start >= 0:
            yield _key_at(text, start, vendor)
            start = text.find(vendor.literal, start + len(vendor.literal))
    for literal, pattern in INSIDE:
        if literal in text:
            for match in pattern.finditer(text):
                yield TextSpan(*match.span())


def _key_at(text: str, start: int, vendor: Vendor) -> TextSpan | None:
    if start and _BORDER.match(text, start - 1):
        return None
    match = vendor.rest.match(text, start + len(vendor.literal))
    if match is None or _BORDER.match(text, match.end()):
        return None
    return TextSpan(start, match.end())
