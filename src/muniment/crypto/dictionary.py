"""The text that every compressed cell is written against (RFC 1951 with a preset dictionary): part of the format.

Most turns are short, so that a compressor has seen nothing yet when they end. What stands here can be referred to from
the first byte: how a packed body begins, the names of its members, and words that conversations are full of. What is
most frequent comes last, where a reference to it is shortest. These bytes never change (`schemas/FORMAT.md`).
"""

from __future__ import annotations

_WORDS = (
    "again against almost already always another answer before better between change could different does doing done "
    "down during each either enough error even every example file find first following found give good great help here "
    "however important information into invalid know last like look made make many maybe mean message might more most "
    "much must name need never next nothing number only order other over people place please point possible problem "
    "question really request result right same should show since some something still such sure take tell thank thanks "
    "their them then there these they thing think this those through time today tool try two under until update user "
    "using very want was way well were what when where which while who why will with without work would wrong year yes "
    "yet your https://www. .com/ 2024-01- 2025-01- T00:00:00Z application/json true false null \n\n```\n**\n- 1. "
)
_PHRASES = (
    "I'm sorry, but I can help you with that. Is there anything else Would you like me to Thank you for your Could you "
    "please let me know if you have any It is not that we are on the and to of in for a an as at be by from has have "
    "it its or you can do if no "
)
_NAMES = (
    b"summarieslabelsfile_idurimime_typemodalityblobreasoningnameidargumentsresponse\x82\xa4type\xb2tool_call_response"
    b"\xa8response\x84\xa4type\xa9tool_call\xa4name\xa2id\xa9arguments\xa4user\xa9assistant\xa6system"
)
_BEGINNINGS = (
    b"\x93\x01\xc0\x81\xa5words\x81\xaerequest/reason\xa6digest\xc4 "
    b"\x93\x01\xc0\x82\xa5parts\x92\x91\x82\xa4type\xa4text\xa7content\xd9"
)

DICTIONARY = _WORDS.encode() + _PHRASES.encode() + _NAMES + _BEGINNINGS
