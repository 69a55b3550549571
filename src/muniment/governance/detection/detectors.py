"""The detectors: which type is found by which. Whoever adds one adds a row here.

Coverage is what was looked for, never "all". Nothing here finds names that nobody gave, postal addresses, dates of
birth, numbers of identity cards, or what is written in pictures and files.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from muniment.governance.detection import addresses, credentials, numbers
from muniment.governance.detection import known_names as names
from muniment.governance.detection import secret_tokens as tokens
from muniment.governance.detection.scan import Coverage, DetectedType, Detector

# The detectors that need nothing but the text.
DETECTORS: tuple[Detector, ...] = (
    Detector(name="pem", type=DetectedType.PRIVATE_KEY, find=credentials.private_keys),
    Detector(name="jose", type=DetectedType.JWT, find=credentials.web_tokens),
    Detector(name="vendors", type=DetectedType.API_KEY, find=credentials.api_keys),
    Detector(name="luhn", type=DetectedType.PAYMENT_CARD, find=numbers.cards),
    Detector(name="mod97", type=DetectedType.IBAN, find=numbers.ibans),
    Detector(name="mailbox", type=DetectedType.EMAIL, find=addresses.emails),
    Detector(name="ipv4", type=DetectedType.IP_ADDRESS, find=numbers.ip4_addresses),
    Detector(name="ipv6", type=DetectedType.IP_ADDRESS, find=numbers.ip6_addresses),
    Detector(name="writings", type=DetectedType.PHONE_NUMBER, find=addresses.phones),
    Detector(name="entropy", type=DetectedType.SECRET, find=tokens.tokens),
    Detector(name="url_password", type=DetectedType.SECRET, find=tokens.url_passwords),
)
NAMES_DETECTOR = "given_names"

ALL: frozenset[DetectedType] = frozenset(DetectedType)


class DetectorSet(Struct, frozen=True, kw_only=True):
    """What is looked for: some detectors, made ready."""

    detectors: tuple[Detector, ...] = ()


def detectors_for(types: Collection[DetectedType], known: Collection[str] = ()) -> DetectorSet:
    """Return the detectors of some types; `known` are the names to find when names are among them."""
    chosen = [detector for detector in DETECTORS if detector.type in types]
    if DetectedType.KNOWN_NAME in types:
        chosen.append(Detector(name=NAMES_DETECTOR, type=DetectedType.KNOWN_NAME, find=names.finder(known)))
    return DetectorSet(detectors=tuple(chosen))


def coverage_of(detection: DetectorSet) -> list[Coverage]:
    """State what is looked for and by which detectors, in the order of the types."""
    return [
        Coverage(type=kind, detectors=found)
        for kind in DetectedType
        if (found := sorted(one.name for one in detection.detectors if one.type is kind))
    ]
