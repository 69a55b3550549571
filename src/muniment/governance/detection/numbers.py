"""Numbers with a checkable structure: IBANs, payment cards, IP addresses."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from muniment.governance.detection.check_digits import luhn
from muniment.governance.detection.letters import before
from muniment.governance.detection.scan import TextSpan

# --- IBAN (ISO 13616): length by country, check digits by ISO 7064 mod 97-10 ------------------------------------------

IBAN_CHARACTERS = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE",), 16),
    **dict.fromkeys(("DK", "FI", "FK", "FO", "GL", "NL", "SD"), 18),
    **dict.fromkeys(("MK", "SI"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "KZ", "LT", "LU", "MN", "XK"), 20),
    **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "BH", "CR", "DE", "GB", "GE", "IE", "ME", "RS", "VA"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "IQ", "OM", "SO", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("LY", "PT", "ST"), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("BI", "DJ", "FR", "GR", "IT", "MC", "MR", "SM"), 27),
    **dict.fromkeys(("AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "NI", "PL", "SV"), 28),
    **dict.fromkeys(("BR", "EG", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU", "YE"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
    **dict.fromkeys(("LC",), 32),
    **dict.fromkeys(("RU",), 33),
}
_IBAN = re.compile(r"(?<![A-Za-z0-9])(?=([A-Za-z]{2}[0-9]{2}(?:[ \-\u00a0]?+[A-Za-z0-9]){11,30}))")


def ibans(text: str) -> Iterator[TextSpan | None]:
    """Find IBANs, grouped or not, in either case."""
    for match in _IBAN.finditer(text):
        yield _iban_in(text, match)


def _iban_in(text: str, match: re.Match[str]) -> TextSpan | None:
    start, length = match.start(), IBAN_CHARACTERS.get(match[1][:2].upper(), 0)
    count = 0
    for index in range(start, match.end(1)):
        count += text[index].isalnum()
        if count == length:
            end = index + 1
            follows = text[end : end + 1]
            number = "".join(char for char in text[start:end] if char.isalnum())
            return TextSpan(start, end) if is_iban(number) and not (follows.isascii() and follows.isalnum()) else None
    return None


def is_iban(number: str) -> bool:
    """Return whether a number without gaps has the length of its country and valid check digits."""
    number = number.upper()
    if len(number) != IBAN_CHARACTERS.get(number[:2]):
        return False
    return int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1


# --- payment cards (ISO/IEC 7812): prefix and length of a known scheme, Luhn digit ------------------------------------

# first prefix, last prefix (as many digits), lengths
CARD_SCHEMES: tuple[tuple[int, int, frozenset[int]], ...] = (
    (4, 4, frozenset({13, 16, 19})),  # Visa
    (51, 55, frozenset({16})),  # Mastercard
    (2221, 2720, frozenset({16})),
    (34, 34, frozenset({15})),  # American Express
    (37, 37, frozenset({15})),
    (300, 305, frozenset({14, 16, 19})),  # Diners Club
    (3095, 3095, frozenset({14, 16, 19})),
    (36, 36, frozenset({14, 16, 19})),
    (38, 39, frozenset({14, 16, 19})),
    (6011, 6011, frozenset({16, 19})),  # Discover
    (644, 649, frozenset({16, 19})),
    (65, 65, frozenset({16, 19})),
    (3528, 3589, frozenset({16, 19})),  # JCB
    (62, 62, frozenset({16, 17, 18, 19})),  # UnionPay
    (81, 82, frozenset({16})),  # RuPay, UnionPay
    (60, 60, frozenset({16})),
    (2200, 2204, frozenset({16, 19})),  # Mir
    (9792, 9792, frozenset({16})),  # Troy
    (50, 50, frozenset({16, 18, 19})),  # Maestro and domestic schemes
    (56, 58, frozenset({16, 18, 19})),
    (6304, 6304, frozenset({16, 18, 19})),
    (6759, 6763, frozenset({16, 18, 19})),
)
_CARD_GAP = "[ .\\-\u00a0\u2010\u2011\u2013\uff0d]"
_CARD = re.compile(
    rf"(?<!\d)(?<!\d[.,])(?:\d{{4}}({_CARD_GAP})\d{{4}}\1\d{{4}}\1\d{{4}}(?:\1\d{{3}})?"
    rf"|\d{{4}}({_CARD_GAP})\d{{6}}\2\d{{4,5}}|\d{{13,19}})(?!\d)"
)
_CARD_GROUPS = 19  # characters of four groups of four, with their gaps


def cards(text: str) -> Iterator[TextSpan | None]:
    """Find payment card numbers, grouped or not. A security code after a number is not part of it."""
    for match in _CARD.finditer(text):
        start, end = match.span()
        if is_card(match.group()):
            yield TextSpan(start, end)
        elif match[1] is not None and is_card(text[start : start + _CARD_GROUPS]):
            yield TextSpan(start, start + _CARD_GROUPS)
        else:
            yield None


def is_card(number: str) -> bool:
    """Return whether a number, with or without gaps, has prefix and length of a known scheme and a valid Luhn digit."""
    digits = "".join(str(int(char)) for char in number if char.isdigit())
    is_known = any(
        len(digits) in lengths and first <= int(digits[: len(str(first))]) <= last
        for first, last, lengths in CARD_SCHEMES
    )
    return is_known and luhn(digits)


# --- IP addresses -----------------------------------------------------------------------------------------------------

_IP4 = re.compile(r"(?<![\w.\\-])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w-]|\.[\w])", re.ASCII)
_IP6 = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{2,39}(?:(?:\.[0-9]{1,3}){3})?(?![\w:]|\.\w)", re.ASCII)
_IP6_DIGITS_MIN = 5  # fewer are slices and qualified names in code

# Words that make the following number with three dots a version or a section.
_OUTLINE = re.compile(
    r"(?i)(?:\bv|\bver|version|vers[ií]on|vers[ãa]o|верси[яию]|верс|版本号?|バージョン|버전|الإصدار|sürüm|wersj[aię]"
    r"|release|build|firmware|\brev|\bsect(?:ion)?|sección|seção|\bchapter|kapitel|chapitre|cap[ií]tulo|abschnitt"
    r"|paragraph\w?|§+|\bart(?:icle|ikel|igo|ículo)?|пункт\w?|القسم|第)[.:：]?\s{0,2}(?:no\.?|nr\.?|号|號)?\s{0,2}[v]?$"
)
_ADDRESSED = re.compile(r"(?i)(?:\bip\w?|server|host|address|adresse|addr|dns|client|peer|from|://)\W{0,3}$")


def ip4_addresses(text: str) -> Iterator[TextSpan | None]:
    """Find IPv4 addresses that can identify a machine: no version or section numbers, no loopback, no masks."""
    for match in _IP4.finditer(text):
        yield TextSpan(*match.span()) if _is_ip4(text, match) else None


def _is_ip4(text: str, match: re.Match[str]) -> bool:
    try:
        address = ipaddress.IPv4Address(match.group())
    except ipaddress.AddressValueError:
        return False
    if address.is_loopback or address.packed[0] in {0, 255}:
        return False
    near = before(text, match.start())
    if max(address.packed) < 10:  # like section and version numbers
        return _ADDRESSED.search(near) is not None or text[match.end() : match.end() + 1] in {":", "/"}
    return _OUTLINE.search(near) is None


def ip6_addresses(text: str) -> Iterator[TextSpan | None]:
    """Find IPv6 addresses that can identify a machine."""
    if text.count(":") > 1:
        for match in _IP6.finditer(text):
            yield TextSpan(*match.span()) if _is_ip6(match.group()) else None


def _is_ip6(text: str) -> bool:
    try:
        address = ipaddress.IPv6Address(text)
    except ipaddress.AddressValueError:
        return False
    digits = sum(char.isalnum() for char in text)
    return digits >= _IP6_DIGITS_MIN and not (address.is_loopback or address.is_unspecified)
