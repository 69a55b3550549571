"""Dates of birth: a date after a word that says that somebody was born.

Any other date is left alone: orders, meetings and releases have dates, too. The word is before the date on the same
line, or (of languages that put it there) directly behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.governance.detection.letters import words_before
from muniment.governance.detection.scan import TextSpan

WORD_CHARACTERS = 32  # how far before a date its word may be

_MONTHS = (
    # English, German, French, Spanish, Italian, Dutch, Portuguese, Polish
    "jan(?:uary|uar|vier|uari)?|ene(?:ro)?|gen(?:naio)?|janeiro|stycznia",
    "feb(?:ruary|ruar|rero|braio|ruari)?|févr?(?:ier)?|fevereiro|lutego",
    "mar(?:ch|zo)?|märz|maerz|mars|maart|março|marca",
    "apr(?:il|ile)?|avr(?:il)?|abr(?:il)?|kwietnia",
    "may|mai|mayo|maggio|mei|maio|maja",
    "june?|juni|juin|junio|giugno|junho|czerwca",
    "july?|juli|juill?(?:et)?|julio|luglio|julho|lipca",
    "aug(?:ust|ustus)?|août|aout|agosto|sierpnia",
    "sept?(?:ember|embre|tembre|iembre)?|settembre|setembro|września",
    "oct(?:ober|obre)?|okt(?:ober)?|octubre|ottobre|outubro|października",
    "nov(?:ember|embre|iembre|embro)?|listopada",
    "dec(?:ember)?|dez(?:ember|embro)?|déc(?:embre)?|dic(?:iembre|embre)?|grudnia",
)
_MONTH = rf"(?:{'|'.join(_MONTHS)})"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_YEAR = r"(?:19|20)\d{2}"
_DATE = re.compile(
    rf"(?i)(?<![\w.])(?:{_YEAR}([-/.])(?:0?[1-9]|1[0-2])\1{_DAY}"  # 1985-03-12
    rf"|(?:{_DAY})([-/.] ?)(?:{_DAY})\2(?:{_YEAR}|\d{{2}})"  # 12.3.1985, 03/12/85
    rf"|{_DAY}(?:st|nd|rd|th|er|º|\.)?(?: of| de| di| d['’])? ?{_MONTH}\.?,?(?: de| di| del)? ?(?:{_YEAR}|['’]\d{{2}})"
    rf"|{_MONTH}\.? {_DAY}(?:st|nd|rd|th)?,? {_YEAR}"  # March 12, 1985
    r")(?!\w|\.\d)"
)
_CJK_DATE = re.compile(r"(?<!\d)(?:19|20)\d{2}(?:年 ?\d{1,2}月 ?\d{1,2}日|년 ?\d{1,2}월 ?\d{1,2}일)")
_BORN = re.compile(
    r"(?i)(?:\bborn\b|\bbirth ?(?:day|date)?\b|\bd\.?o\.?b\b\.?|\bb-?day\b|\bgeb(?:oren|urtsdatum|urtstag|\.)?(?!\w)"
    r"|\bnée?\b|\bnee? (?:le|en)\b|\bnaissance\b|\banniversaire\b|\bnacid[oa]\b|\bnacimiento\b|\bnací\b|\bcumpleaños\b"
    r"|\bnat[oa]\b|\bnascita\b|\bcompleanno\b|\bgeboortedatum\b|\bverjaardag\b|\bnascimento\b|\bnascid[oa]\b|\bnasci\b"
    r"|\burodz\w*|\bfödd\b|\bfødt\b|рожден|родил|doğum|出生|生日|生年月日|誕生日|생년월일|생일)"
    r"[^\n;!?0-9]*$"
)
_BEHIND = re.compile("生まれ|生|출생")


def birth_dates(text: str) -> Iterator[TextSpan | None]:
    """Find dates that are said to be somebody's date of birth."""
    for match in _DATE.finditer(text):
        yield TextSpan(*match.span()) if _is_said(text, match) else None
    for match in _CJK_DATE.finditer(text):
        is_birth = _is_said(text, match) or _BEHIND.match(text, match.end()) is not None
        yield TextSpan(*match.span()) if is_birth else None


def _is_said(text: str, match: re.Match[str]) -> bool:
    return _BORN.search(words_before(text, match.start(), WORD_CHARACTERS)) is not None
