"""National numbers, dates of birth, bank codes and passwords: what is found, and what only looks like it.

All numbers are invented; their check digits were made with python-stdnum, which agrees with each form below.
"""

from __future__ import annotations

import importlib
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.governance.detection import DetectedType, detectors_for, scan
from muniment.governance.detection.check_digits import luhn, mod11_2, mod11_10, verhoeff
from muniment.governance.detection.letters import words_before
from muniment.governance.detection.national_ids import FORMS
from muniment.governance.detection.parts import found_in_member


def spans_of(text: str, kind: DetectedType) -> list[str]:
    """Return what is found of one type, as text."""
    detected = scan(text, detectors_for({kind}).detectors)
    assert not detected.failed
    return [text[span.start : span.end] for span in detected.findings]


# form -> the word before the number ("" where the form is enough), numbers that are valid, and numbers that are not
NUMBERS: dict[str, tuple[str, list[str], list[str]]] = {
    "us_ssn": ("SSN ", ["521-84-0057", "521840057", "900-70-1234", "912-90-1234", "987-94-1234", "950501234"],
               ["000-12-3456", "666-12-3456", "521-00-0057", "521-84-0000", "900-10-1234", "900-69-1234"]),
    "gb_nino": ("NI ", ["AB 12 34 56 C", "JG103759A"], ["BG 12 34 56 C", "ZZ103759A", "DA 12 34 56 C"]),
    "gb_nhs": ("NHS ", ["943 476 5919", "4136140754"], ["943 476 5918"]),
    "de_tax_id": ("Steuer-ID ", ["38010547266", "26 954 371 827"], ["38010547267", "08010547266", "12345678903"]),
    "de_insurance": ("", ["65170839J003", "15 070649 C 103"], ["65170839J004"]),
    "fr_nir": ("", ["279122628877869", "2 55 08 14 168 025 38", "180 01 2A 123 456 20", "180012B12345647"],
               ["279122628877868", "1800 12C12345620"]),
    "es_dni": ("", ["22380196T", "X0962182T", "Y-1234567-X"], ["22380196A"]),
    "it_fiscal_code": ("", ["AJCRFM77A04Y443F", "RSSMRA85T10A562S"], ["AJCRFM77A04Y443G"]),
    "nl_bsn": ("BSN ", ["477411964", "1112.22.333"], ["477411965", "000000000"]),
    "be_register": ("NISS ", ["01117662308", "85.07.30-033 28", "17.07.30-033 84"], ["01117662309"]),
    "se_personnummer": ("personnr ", ["391214-3488", "19811228-9874", "8112289874", "811288-9871"],
                        ["391214-3489", "399914-3488"]),
    "dk_cpr": ("CPR ", ["260460-8513", "2604608513"], ["264460-8513"]),
    "no_birth_number": ("", ["11096302659", "110963 02659", "63492664601"], ["11096302658", "11996302659"]),
    "fi_hetu": ("", ["220454-352P", "131052-308T"], ["220454-352R", "310254-352P"]),
    "pl_pesel": ("PESEL ", ["35042505844", "44051401359"], ["35042505845", "35992505844"]),
    "cz_birth_number": ("", ["750805/9427", "430818/5190", "755407/0007"], ["750805/9428", "759905/9423"]),
    "pt_nif": ("NIF ", ["621 813 206", "793406218"], ["621813207"]),
    "ch_ahv": ("", ["756.1992.8241.64", "7561992824164"], ["756.1992.8241.65"]),
    "at_insurance": ("SVNR ", ["1237 010180", "3097 120669"], ["1238 010180"]),
    "ie_pps": ("PPS ", ["7856205F", "1234567TW", "1234567FA"], ["7856205G"]),
    "br_cpf": ("CPF ", ["390.533.447-05", "78021117907"], ["390.533.447-06", "111.111.111-11"]),
    "cl_rut": ("", ["92.287.165-5", "12.531.909-2"], ["92.287.165-6"]),
    "mx_curp": ("", ["LEMO661025MDFBQY11"], ["LEMO661025MDFBQY12", "LEMO669925MDFBQY11"]),
    "ca_sin": ("SIN ", ["046 454 286", "617-171-962"], ["046 454 287"]),
    "in_aadhaar": ("Aadhaar ", ["2402 3650 2310"], ["2402 3650 2311"]),
    "in_pan": ("", ["ABCPE1234F"], ["ABCXE1234F"]),
    "cn_citizen": ("", ["110105195603158743", "11010519491231002X"], ["110105195613158743", "110105195603158744"]),
    "kr_resident": ("", ["971013-9019902".replace("9019", "1019")], ["971313-1019902"]),
    "jp_my_number": ("My Number ", ["1234 5678 9018", "000000000000"], ["1234 5678 9019"]),
    "za_citizen": ("ID ", ["6406273205180"], ["6406273205181", "6413273205180"]),
    "tr_citizen": ("TC ", ["22119135992"], ["22119135993", "22119135982"]),
    "au_tax_file": ("TFN ", ["198928244", "812 396 21"], ["198928245", "812 396 27"]),
    "au_medicare": ("Medicare ", ["2123 45670 1"], ["2123 45671 1"]),
}  # fmt: skip


