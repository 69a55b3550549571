"""Each detector by examples: what it finds, and what looks like it and is something else."""

from __future__ import annotations

import base64

import pytest

from muniment.governance.detection import DetectedType, detectors_for, scan
from muniment.governance.detection.check_digits import luhn
from muniment.governance.detection.credentials import VENDORS, token_header
from muniment.governance.detection.known_names import folded
from muniment.governance.detection.numbers import IBAN_CHARACTERS, is_card, is_iban
from muniment.governance.detection.secret_tokens import entropy_bits, looks_random

DRAWN = "q7RkZp2vXw9LmT4sBn8YcJ3hDf6G"  # as chance draws
HEX = "9f86d081884c7d659a2feaa0c55ad015"


def spans_of(text: str, kind: DetectedType, *known: str) -> list[str]:
    """Return what is found of one type, as text."""
    detected = scan(text, detectors_for({kind}, known).detectors)
    assert not detected.failed
    return [text[one.start : one.end] for one in detected.findings]


# --- checksums: published examples ------------------------------------------------------------------------------------

# One example for each country, from the registry of ISO 13616.
IBANS = (
    "AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201 "
    "AZ21NABZ00000000137010001944 BA391290079401028494 BE68539007547034 BG80BNBG96611020345678 "
    "BH67BMAG00001299123456  BR1800360305000010009795493C1 CH9300762011623852957 CR05015202001026284066 "
    "CY17002001280000001200527600  CZ6508000000192000145399 DE89370400440532013000 DK5000400440116243 "
    "DO28BAGR00000001212453611324 EE382200221020145685  ES9121000418450200051332 FI2112345600000785 "
    "FO6264600001631634 FR1420041010050500013M02606 GB29NWBK60161331926819  GE29NB0000000101904917 "
    "GI75NWBK000000007099453 GL8964710001000206 GR1601101250000000012300695  GT82TRAJ01020000001210029690 "
    "HR1210010051863000160 HU42117730161111101800000000 IE29AIBK93115212345678  IL620108000000099999999 "
    "IS140159260076545510730339 IT60X0542811101000000123456 JO94CBJO0010000000000131000302 "
    "KW81CBKU0000000000001234560101 KZ86125KZT5004100100 LB62099900000001001901229114 "
    "LC55HEMM000100010012001200023015  LI21088100002324013AA LT121000011101001000 LU280019400644750000 "
    "LV80BANK0000435195001 MC5811222000010123456789030  MD24AG000225100013104168 ME25505000012345678951 "
    "MK07250120000058984 MR1300020001010000123456753  MT84MALT011000012345MTLCAST001S "
    "MU17BOMM0101101030300200000MUR NL91ABNA0417164300 NO9386011117947  PK36SCBL0000001123456702 "
    "PL61109010140000071219812874 PS92PALS000000000400123456702 PT50000201231234567890154 "
    "QA58DOHB00001234567890ABCDEFG RO49AAAA1B31007593840000 RS35260005601001611379 SA0380000000608010167519 "
    "SC18SSCB11010000000000001497USD SE4550000000058398257466 SI56263300012039086 SK3112000000198742637541 "
    "SM86U0322509800000000270100 TL380080012345678910157 TN5910006035183598478831 TR330006100519786457841326 "
    "UA213223130000026007233566001 VG96VPVG0000012345678901 XK051212012345678906 "
)
CARDS = (
    "4111111111111111 4012888888881881 4222222222222 5555555555554444 5105105105105100 2223003122003222 "
    "378282246310005  371449635398431 6011111111111117 6011000990139424 3530111333300000 3566002020360505 "
    "30569309025904 38520000023237  6200000000000005 6205500000000000004 "
)


@pytest.mark.parametrize("iban", IBANS.split())
def test_an_iban_of_every_country_is_found_in_any_writing(iban: str) -> None:
    grouped = " ".join(iban[at : at + 4] for at in range(0, len(iban), 4))
    for written in (iban, grouped, iban.lower(), grouped.replace(" ", "-")):
        assert spans_of(f"to {written}, please", DetectedType.IBAN) == [written]


