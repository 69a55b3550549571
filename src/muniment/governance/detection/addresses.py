"""E-mail addresses and phone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.governance.detection.letters import GAPS, SPACED, before, unspaced
from muniment.governance.detection.scan import TextSpan

# --- e-mail: found at its @, then extended to both sides --------------------------------------------------------------

LOCAL_CHARACTERS_MAX = 64
_LOCAL_BACKWARDS = re.compile(f"[{SPACED}._%+'’-]{{1,{LOCAL_CHARACTERS_MAX}}}")
_DOMAIN = re.compile(
    rf"(?:[{SPACED}](?:[{SPACED}-]{{0,61}}[{SPACED}])?\.){{1,8}}(?:xn--[A-Za-z0-9-]{{2,59}}|[^\W\d_]{{2,24}})"
)
_TOP = re.compile(rf"(?:xn--[A-Za-z0-9-]{{2,59}}|[{SPACED}]{{2,24}})$")
_FILES = frozenset({"css", "gif", "html", "jpeg", "jpg", "js", "json", "pdf", "png", "svg", "ts", "webp"})
_USER_OF_URL = re.compile(r"://(?:[^\s/@:]{0,64}:)?$")


def emails(text: str) -> Iterator[TextSpan | None]:
    """Find e-mail addresses in any script; the user of a URL is none."""
    at = text.find("@")
    while at >= 0:
        yield _email_at(text, at)
        at = text.find("@", at + 1)


def _email_at(text: str, at: int) -> TextSpan | None:
    backwards = text[max(0, at - LOCAL_CHARACTERS_MAX) : at][::-1]
    local, domain = _LOCAL_BACKWARDS.match(backwards), _DOMAIN.match(text, at + 1)
    if local is None or domain is None:
        return None
    start, end = at - local.end(), _end_of_domain(text, at + 1, domain.end())
    while start < at and not text[start].isalnum():
        start += 1
    if start == at or end is None:
        return None
    return None if _USER_OF_URL.search(before(text, start)) else TextSpan(start, end)


def _end_of_domain(text: str, start: int, end: int) -> int | None:
    """Return the end of a domain; letters of a script without spaces belong to the sentence around it."""
    first = unspaced.search(text, start, end)
    end = end if first is None else first.start()
    name, dot, _ = text[start:end].rpartition(".")
    top = _TOP.match(text, start + len(name) + 1, end)
    if not dot or top is None or top.group().isdigit() or top.group().lower() in _FILES:
        return None
    return end


# --- phone numbers: international ones, and national notations --------------------------------------------------------

_DIGITS_MIN, _DIGITS_MAX = 8, 15  # of an international number (E.164), without the prefix
_LETTER = f"{SPACED}_"
_INTERNATIONAL = re.compile(
    rf"(?<![{_LETTER}])(?<!\d[.,])(?:[+＋]|00(?=[1-9]{{1,2}}\d?[{GAPS}(]))(?:[{GAPS}()]{{0,3}}+\d){{7,15}}(?!\d)"
)
# Prefixes of no country code; numbers of North America and Russia have one length.
_NO_CODES = frozenset({"28", "83", "89"})
_CODES_OF_ELEVEN = frozenset({"1", "7"})

# National notations, one row each. Named rows are checked further.
_NATIONAL = re.compile(
    rf"""(?<![{_LETTER}+#/])(?<!\d[.,:\-])(?:
      \(0?[1-9]\d{{0,3}}\)[{GAPS}]?\d{{3,5}}[{GAPS}]\d{{3,4}}                     # (11) 91234-5678, (202) 555-0143
    | (?:1[\-. ])?[2-9]\d{{2}}([\-. ])[2-9]\d{{2}}\1\d{{4}}                       # 202-555-0143, 1-800-555-0143
    | 8[ \-]?\(?\d{{3}}\)?[ \-]?\d{{3}}-\d{{2}}-\d{{2}}                           # 8 (495) 123-45-67
    | 0[1-9](?:\.\d{{2}}){{4}}                                                    # 01.99.00.12.34
    | (?P<trunk>(?:0|٠|۰|０)\d{{1,4}}(?:[ \-/\u00a0\u202f\u2011\u2013\uff0d]\d{{2,8}}){{1,4}})  # 030 23125 123
    | 9\d[ ]\d{{3}}[ ]\d{{2}}[ ]\d{{2}} | [67]\d{{2}}[ ]\d{{2}}[ ]\d{{2}}[ ]\d{{2}}  # 91 123 45 67, 612 34 56 78
    | 1[3-9]\d([ \-])\d{{4}}\3\d{{4}}                                             # 138 0013 8000
    | 01[5-7]\d{{8,9}} | 01[0-2]\d{{8}} | 0[67]\d{{8,9}} | 0[789]0\d{{8}} | 05\d{{8}} | 09\d{{9}}  # mobile, no gaps
    | (?P<asian>1[3-9]\d{{9}})                                                    # 13800138000
    | (?P<said>\(?\d(?:[{GAPS}()]{{0,2}}+\d){{5,13}})                             # any number after a word for phone
    )(?!\d)(?![\-./,:]\d)(?![{_LETTER}])""",
    re.VERBOSE,
)
_TRUNK_DIGITS_MIN, _TRUNK_DIGITS_MAX = 9, 13

_SAID = re.compile(
    r"(?i)(?:\b(?:tel|fax|cell|mob|text|sms|call|ring|dial|bel)\b|tele?[fp]|t[eé]l[eéè]?[fp]|phone|fono|mobil"
    r"|m[oó]v[ei]l|handy|hotline|rufen|anruf|appel|portable|ll[aá]m|ligue|cellulare|chiam|zadzwo|dzwo|whats|тел|звон|моб"
    r"|电话|手机|電話|携帯|ＴＥＬ|전화|휴대폰|هاتف|اتصل|جوال|تلفن|شماره|טלפון|נייד|फ़ोन|फ़ोन|फोन|मोबाइल|โทร|gọi|hubungi)"
    r"[^\d\n]{0,16}$"
)
_COUNTED = re.compile(
    r"(?i)(?:order|invoice|purchase|ticket|case|serial|tracking|parcel|part|item|account|customer|policy|ref|isbn|issn"
    r"|bestell|rechnung|kunden|auftrag|artikel|steuer|akten|konto|commande|facture|client|suivi|dossier|pedido|factura"
    r"|cuenta|expediente|processo|conta|fatura|ordine|fattura|pratica|factuur|bestelling|zam[oó]wieni|faktur|sipari"
    r"|заказ|сч[её]т|дело|订单|快递|单号|编号|注文|番号は|주문|الطلب|ऑर्डर|คำสั่ง|đơn|order|[#№])[^\n]{0,14}$"
)


def phones(text: str) -> Iterator[TextSpan | None]:
    """Find phone numbers: international ones, national notations, and any number after a word for phone."""
    for match in _INTERNATIONAL.finditer(text):
        yield TextSpan(*match.span()) if _is_international(match.group()) else None
    for match in _NATIONAL.finditer(text):
        yield TextSpan(*match.span()) if _is_national(text, match) else None


def _is_international(text: str) -> bool:
    digits = "".join(str(int(char)) for char in text if char.isdigit()).removeprefix("00")
    if not _DIGITS_MIN <= len(digits) <= _DIGITS_MAX or digits[0] == "0":
        return False
    return len(digits) == 11 if digits[0] in _CODES_OF_ELEVEN else digits[:2] not in _NO_CODES


def _is_national(text: str, match: re.Match[str]) -> bool:
    near = before(text, match.start())
    if _SAID.search(near):
        return True
    if match["said"] is not None or _COUNTED.search(near):
        return False
    if match["asian"] is not None:
        return unspaced.search(near[-2:]) is not None
    if match["trunk"] is not None:
        digits = sum(char.isdigit() for char in match.group())
        return _TRUNK_DIGITS_MIN <= digits <= _TRUNK_DIGITS_MAX
    return True
