"""The table of detectors: which detector finds which type. A new detector is a new row.

Coverage is never complete. No detector of ours finds unknown names, postal addresses, or text in images and files. A
host adds detectors of its own (`Detect.detectors`); `muniment.host` has adapters to libraries for names and numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from muniment.governance.detection import (
    addresses,
    bank_codes,
    birth_dates,
    credentials,
    known_names,
    national_ids,
    numbers,
    passwords,
    secret_tokens,
)
from muniment.governance.detection.scan import Coverage, DetectedType, Detector

# The detectors that need only the text.
DETECTORS: tuple[Detector, ...] = (
    Detector(name="pem", type=DetectedType.PRIVATE_KEY, find=credentials.private_keys),
    Detector(name="jose", type=DetectedType.JWT, find=credentials.web_tokens),
    Detector(name="vendors", type=DetectedType.API_KEY, find=credentials.api_keys),
    Detector(name="luhn", type=DetectedType.PAYMENT_CARD, find=numbers.cards),
    Detector(name="mod97", type=DetectedType.IBAN, find=numbers.ibans),
    Detector(name="issued", type=DetectedType.NATIONAL_ID, find=national_ids.national_ids),
    Detector(name="documents", type=DetectedType.NATIONAL_ID, find=national_ids.named_documents),
    Detector(name="named_codes", type=DetectedType.BANK_CODE, find=bank_codes.bank_codes),
    Detector(name="born", type=DetectedType.BIRTH_DATE, find=birth_dates.birth_dates),
    Detector(name="mailbox", type=DetectedType.EMAIL, find=addresses.emails),
    Detector(name="ipv4", type=DetectedType.IP_ADDRESS, find=numbers.ip4_addresses),
    Detector(name="ipv6", type=DetectedType.IP_ADDRESS, find=numbers.ip6_addresses),
    Detector(name="writings", type=DetectedType.PHONE_NUMBER, find=addresses.phones),
    Detector(name="entropy", type=DetectedType.SECRET, find=secret_tokens.tokens),
    Detector(name="url_password", type=DetectedType.SECRET, find=secret_tokens.url_passwords),
    Detector(name="said_password", type=DetectedType.SECRET, find=passwords.passwords),
)
NAMES_DETECTOR = "given_names"

# What detectors of muniment find.
ALL: frozenset[DetectedType] = frozenset({detector.type for detector in DETECTORS} | {DetectedType.KNOWN_NAME})


class DetectorSet(Struct, frozen=True, kw_only=True):
    """The selected detectors."""

    detectors: tuple[Detector, ...] = ()


def detectors_for(
    types: Collection[DetectedType], known: Collection[str] = (), of_host: Sequence[Detector] = ()
) -> DetectorSet:
    """Return the detectors of some types; `known` are the names to find when the types include names."""
    chosen = [detector for detector in (*DETECTORS, *of_host) if detector.type in types]
    if DetectedType.KNOWN_NAME in types:
        chosen.append(Detector(name=NAMES_DETECTOR, type=DetectedType.KNOWN_NAME, find=known_names.finder(known)))
    return DetectorSet(detectors=tuple(chosen))


def coverage_of(detection: DetectorSet) -> list[Coverage]:
    """Return the detected types with their detectors, in the order of the types."""
    names: dict[DetectedType, list[str]] = {}
    for detector in detection.detectors:
        names.setdefault(detector.type, []).append(detector.name)
    return [Coverage(type=kind, detectors=sorted(names[kind])) for kind in DetectedType if kind in names]
