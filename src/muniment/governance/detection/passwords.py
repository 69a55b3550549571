"""Passwords and PINs that are said to be one: `password: hunter2`, `Das Passwort ist ...`, `PIN 4711`.

What follows the word must be able to be one. After a colon or an equals sign that is any text in quotation marks, or a
token that is no placeholder, type or reference to a setting; after `is` it must have a digit, a sign or a capital
inside as well, so that "the password is required" stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.governance.detection.scan import TextSpan

CHARACTERS_MIN, CHARACTERS_MAX = 4, 128

_WORDS = (
    r"pass ?word|pass ?phrase|pass ?code|passwd|pwd|pw|passwort|kennwort|mot de passe|mdp|contraseña|clave|senha"
    r"|wachtwoord|hasło|haslo|heslo|lösenord|losenord|adgangskode|passord|salasana|пароль|şifre|parola"
    r"|密码|密碼|パスワード|비밀번호"
)
_PASSWORD = re.compile(
    rf"(?i)(?<![A-Za-z])(?:{_WORDS})(?:\w{{0,2}})[\"'`]?(?: (?:for|für|zu|de|to|of) [\w.@-]{{1,32}})?"
    r"(?:(?P<sign>\s{0,2}(?::=?|=>?|：)\s{0,2})"
    r"|\s(?:is|ist|lautet|war|was|est|es|è|jest|är|er|on|это)(?: now| jetzt)?:?\s+)"
    r"(?:(?P<quote>[\"'`“„«])(?P<quoted>[^\"'`”“»\n]{4,128})[\"'`”“»]|(?P<bare>[^\s\"'`,;<>()\[\]{}]{4,128}))"
)
_PIN = re.compile(
    r"(?i)(?<![A-Za-z])(?:pin|tan|cvv2?|cvc2?|otp|puk|one[- ]time (?:code|password)|verification code|security code)"
    r"(?:[- ]?(?:code|number|nummer|nr\.?|no\.?))?"
    r"(?:\s(?:is|ist|lautet|est|es|è)|\s?[:=#])?\s{1,2}(\d{3,8})(?![\w.,]\d|\w)"
)
_NO_PASSWORD = re.compile(
    r"(?i)(?:\W+|[x*•.]+|none|null|nil|true|false|str(?:ing)?|text|varchar\w*|bool\w*|int|bytes|secretstr|optional\w*"
    r"|required|missing|empty|unset|redacted|hidden|changed|wrong|reset\w*|incorrect|invalid|expired|forgotten|secret"
    r"|your\w*|my\w*|the\w*|here|help\w*|please|thanks?|example|placeholder|password\w*|passwort\w*|os\.\w.*|process\.env.*|env\.\w.*|self\.\w.*"
    r"|settings\.\w.*|config\w*[.\[].*|getpass.*|\$.*|%.*%|https?:.*)[.!?]?"
)
_STRONG = re.compile(r"[0-9]|[^\w\s.,!?'’-]|[a-z][A-Z]|_|\w[!?,]\w")


def passwords(text: str) -> Iterator[TextSpan | None]:
    """Find what is said to be a password or a PIN."""
    for match in _PASSWORD.finditer(text):
        yield _password(match)
    for match in _PIN.finditer(text):
        yield TextSpan(*match.span(1))


def _password(match: re.Match[str]) -> TextSpan | None:
    group = "bare" if match["quoted"] is None else "quoted"
    start, end = match.span(group)
    if group == "bare":
        end -= len(match["bare"]) - len(match["bare"].rstrip(".!?:"))
    word = match.string[start:end]
    if len(word) < CHARACTERS_MIN or _NO_PASSWORD.fullmatch(word):
        return None
    if group == "bare" and match["sign"] is None and not _STRONG.search(word):
        return None
    return TextSpan(start, end)
