"""National identity, tax and social security numbers.

A number is found by its form, then held to its check digits, its date, or the ranges that were ever issued. A form that
many other numbers have needs a word for it before it, on the same line (`SSN`, `Steuer-ID`). The table says for each
which form it has, what must be true of it, and whether it needs such a word. Passports and driving licences have no
common form: they are found after a word for them alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import NamedTuple

from muniment.governance.detection.check_digits import luhn, mod11_2, mod11_10, verhoeff, weighted
from muniment.governance.detection.letters import words_before
from muniment.governance.detection.scan import TextSpan

WORD_CHARACTERS = 48  # how far before a number its word may be, with no other number between them
_DIGIT = re.compile(r"[0-9]{2}")


class IdForm(NamedTuple):
    """A kind of number: its form, what holds of its characters without gaps, and the words that may be needed.

    `needs` is the word without which a number of this form is not believed; None when the form is enough.
    """

    name: str
    form: re.Pattern[str]
    holds: Callable[[str], bool]
    needs: re.Pattern[str] | None = None


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-])(?:{pattern})(?![\w-]|\.\w)", re.ASCII)


def _words(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?i)(?<!\w)(?:{words})(?!\w)")


def national_ids(text: str) -> Iterator[TextSpan | None]:
    """Find numbers of the table."""
    for form in FORMS:
        for match in form.form.finditer(text):
            yield TextSpan(*match.span()) if _is_believed(text, match, form) else None


def _is_believed(text: str, match: re.Match[str], form: IdForm) -> bool:
    bare = re.sub(r"[^0-9A-Za-z]", "", match.group()).upper()
    if not form.holds(bare):
        return False
    if form.needs is None:
        return True
    near = words_before(text, match.start(), WORD_CHARACTERS)
    return any(not _DIGIT.search(near, word.end()) for word in form.needs.finditer(near))


def named_documents(text: str) -> Iterator[TextSpan | None]:
    """Find the numbers of passports, identity cards and driving licences after a word for them."""
    for match in _DOCUMENT.finditer(text):
        digits = sum(char.isdigit() for char in match[1])
        yield TextSpan(*match.span(1)) if digits >= DOCUMENT_DIGITS_MIN else None


# --- documents without a form of their own ----------------------------------------------------------------------------

DOCUMENT_DIGITS_MIN = 4
_DOCUMENT = re.compile(
    r"(?i)(?<!\w)(?:passport|reisepass\w*|personalausweis\w*|pass-?nr|passeport|pasaporte|passaporto|paspoort"
    r"|passaporte|driver'?s?['’]? licen[cs]e|driving licen[cs]e|führerschein\w*|permis de conduire|patente di guida"
    r"|id[- ]card|identity card|carte d['’]identit[ée]|carta d['’]identit[àa])"
    r"(?: ?(?:number|no\.?|nr\.?|num[ée]ro|número|numero|nummer|#))?(?: (?:is|ist|est|es|è))?[ :#=-]{1,3}"
    r"([A-Z0-9]{6,16})(?![\w-])"
)

# --- what must hold of each -------------------------------------------------------------------------------------------


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _is_day(day: str, month: str, year: str = "00") -> bool:
    """Return whether a day, a month and two digits of a year were a date in this century or the one before."""
    return any(_is_date(century + int(year), int(month), int(day)) for century in (1900, 2000))


def _ssn(digits: str) -> bool:
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    if area[0] == "9":  # of taxpayers without a social security number (ITIN)
        number = int(group)
        return 50 <= number <= 65 or 70 <= number <= 88 or 90 <= number <= 92 or number >= 94
    return area not in {"000", "666"} and group != "00" and serial != "0000"


def _nino(text: str) -> bool:
    return text[:2] not in {"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"}


def _nhs(digits: str) -> bool:
    return weighted(digits, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _tax_id_of_germany(digits: str) -> bool:
    counts = sorted(digits[:10].count(digit) for digit in set(digits[:10]))
    return digits[0] != "0" and counts[-1] in {2, 3} and len(counts) in {8, 9} and mod11_10(digits)


def _insurance_of_germany(text: str) -> bool:
    letter = f"{ord(text[8]) - ord('A') + 1:02d}"
    digits = text[:8] + letter + text[9:11]
    weights = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
    total = sum(sum(divmod(int(digit) * weight, 10)) for digit, weight in zip(digits, weights, strict=True))
    return total % 10 == int(text[11])


def _nir(text: str) -> bool:
    less = {"2A": 1_000_000, "2B": 2_000_000}.get(text[5:7], 0)  # the two parts of Corsica count as 19 and 18
    number = int(text[:5] + ("20" if less else text[5:7]) + text[7:13]) - less
    return 97 - number % 97 == int(text[13:])


def _dni(text: str) -> bool:
    number = text[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == text[-1]


_ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16,
         10, 22, 25, 24, 23),
        strict=True,
    )
)  # fmt: skip


def _fiscal_code(text: str) -> bool:
    total = sum(
        (int(char) if char.isdigit() else ord(char) - ord("A")) if index % 2 else _ODD[char]
        for index, char in enumerate(text[:15])
    )
    return chr(total % 26 + ord("A")) == text[15]


def _bsn(digits: str) -> bool:
    return weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0 and digits.strip("0") != ""


def _register_of_belgium(digits: str) -> bool:
    number, check = digits[:9], int(digits[9:])
    return any(97 - int(century + number) % 97 == check for century in ("", "2"))


def _personnummer(digits: str) -> bool:
    digits = digits[-10:]
    day = int(digits[4:6])
    return _is_day(str(day - 60 if day > 60 else day), digits[2:4], digits[:2]) and luhn(digits)


def _cpr(digits: str) -> bool:
    return _is_day(digits[:2], digits[2:4], digits[4:6])


def _birth_number_of_norway(digits: str) -> bool:
    day, month = (number - 40 if number > 40 else number for number in (int(digits[:2]), int(digits[2:4])))
    first = weighted(digits[:10], (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11 == 0
    second = weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0
    return first and second and _is_day(str(day), str(month), digits[4:6])


def _hetu(text: str) -> bool:
    number = int(text[:6] + text[-4:-1])
    return _is_day(text[:2], text[2:4], text[4:6]) and "0123456789ABCDEFHJKLMNPRSTUVWXY"[number % 31] == text[-1]


def _pesel(digits: str) -> bool:
    month = int(digits[2:4]) % 20
    checked = weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0
    return checked and _is_day(digits[4:6], str(month), digits[:2])


def _birth_number_of_the_czechs(digits: str) -> bool:
    month = int(digits[2:4])
    month -= 50 if month > 50 else 0
    month -= 20 if month > 20 else 0
    checked = int(digits) % 11 == 0 or (int(digits[:9]) % 11 == 10 and digits[9] == "0")
    return checked and _is_day(digits[4:6], str(month), digits[:2])


def _nif(digits: str) -> bool:
    return (11 - weighted(digits[:8], (9, 8, 7, 6, 5, 4, 3, 2)) % 11) % 11 % 10 == int(digits[8])


def _ahv(digits: str) -> bool:
    return weighted(digits, (1, 3) * 6 + (1,)) % 10 == 0


def _insurance_of_austria(digits: str) -> bool:
    check = weighted(digits[:3] + digits[4:], (3, 7, 9, 5, 8, 4, 2, 1, 6)) % 11
    return check == int(digits[3]) and 1 <= int(digits[4:6]) <= 31


def _pps(text: str) -> bool:
    second = ord(text[8]) - ord("A") + 1 if len(text) > 8 and text[8] != "W" else 0
    return "WABCDEFGHIJKLMNOPQRSTUV"[(weighted(text[:7], (8, 7, 6, 5, 4, 3, 2)) + 9 * second) % 23] == text[7]


def _cpf(digits: str) -> bool:
    if len(set(digits)) == 1:
        return False
    return all(
        weighted(digits[:count], range(count + 1, 1, -1)) * 10 % 11 % 10 == int(digits[count]) for count in (9, 10)
    )


def _rut(text: str) -> bool:
    total = sum(int(digit) * (2 + index % 6) for index, digit in enumerate(reversed(text[:-1])))
    return "0123456789K0"[(11 - total % 11)] == text[-1]


def _curp(text: str) -> bool:
    letters = "0123456789ABCDEFGHIJKLMN\u00d1OPQRSTUVWXYZ"
    total = sum(letters.index(char) * (18 - index) for index, char in enumerate(text[:17]))
    return str(-total % 10) == text[17] and _is_day(text[8:10], text[6:8], text[4:6])


def _citizen_of_china(text: str) -> bool:
    return _is_date(int(text[6:10]), int(text[10:12]), int(text[12:14])) and mod11_2(text)


def _resident_of_korea(digits: str) -> bool:
    return _is_day(digits[4:6], digits[2:4], digits[:2])


def _my_number(digits: str) -> bool:
    remainder = weighted(digits[:11], (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return (0 if remainder <= 1 else 11 - remainder) == int(digits[11])


def _citizen_of_south_africa(digits: str) -> bool:
    return _is_day(digits[4:6], digits[2:4], digits[:2]) and luhn(digits)


def _citizen_of_turkey(digits: str) -> bool:
    odd, even = (sum(map(int, digits[first:9:2])) for first in (0, 1))
    return (odd * 7 - even) % 10 == int(digits[9]) and sum(map(int, digits[:10])) % 10 == int(digits[10])


def _tax_file(digits: str) -> bool:
    weights = (1, 4, 3, 7, 5, 8, 6, 9, 10) if len(digits) == 9 else (10, 7, 8, 4, 6, 3, 5, 1)
    return weighted(digits, weights) % 11 == 0


def _medicare(digits: str) -> bool:
    return weighted(digits[:8], (1, 3, 7, 9, 1, 3, 7, 9)) % 10 == int(digits[8])


def _always(_text: str) -> bool:
    return True


GAP = "[ .-]?"
FORMS: tuple[IdForm, ...] = (
    IdForm("us_ssn", _form(r"\d{3}([- ])\d{2}\1\d{4}"), _ssn),
    IdForm("us_ssn", _form(r"\d{9}"), _ssn, _words(r"ssn|itin|social security|taxpayer id\w*|tin")),
    IdForm("gb_nino", _form(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] \d\d \d\d \d\d [A-D]"), _nino),
    IdForm(
        "gb_nino",
        _form(r"(?i:[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D])"),
        _nino,
        _words(r"nino|ni|national insurance"),
    ),
    IdForm("gb_nhs", _form(r"\d{3}[ -]?\d{3}[ -]?\d{4}"), _nhs, _words("nhs")),
    IdForm(
        "de_tax_id",
        _form(r"\d{2} ?\d{3} ?\d{3} ?\d{3}"),
        _tax_id_of_germany,
        _words(r"steuer\w*(?:[- ](?:id\w*|nummer|nr))?|idnr|tax id\w*|tin"),
    ),
    IdForm("de_insurance", _form(r"\d{2} ?[0-3]\d[01]\d\d{2} ?[A-Z] ?\d{3}"), _insurance_of_germany),
    IdForm(
        "fr_nir",
        _form(r"[1-478] ?\d{2} ?(?:0[1-9]|[1-9]\d) ?(?:\d{2}|2[ABab]) ?\d{3} ?\d{3} ?\d{2}"),
        _nir,
    ),
    IdForm("es_dni", _form(r"(?:\d{8}|[XYZ]-?\d{7})-?[A-HJ-NP-TV-Z]"), _dni),
    IdForm("it_fiscal_code", _form(r"(?i:[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z])"), _fiscal_code),
    IdForm("nl_bsn", _form(r"\d{4}[. ]?\d{2}[. ]?\d{3}"), _bsn, _words(r"bsn|burgerservice\w*|sofi\w*")),
    IdForm("be_register", _form(r"\d{2}\.\d{2}\.\d{2}[- ]\d{3}[. ]\d{2}"), _register_of_belgium),
    IdForm(
        "be_register", _form(r"\d{11}"), _register_of_belgium,
        _words(r"rijksregister\w*|registre national|niss|insz"),
    ),
    IdForm("se_personnummer", _form(r"(?:19|20)?\d{6}[-+]\d{4}"), _personnummer),
    IdForm(
        "se_personnummer", _form(r"(?:19|20)?\d{10}"), _personnummer,
        _words(r"person-?n(?:ummer|r)|samordningsnummer"),
    ),
    IdForm("dk_cpr", _form(r"[0-3]\d[01]\d{3}-?\d{4}"), _cpr, _words(r"cpr\w*|personnummer")),
    IdForm("no_birth_number", _form(r"\d{6} ?\d{5}"), _birth_number_of_norway),
    IdForm("fi_hetu", _form(r"[0-3]\d[01]\d{3}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]"), _hetu),
    IdForm("pl_pesel", _form(r"\d{11}"), _pesel, _words("pesel")),
    IdForm("cz_birth_number", _form(r"\d{6}/\d{4}"), _birth_number_of_the_czechs),
    IdForm("pt_nif", _form(r"[1-9]\d{2} ?\d{3} ?\d{3}"), _nif, _words(r"nif|contribuinte")),
    IdForm("ch_ahv", _form(r"756\.?\d{4}\.?\d{4}\.?\d{2}"), _ahv),
    IdForm(
        "at_insurance",
        _form(r"[1-9]\d{3}[ /]?[0-3]\d[01]\d{3}"),
        _insurance_of_austria,
        _words(r"svnr|sv-nr\.?|sozialversicherungs?\w*|versicherungsnummer"),
    ),
    IdForm("ie_pps", _form(r"(?i:\d{7}[A-W][A-IW]?)"), _pps, _words(r"ppsn?|personal public service\w*")),
    IdForm("br_cpf", _form(r"\d{3}\.\d{3}\.\d{3}-\d{2}"), _cpf),
    IdForm("br_cpf", _form(r"\d{11}"), _cpf, _words("cpf")),
    IdForm("cl_rut", _form(r"\d{1,2}\.\d{3}\.\d{3}-[0-9Kk]"), _rut),
    IdForm("mx_curp", _form(r"(?i:[A-Z][AEIOUX][A-Z]{2}\d{6}[HMX][A-Z]{5}[0-9A-Z]\d)"), _curp),
    IdForm("ca_sin", _form(r"\d{3}[ -]?\d{3}[ -]?\d{3}"), luhn, _words(r"sin|social insurance|n\.?a\.?s")),
    IdForm("in_aadhaar", _form(r"[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}"), verhoeff, _words(r"aadh?aa?r|uid\w*|आधार")),
    IdForm("in_pan", _form(r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]"), _always),
    IdForm("cn_citizen", _form(r"[1-9]\d{5}(?:19|20)\d{9}[0-9Xx]"), _citizen_of_china),
    IdForm("kr_resident", _form(r"\d{6}-[1-8]\d{6}"), _resident_of_korea),
    IdForm(
        "jp_my_number", _form(r"\d{4}[ -]?\d{4}[ -]?\d{4}"), _my_number,
        re.compile(r"マイナンバー|個人番号|(?i:my ?number)"),
    ),
    IdForm("za_citizen", _form(r"\d{13}"), _citizen_of_south_africa, _words(r"id|identity|sa id")),
    IdForm("tr_citizen", _form(r"[1-9]\d{10}"), _citizen_of_turkey, _words(r"t\.?c\.?|kimlik\w*")),
    IdForm("au_tax_file", _form(r"\d{3} ?\d{3} ?\d{2,3}"), _tax_file, _words(r"tfn|tax file")),
    IdForm("au_medicare", _form(r"[2-6]\d{3} ?\d{5} ?\d(?:[/ -]?\d)?"), _medicare, _words("medicare")),
)  # fmt: skip