def test_every_form_of_the_table_is_tried_here() -> None:
    """A form that nobody has tried is a guess."""
    assert set(NUMBERS) == {form.name for form in FORMS}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_found_and_one_with_a_wrong_digit_is_not(name: str) -> None:
    """What makes a number valid is its check digit, its date or its range."""
    word, valid, invalid = NUMBERS[name]
    for number in valid:
        assert spans_of(f"It is {word}{number}, thank you.", DetectedType.NATIONAL_ID) == [number], number
    for number in invalid:
        assert spans_of(f"It is {word}{number}, thank you.", DetectedType.NATIONAL_ID) == [], number


@pytest.mark.parametrize("name", sorted({form.name for form in FORMS if form.needs}))
def test_a_form_that_many_numbers_have_needs_its_word(name: str) -> None:
    """A bare run of digits is an order number until somebody says what it is."""
    word, valid, _ = NUMBERS[name]
    bare = next(number for number in reversed(valid) if number.isalnum() or name not in {"us_ssn", "gb_nino"})
    others = {form.name for form in FORMS if form.needs is None and form.form.fullmatch(bare)}
    if not others:
        assert spans_of(f"Order {bare}", DetectedType.NATIONAL_ID) == []
        assert spans_of(f"{word}unknown\nOrder {bare}", DetectedType.NATIONAL_ID) == []
        assert spans_of(f"{word}4711, order {bare}", DetectedType.NATIONAL_ID) == []


@pytest.mark.parametrize(
    "text",
    [
        "Passport number is [512345678]", "Reisepass: [C01X00T47]", "driver's license: [D1234567]",
        "pasaporte no. [XDA123456]", "carte d'identité : [880692310285]", "Personalausweisnummer [L01X00T471]",
    ],
)  # fmt: skip
def test_documents_are_found_after_their_name(text: str) -> None:
    """Passports and licences have no form of their own."""
    plain = text.replace("[", "").replace("]", "")
    assert spans_of(plain, DetectedType.NATIONAL_ID) == [text[text.index("[") + 1 : text.index("]")]]


def test_a_document_without_a_number_is_none() -> None:
    """A word of capitals, or too few digits, is not the number of a document."""
    assert spans_of("passport: REQUIRED", DetectedType.NATIONAL_ID) == []
    assert spans_of("passport: ABCDEF12", DetectedType.NATIONAL_ID) == []


