"""Tables of words, by language: which are in every sentence, and which make a question ask for what somebody said.

A language is added by adding its words; a word counts in every question, whatever language the rest of it is in.
"""

from __future__ import annotations

import re

from muniment.events.message import Role

ENGLISH = """
a about after again against all also am an and any are aren as at be because been before being below between both but
by can cannot could couldn did didn do does doesn doing don done down during each either else ever few for from
further get gets getting go goes going gone got had hadn happen happened happening happens has hasn have haven having
he her here hers herself him himself his how i if in into is isn it its itself just let like ll made make makes making
many may me might mine more most much must mustn my myself no nor not now of off on once one only or other our ours
ourselves out over own please re s same shall she should shouldn said say says so some something such t tell than that
the their theirs them themselves then there these they thing things this those through to too under until up upon us
ve very was wasn we were weren what when where which while who whom whose why will with won would wouldn yes yet you
your yours yourself yourselves
"""
COMMON = frozenset(ENGLISH.split())

_SAY = (
    "say|suggest|recommend|tell|advise|mention|explain|propose|provide|give|show|list|describe|answer|reply|write|help|"
    "bring up|talk about|ask|discuss"
)
_SAID = (
    "said|suggested|recommended|told|advised|mentioned|explained|proposed|provided|gave|showed|listed|described|"
    "answered|replied|wrote|helped|brought up|talked about|asked|discussed"
)
_NOUNS = "suggestions?|recommendations?|advice|answers?|explanations?|repl(?:y|ies)|proposals?|responses?"


def _asks(who: str, whose: str) -> re.Pattern[str]:
    """Only what was said is asked for: "would you suggest" asks for something new."""
    return re.compile(
        rf"\b(?:did|have|had) {who} (?:\w+ )?(?:{_SAY}|{_SAID})\b"
        rf"|\b{who} (?:\w+ )?(?:{_SAID})\b|\b{whose} (?:{_NOUNS})\b",
        re.IGNORECASE,
    )


# Which role a question asks about; the words that say so are not searched for.
ASKS_ROLE: dict[Role, re.Pattern[str]] = {
    Role.ASSISTANT: _asks("(?:you|(?:the )?(?:assistant|ai|bot|chatbot|model))", "(?:your|(?:assistant|bot|model)'s)"),
    Role.USER: _asks("(?:i|we|(?:the )?user)", "(?:my|our|(?:user)'s)"),
}
ASKS_WHEN = re.compile(
    r"\b(?:when|what (?:date|day|month|year|time)|which (?:date|day|month|year)|how long ago)\b", re.IGNORECASE
)

ROLE_WORDS = frozenset(role.value for role in Role)

# How people begin a message to somebody: with the name in place of `NAME`.
NAME = "NAME"
GREETINGS = tuple(
    f"{greeting} {NAME}"
    for greeting in ("hey", "hi", "hello", "dear", "morning", "evening", "night", "thanks", "thank you", "bye", "sorry")
)

_IRREGULAR = """
become became; begin began begun; bite bit bitten; blow blew blown; break broke broken; bring brought; build built;
buy bought; catch caught; child children; choose chose chosen; cost costs; cut cuts; deal dealt; draw drew drawn;
dream dreamt dreamed; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; fly flew flown; foot feet; forget forgot forgotten; freeze froze frozen; grow grew grown;
hang hung; hear heard; hide hid hidden; hold held; keep kept; know knew known; lead led; learn learnt learned;
leave left; lend lent; lose lost; man men; mean meant; meet met; mouse mice; pay paid; person people; ride rode ridden;
ring rang rung; rise rose risen; run ran; see saw seen; sell sold; send sent; shake shook shaken; shine shone;
shoot shot; sing sang sung; sink sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; stand stood;
steal stole stolen; stick stuck; strike struck; swear swore sworn; swim swam swum; take took taken; teach taught;
tear tore torn; think thought; throw threw thrown; tooth teeth; understand understood; wake woke woken;
wear wore worn; wife wives; win won; woman women; write wrote written
"""
# The other forms of a word that no ending tells.
FORMS: dict[str, tuple[str, ...]] = {
    form: tuple(other for other in forms if other != form)
    for forms in (group.split() for group in _IRREGULAR.split(";"))
    for form in forms
}
