"""What becomes of a candidate before anybody looks at its slot: a table, in its order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.events.memory_items import ItemKind, ItemPrivacy, MemoryPlane
from muniment.events.message import Authority
from muniment.memory.candidate import OF_HIGH_AUTHORITY, JudgedBy, Ruling, RulingReason, SemanticJudgement, ruling
from muniment.memory.kinds import KINDS, OTHER_NAMES, ConfidenceBand, band_of, kind_named, slot_topic
from tests.memory.items import candidate, shares

DECIDED: list[tuple[dict[str, Any], Ruling, RulingReason]] = [
    ({"privacy": ItemPrivacy.PRIVATE_GARDEN, "text": ""}, Ruling.DEFER, RulingReason.PRIVATE_TARGET),
    ({"privacy": ItemPrivacy.SOUL_PRIVATE, "text": ""}, Ruling.HAND_OFF, RulingReason.SOUL_TARGET),
    ({"text": " ", "authority": Authority.ASSISTANT_SELF_CLAIM}, Ruling.REFUSE, RulingReason.EMPTY),
    ({"topic": "\t"}, Ruling.REFUSE, RulingReason.EMPTY),
    ({"authority": Authority.ASSISTANT_SELF_CLAIM, "kind": "?"}, Ruling.REFUSE, RulingReason.SELF_CLAIM),
    ({"kind": "?", "evidence": []}, Ruling.REFUSE, RulingReason.UNKNOWN_KIND),
    ({"kind": "procedure"}, Ruling.REFUSE, RulingReason.UNKNOWN_KIND),
    ({"evidence": [], "judgement": None}, Ruling.REFUSE, RulingReason.WITHOUT_SOURCE),
    ({"judgement": None}, Ruling.DEFER, RulingReason.UNJUDGED),
    ({}, Ruling.ACCEPT, RulingReason.JUDGED),
    ({"evidence": [], "attested": True}, Ruling.ACCEPT, RulingReason.JUDGED),
]


@pytest.mark.parametrize(("changed", "decision", "reason"), DECIDED)
def test_the_first_rule_that_applies_decides(changed: dict[str, Any], decision: Ruling, reason: RulingReason) -> None:
    assert ruling(candidate(**changed)) == (decision, reason)


@pytest.mark.parametrize("decision", Ruling)
def test_without_an_objection_it_becomes_what_was_judged(decision: Ruling) -> None:
    judged = SemanticJudgement(decision=decision, judged_by=JudgedBy.MODEL_GOVERNANCE)
    assert ruling(candidate(judgement=judged)) == (decision, RulingReason.JUDGED)


@pytest.mark.parametrize("authority", Authority)
def test_a_candidate_without_a_confidence_has_that_of_its_authority(authority: Authority) -> None:
    band = band_of(candidate(authority=authority).thousandths())
    assert band is (ConfidenceBand.HIGH if authority in OF_HIGH_AUTHORITY else ConfidenceBand.MEDIUM)


@given(shares)
def test_a_confidence_is_kept_as_it_was_given(share: float) -> None:
    assert abs(candidate(confidence=share).thousandths() / 1000 - share) <= 0.0005


@pytest.mark.parametrize(
    ("thousandths", "band"), [(0, "low"), (599, "low"), (600, "medium"), (799, "medium"), (800, "high")]
)
def test_words_are_bands_of_the_number(thousandths: int, band: str) -> None:
    assert band_of(thousandths) == band


def test_every_kind_belongs_to_a_plane_and_every_plane_has_kinds() -> None:
    assert set().union(*KINDS.values()) == set(ItemKind)
    assert KINDS.keys() == set(MemoryPlane)


@pytest.mark.parametrize("name", [*ItemKind, *OTHER_NAMES])
def test_names_of_other_systems_are_known(name: str) -> None:
    assert kind_named(name) is not None


@given(st.text(max_size=20), st.sampled_from(["-", "_", " ", "  "]), st.text(max_size=20))
def test_topics_that_differ_in_case_and_joints_alone_are_one(one: str, joint: str, other: str) -> None:
    topic = slot_topic(f"{one}_{other}")
    assert slot_topic(f"{one}{joint}{other}") == topic
    assert slot_topic(topic) == topic