@pytest.mark.parametrize(
    "text",
    [
        "born 12 March 1985", "DOB: 03/12/85", "date of birth 1985-03-12", "geb. 12.03.1985", "née le 3 février 1992",
        "nacido el 23 de noviembre de 1968", "nata il 15 agosto 2001", "Birthday: March 12th, 1985",
        "生年月日 1985年3月12日", "생년월일 1985년 3월 12일", "1985年3月12日生まれ",
    ],
)  # fmt: skip
def test_a_date_of_birth_is_found(text: str) -> None:
    """A date that is said to be one."""
    assert len(spans_of(text, DetectedType.BIRTH_DATE)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "delivery on 12 March 2025", "DOB 1985-03-12".replace("DOB", "due"), "born in Hull; signed 12 March 2025",
        "Je ne viens pas le 3 février 1992", "注文日は1985年3月12日です", "version 1.2.1985",
    ],
)  # fmt: skip
def test_other_dates_are_left_alone(text: str) -> None:
    """Orders, meetings and releases have dates, too."""
    assert spans_of(text, DetectedType.BIRTH_DATE) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BIC DEUTDEFF500", ["DEUTDEFF500"]),
        ("BIC: DEUTXXFF", []),  # no country
        ("SWIFT code is NEDSZAJJ.", ["NEDSZAJJ"]),
        ("routing number 021000021", ["021000021"]),
        ("routing number 021000022", []),
        ("routing number 000000000", []),
        ("sort code 20-00-00, account number 55779911", ["20-00-00", "55779911"]),
        ("Kontonummer 532013000 bei BLZ 370 400 44", ["532013000", "370 400 44"]),
        ("BSB 062-000", ["062-000"]),
        ("account opened 2019 with 123456789 points", []),
    ],
)
def test_bank_codes_are_found_after_their_word(text: str, found: list[str]) -> None:
    """A code without its word is any number."""
    assert spans_of(text, DetectedType.BANK_CODE) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("password: hunter2.", ["hunter2"]),
        ("my password is Tr0ub4dor", ["Tr0ub4dor"]),
        ("my password is required", []),
        ("my password is swordfish", []),
        ("password: string", []),
        ("password=${SECRET}", []),
        ('pwd = "two words"', ["two words"]),
        ("password: abc!", []),
        ("Passwort lautet geheimnisVoll", ["geheimnisVoll"]),
        ("PIN is 4711", ["4711"]),
        ("pin 12 boards", []),
    ],
)
def test_a_password_is_found_where_it_is_said_to_be_one(text: str, found: list[str]) -> None:
    """And a sentence about passwords is left as it is."""
    assert spans_of(text, DetectedType.SECRET) == found


def test_the_name_of_a_member_is_the_word_before_its_value() -> None:
    """Arguments of tools say what a value is by its name; a finding lies inside the value."""
    dates = detectors_for({DetectedType.BIRTH_DATE}).detectors
    assert [tuple(span[:2]) for span in found_in_member("date_of_birth", "1985-03-12", dates)] == [(0, 10)]
    assert found_in_member("due", "1985-03-12", dates) == ()
    assert found_in_member("", "born 1985-03-12", dates)
    mail = detectors_for({DetectedType.EMAIL}).detectors
    assert found_in_member("a@example.org", "nothing", mail) == ()


def test_words_before_a_place_are_whole() -> None:
    """A word that is cut off could be another word."""
    assert words_before("cuisine 12", 8, 3) == " "
    assert words_before("one\ntwo 3", 8, 20) == "two "
    assert words_before("ab cd", 3, 3) == "ab "


@given(st.text(alphabet=string.digits, min_size=1, max_size=24))
def test_one_changed_digit_is_always_noticed(digits: str) -> None:
    """What the check digits are for."""
    for check in (luhn, verhoeff, mod11_10):
        valid = [digits + last for last in string.digits if check(digits + last)]
        assert len(valid) == 1
        changed = str((int(valid[0][0]) + 1) % 10) + valid[0][1:]
        assert not check(changed)
    assert sum(mod11_2(digits + last) for last in string.digits + "X") == 1


# form -> its module in python-stdnum, for numbers of random digits
ORACLES = {
    "gb_nhs": ("gb.nhs", 10), "nl_bsn": ("nl.bsn", 9), "in_aadhaar": ("in_.aadhaar", 12), "au_tax_file": ("au.tfn", 9),
    "br_cpf": ("br.cpf", 11), "no_birth_number": ("no.fodselsnummer", 11), "tr_citizen": ("tr.tckimlik", 11),
}  # fmt: skip


@pytest.mark.parametrize("name", ORACLES)
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_what_another_library_calls_valid_holds(name: str, data: st.DataObject) -> None:
    """python-stdnum, of other authors, accepts nothing that our form refuses."""
    module, length = ORACLES[name]
    oracle = pytest.importorskip(f"stdnum.{module}")
    digits = data.draw(st.text(alphabet=string.digits, min_size=length - 1, max_size=length - 1))
    for last in string.digits:
        if oracle.is_valid(digits + last):
            forms = [form for form in FORMS if form.name == name and form.form.fullmatch(digits + last)]
            assert any(form.holds(digits + last) for form in forms), digits + last
    importlib.invalidate_caches()
