"""Check digits: one function for each scheme, over digits without gaps."""

from __future__ import annotations

from collections.abc import Sequence


def luhn(digits: str) -> bool:
    """Return whether the last digit is the Luhn check digit of the others (ISO/IEC 7812-1)."""
    doubled = (int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def weighted(digits: str, weights: Sequence[int]) -> int:
    """Return the sum of the digits, each times its weight."""
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))


def mod11_10(digits: str) -> bool:
    """Return whether the last digit checks the others by ISO/IEC 7064 mod 11,10."""
    check = 10
    for digit in digits[:-1]:
        check = ((check + int(digit)) % 10 or 10) * 2 % 11
    return (check + int(digits[-1])) % 10 == 1


def mod11_2(digits: str) -> bool:
    """Return whether the last character (a digit, or X for 10) checks the others by ISO/IEC 7064 mod 11-2."""
    check = 0
    for digit in digits[:-1]:
        check = (check + int(digit)) * 2 % 11
    return (check + (10 if digits[-1] in "xX" else int(digits[-1]))) % 11 == 1


_PRODUCT = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_PERMUTATION = (
    "0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258",
)  # fmt: skip


def verhoeff(digits: str) -> bool:
    """Return whether the last digit checks the others by the dihedral group of order 10 (Verhoeff 1969)."""
    check = 0
    for index, digit in enumerate(reversed(digits)):
        check = int(_PRODUCT[check][int(_PERMUTATION[index % 8][int(digit)])])
    return check == 0
