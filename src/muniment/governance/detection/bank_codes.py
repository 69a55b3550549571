"""Codes of banks and numbers of accounts, each after a word for it; IBANs have a detector of their own.

A BIC looks like a word in capitals and an account number like any other number, so nothing is believed without its
word. Where a code has check digits or a country, they are checked, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from muniment.governance.detection.check_digits import weighted
from muniment.governance.detection.numbers import IBAN_CHARACTERS
from muniment.governance.detection.scan import TextSpan

COUNTRIES = frozenset(
    (
        *IBAN_CHARACTERS,
        *("US", "CA", "AU", "NZ", "JP", "CN", "HK", "SG", "IN", "KR", "TW", "TH", "MY", "ID", "PH", "VN", "MX", "AR"),
        *("CL", "CO", "PE", "ZA", "NG", "KE", "MA", "GH", "LK", "BD", "UY", "PY", "BO", "EC", "VE", "PA", "BM", "KY"),
        "MO",
    )
)


class BankCode(NamedTuple):
    """A kind of code: the words for it, its form, and what must hold of its characters without gaps."""

    words: str
    form: str
    holds: Callable[[str], bool]


def _bic(text: str) -> bool:
    return text[4:6].upper() in COUNTRIES


def _routing(digits: str) -> bool:
    return weighted(digits, (3, 7, 1) * 3) % 10 == 0 and digits.strip("0") != ""


def _always(_text: str) -> bool:
    return True


CODES: tuple[BankCode, ...] = (
    BankCode("bic|swift", r"[A-Za-z]{6}[A-Za-z0-9]{2}(?:[A-Za-z0-9]{3})?", _bic),
    BankCode("blz|bankleitzahl", r"\d{3} ?\d{3} ?\d{2}|\d{5}", _always),
    BankCode("aba|routing|rtn", r"\d{9}", _routing),
    BankCode("sort", r"\d{2}([- ]?)\d{2}\2\d{2}", _always),
    BankCode("bsb", r"\d{3}[- ]?\d{3}", _always),
    BankCode("ifsc", r"[A-Za-z]{4}0[A-Za-z0-9]{6}", _always),
    BankCode("transit", r"\d{5}(?:-\d{3})?", _always),
    BankCode("clabe", r"\d{18}", _always),
    BankCode(
        r"bank account|account|acct|a/c|konto|kto|compte|cuenta|conto|rekening|conta|счёта|счета",
        r"\d(?:[ -]?\d){5,16}",
        _always,
    ),
)
_LINK = (
    r"(?:[- /](?:swift|bic|code|transit|number|no\.?|num|nr\.?|#|bancaire|corrente|bancaria))*"
    r"(?:-?(?:nummer|nr\.?|numero))?(?: ?\(\w{2,12}\))?"
    r"(?: (?:is|ist|lautet|est|es|è|of|number|no\.?|code))*\s?[:=#]?\s{0,2}"
)
_PATTERNS = [(code, re.compile(rf"(?i)(?<!\w)(?:{code.words}){_LINK}({code.form})(?![\w]|[-.]\d)")) for code in CODES]


def bank_codes(text: str) -> Iterator[TextSpan | None]:
    """Find codes of the table, each after a word for it."""
    for code, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            bare = re.sub(r"[^0-9A-Za-z]", "", match[1])
            yield TextSpan(*match.span(1)) if code.holds(bare) else None