@pytest.mark.parametrize("iban", IBANS.split())
def test_one_wrong_digit_makes_it_no_iban(iban: str) -> None:
    """Mod 97 sees every single digit that is changed, and every two neighbouring digits that are swapped."""
    assert is_iban(iban)
    for place in range(4, len(iban)):
        if not iban[place].isdigit():
            continue
        other = str((int(iban[place]) + 1) % 10)
        assert not is_iban(iban[:place] + other + iban[place + 1 :])
        if iban[place + 1 : place + 2].isdigit() and iban[place] != iban[place + 1]:
            assert not is_iban(iban[:place] + iban[place + 1] + iban[place] + iban[place + 2 :])


def test_an_iban_ends_where_its_country_says() -> None:
    assert spans_of("DE89 3704 0044 0532 0130 00 2024 12", DetectedType.IBAN) == ["DE89 3704 0044 0532 0130 00"]
    assert spans_of("DE89370400440532013000X", DetectedType.IBAN) == []
    assert spans_of("XDE89370400440532013000", DetectedType.IBAN) == []
    assert spans_of("ZZ89370400440532013000", DetectedType.IBAN) == []
    assert not is_iban("DE8937040044053201300")
    assert not is_iban("")
    assert min(IBAN_CHARACTERS.values()) == 15
    assert max(IBAN_CHARACTERS.values()) == 33


@pytest.mark.parametrize("card", CARDS.split())
def test_test_numbers_of_the_schemes_are_cards_and_one_off_is_none(card: str) -> None:
    assert spans_of(f"pay {card}.", DetectedType.PAYMENT_CARD) == [card]
    assert not is_card(card[:-1] + str((int(card[-1]) + 1) % 10))


def test_luhn_is_as_published() -> None:
    assert luhn("79927398713")
    assert not any(luhn(f"7992739871{last}") for last in "012456789")


@pytest.mark.parametrize(
    "written",
    [
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "3782 822463 10005",
        "3056 930902 5904",
        "４１１１１１１１１１１１１１１１",
    ],
)
def test_cards_are_found_in_groups(written: str) -> None:
    assert spans_of(f"card {written} 123", DetectedType.PAYMENT_CARD) == [written]


def test_numbers_that_only_look_like_cards_are_left_alone() -> None:
    for text in ("4111111111111112", "0.4111111111111111", "41111111111111110", "9999999999999995", "1234567812345670"):
        assert spans_of(text, DetectedType.PAYMENT_CARD) == []


# --- addresses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ada@example.org.", ["ada@example.org"]),
        ("'ada@example.org'", ["ada@example.org"]),
        ("x=ada@example.org,bob@example.com", ["ada@example.org", "bob@example.com"]),
        ("я@пример.рф", ["я@пример.рф"]),
        ("邮箱是wang@example.cn谢谢", ["wang@example.cn"]),
        ("ada@xn--exmple-cua.xn--p1ai", ["ada@xn--exmple-cua.xn--p1ai"]),
        ("a" * 70 + "@example.org", ["a" * 64 + "@example.org"]),
        ("image@2x.png", []),
        ("left-pad@1.3.0", []),
        ("@ada and ada@ and ada@localhost", []),
        ("___@example.org", []),
        ("ada@中文", []),
        ("ada@a中.文", []),
        ("https://ada@example.org/", []),
    ],
)
def test_mail_addresses_are_found_where_they_begin_and_end(text: str, found: list[str]) -> None:
    assert spans_of(text, DetectedType.EMAIL) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("192.0.2.1", ["192.0.2.1"]),
        ("http://192.0.2.1:80/", ["192.0.2.1"]),
        ("server 8.8.8.8", ["8.8.8.8"]),
        ("8.8.4.4/32", ["8.8.4.4"]),
        ("1.2.3.4", []),
        ("v10.20.30.40", []),
        ("version 10.20.30.40", []),
        ("256.1.1.1", []),
        ("01.02.03.400", []),
        ("127.0.0.1 0.0.0.0 255.255.255.0", []),
        ("10.20.30.40.50", []),
        ("2001:db8::1234", ["2001:db8::1234"]),
        ("[2001:DB8:0:0:8:800:200C:417A]:443", ["2001:DB8:0:0:8:800:200C:417A"]),
        ("::ffff:192.0.2.128", ["::ffff:192.0.2.128"]),
        ("::1 and :: and a[1::2]", []),
        ("12:34:56 00:1a:2b:3c:4d:5e", []),
        ("std::vector dead::beef::", []),
    ],
)
def test_ip_addresses_are_distinguished_from_versions_times_and_code(text: str, found: list[str]) -> None:
    assert spans_of(text, DetectedType.IP_ADDRESS) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("+1 202-555-0143", ["+1 202-555-0143"]),
        ("+1 202 555 01", []),
        ("+49 (0)30 23125-456", ["+49 (0)30 23125-456"]),
        ("0049 30 23125456", ["0049 30 23125456"]),
        ("+0 123 456 789", []),
        ("+283 123 456 78", []),
        ("+1234567", []),
        ("202-555-0143", ["202-555-0143"]),
        ("202-555-01434", []),
        ("order 202-555-0143", []),
        ("030 23125 123", ["030 23125 123"]),
        ("030 12", []),
        ("2024-01-02 and 01/02/2024", []),
        ("13800138000", []),
        ("手机13800138000", ["13800138000"]),
        ("phone: 2025550178", ["2025550178"]),
        ("2025550178", []),
        ("1.234.567,89 and 1 234 567", []),
    ],
)
def test_phone_numbers_are_distinguished_from_other_numbers(text: str, found: list[str]) -> None:
    assert spans_of(text, DetectedType.PHONE_NUMBER) == found


