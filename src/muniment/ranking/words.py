"""Tables of words, by language: which are in every sentence, and which make a question ask for what somebody said.

A language is added by adding its words; a word counts in every question, whatever language the rest of it is in.
"""

from __future__ import annotations

import re

ENGLISH = """
a about after again against all also am an and any are aren as at be because been before being below between both but
by can cannot could couldn did didn do does doesn doing don done down during each either else ever few for from
further get gets getting go goes going gone got had hadn has hasn have haven having he her here hers herself him
himself his how i if in into is isn it its itself just let like ll made make makes making many may me might mine more
most much must mustn my myself no nor not now of off on once one only or other our ours ourselves out over own please
re s same shall she should shouldn so some something such t tell than that the their theirs them themselves then there
these they thing things this those through to too under until up upon us ve very was wasn we were weren what when
where which while who whom whose why will with won would wouldn yes yet you your yours yourself yourselves
"""
COMMON = frozenset(ENGLISH.split())

_SAYS = (
    "say|said|suggest|suggested|recommend|recommended|tell|told|advise|advised|mention|mentioned|explain|explained|"
    "propose|proposed|provide|provided|give|gave|show|showed|list|listed|describe|described|answer|answered|reply|"
    "replied|write|wrote"
)
ASKS_ASSISTANT = re.compile(
    rf"\b(?:you|assistant|ai|bot|model|chatbot)\b(?: \w+)? (?:{_SAYS})\b"
    r"|\byour (?:\w+ )?(?:suggestions?|recommendations?|advice|answers?|explanations?|repl(?:y|ies)|proposals?)\b",
    re.IGNORECASE,
)
ASKS_WHEN = re.compile(
    r"\b(?:when|what (?:date|day|month|year|time)|which (?:date|day|month|year)|how long ago)\b", re.IGNORECASE
)