# --- credentials ------------------------------------------------------------------------------------------------------


def token_of(header: bytes, rest: str = ".e30.c2ln") -> str:
    """Return a token with this header."""
    return base64.urlsafe_b64encode(header).decode().rstrip("=") + rest


def test_a_web_token_is_recognised_by_its_header() -> None:
    good = token_of(b'{"alg":"HS256"}')
    assert spans_of(f"{good}.", DetectedType.JWT) == [good]
    assert spans_of(f"{good}.Next sentence", DetectedType.JWT) == [good]
    sealed = token_of(b'{"alg":"dir","enc":"A256GCM"}', "..aXY.Y2lwaGVy.dGFn")
    assert spans_of(sealed, DetectedType.JWT) == [sealed]
    for header in (b'{"typ":"JWT"}', b'{"a":"\xff\xff"}', b'{"alg":"HS256"', b'{"a":' + b"[" * 3000):
        assert spans_of(token_of(header), DetectedType.JWT) == []
    assert token_header("W10") == frozenset()
    assert token_header("a") == frozenset()


KEY = "-----BEGIN {0}PRIVATE" + " KEY-----\n{1}\n-----END {0}PRIVATE" + " KEY-----"


def test_private_keys_are_found_whole_or_cut_off() -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 3
    for kind in ("", "RSA ", "OPENSSH ", "ENCRYPTED "):
        key = KEY.format(kind, body)
        assert spans_of(f"x {key} y", DetectedType.PRIVATE_KEY) == [key]
    cut = KEY.format("", body).partition("-----END")[0]
    assert spans_of(f"x {cut}", DetectedType.PRIVATE_KEY) == [cut]
    assert spans_of(f"{cut}-----END", DetectedType.PRIVATE_KEY) == [f"{cut}-----END"]
    assert spans_of(KEY.format("", "..."), DetectedType.PRIVATE_KEY) == []
    assert spans_of(KEY.partition("\n")[0].format(""), DetectedType.PRIVATE_KEY) == []
    assert spans_of(KEY.format("", body).replace("PRIVATE", "PUBLIC"), DetectedType.PRIVATE_KEY) == []


KEYS = {
    "aws": ("AKIA", "IOSFODNN7EXAMPLE".replace("8", "A")),
    "github": ("ghp_", "a1B2" * 9),
    "gitlab": ("glpat-", "a1B2_-" * 4),
    "slack": ("xoxb-", "123456789012-abcDEF"),
    "stripe": ("sk_live_", "a1B2" * 6),
    "google": ("AIza", "a1B2_" * 7),
    "anthropic": ("sk-ant-", "api03-" + "a1B2" * 20),
    "openai": ("sk-proj-", "a1B2" * 20),
    "npm": ("npm_", "a1B2" * 9),
    "pypi": ("pypi-", "AgEIcHlwaS5vcmc" + "a1B2" * 15),
    "twilio": ("SK", HEX),
    "sendgrid": ("SG.", "a" * 22 + "." + "b" * 43),
    "telegram": ("1234567890:AA", "a1B_" * 8 + "x"),
    "mailchimp": (HEX, "-us12"),
}


@pytest.mark.parametrize("vendor", KEYS)
def test_keys_of_vendors_are_found_whole_and_nowhere_inside_a_word(vendor: str) -> None:
    key = "".join(KEYS[vendor])
    assert spans_of(f'"{key}"', DetectedType.API_KEY) == [key]
    assert spans_of(f"x{key}", DetectedType.API_KEY) == []
    assert spans_of(key[:12], DetectedType.API_KEY) == []


def test_a_longer_run_of_characters_is_no_key_of_a_vendor() -> None:
    assert spans_of("npm_" + "a1B2" * 9 + "x", DetectedType.API_KEY) == []
    assert len({vendor.name for vendor in VENDORS}) > 35


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (DRAWN, [DRAWN]),
        (f"x={DRAWN};", [DRAWN]),
        (f"https://example.org/{DRAWN}", []),
        (f"https://example.org/?token={DRAWN}&a=1", [DRAWN]),
        (f"https://example.org/?page={DRAWN}", []),
        (f"see: {DRAWN}", [DRAWN]),
        (f"data:image/png;base64,{DRAWN}", []),
        (f"sha256-{DRAWN}", []),
        (HEX, []),
        (f"etag: {HEX}", []),
        (f'"client_secret": "{HEX}"', [HEX]),
        ("token=6fa459ea-ee8a-3ca4-894e-db77e160355e", []),
        (DRAWN * 20, []),
        ("getElementsByClassNameAndAttribute2", []),
        ("k3j9x0qpz7v1m5t8r2w6b4n0", ["k3j9x0qpz7v1m5t8r2w6b4n0"]),
        ("k3j9-x0qp-z7v1-m5t8-r2w6-b4n0", []),
        ("k3j9x0qpz7v1m5t8r2w6", []),
        ("Donaudampfschifffahrtsgesellschaft2", []),
        (f"-----BEGIN CERTIFICATE-----\n{DRAWN}\n-----END CERTIFICATE-----\n{DRAWN}", [DRAWN]),
        (f"-----BEGIN CERTIFICATE-----\n{DRAWN}", []),
        ("postgres://app:hunter2@db.example.org/x", ["hunter2"]),
        (f"postgres://app:{DRAWN}@db.example.org/x", [DRAWN]),
        ("https://example.org:8080/a@b", []),
    ],
)
def test_secrets_that_do_not_say_what_they_are(text: str, found: list[str]) -> None:
    assert spans_of(text, DetectedType.SECRET) == found


def test_entropy_is_that_of_shannon() -> None:
    assert entropy_bits("aaaa") == 0
    assert entropy_bits("abab") == 1
    assert entropy_bits("abcd") == 2
    assert not looks_random("aB1aB1aB1aB1aB1aB1aB1")


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "known", "found"),
    [
        ("Ada and ADA, adage", ["Ada"], ["Ada", "ADA"]),
        ("Ada Lovelace, Ada  Byron", ["Ada Lovelace", "Ada"], ["Ada Lovelace", "Ada"]),
        ("Ada-Lovelace", ["Ada Lovelace"], ["Ada-Lovelace"]),
        ("Ada, Lovelace", ["Ada Lovelace"], []),
        ("Ada Byron Lovelace", ["Ada Byron King"], []),
        ("Ada Byron", ["Ada Byron King", "Ada"], ["Ada"]),
        ("Straße STRASSE", ["strasse"], ["Straße", "STRASSE"]),
        ("Jose\u0301 José", ["José"], ["Jose\u0301", "José"]),
        ("Ａｄａ", ["Ada"], ["Ａｄａ"]),
        ("ΝΊΚΟΣ Νίκος", ["νίκος"], ["ΝΊΚΟΣ", "Νίκος"]),
        ("प्रिया है", ["प्रिया"], ["प्रिया"]),
        ("我叫王小明。王小", ["王小明"], ["王小明"]),
        ("王小明明", ["王小", "王小明"], ["王小明"]),
        ("김민수는", ["김민수"], ["김민수"]),
        ("คุณสมชายมาแล้ว", ["สมชาย"], ["สมชาย"]),
        ("x 1 A -", ["x", "1", "", "12", "--"], []),
        ("Mary", [], []),
    ],
)
def test_known_names_are_found_as_whole_words_in_any_case(text: str, known: list[str], found: list[str]) -> None:
    assert spans_of(text, DetectedType.KNOWN_NAME, *known) == found


def test_folding_makes_all_spellings_one() -> None:
    assert folded("ADA") == folded("ada")
    assert folded("ﬁ") == folded("FI")
