"""What the doctor says of memory: how much is in use, and what waits for somebody."""

from __future__ import annotations

from muniment.events.changes import Transition
from muniment.events.memory_governance import PolicyAction
from muniment.governance.views import View
from muniment.operations.notebook.decide_report import ProposalVerdict
from muniment.operations.notebook.policy_requests import MemorySelector
from muniment.projections.inspection.findings import FindingKind
from tests.memory.asking import remember
from tests.memory.items import candidate, skill
from tests.runtime.item_damage import PLANTED_IN_MEMORY, remembered
from tests.turns import SUBJECT
from tests.worlds import World


def test_the_doctor_says_how_memory_stands(world: World) -> None:
    """Counts over all subjects; nothing of a space without memory, and nothing that rests on damage."""
    doctor, notebook = world.runtime.system.doctor, world.runtime.notebook
    assert doctor().items_in_use is None
    remembered(world)
    remember(world, "Bob is here", None, subject="bob", topic="where")
    remember(world, "Was in Bern", topic="past", expires_ms=1)
    remember(world, **skill())
    world.runtime.skills.disable(SUBJECT, "runtime_skill__use_the_lift", "asked", "ada")
    for topic in ("milk", "sugar"):
        assert notebook.propose([candidate("Takes it", topic=topic)], "seen", "host").proposed == 1
    (first, *_) = world.runtime.notebook.proposals(SUBJECT, View.RAW_OWNER).proposals
    notebook.decide(first.item.id, ProposalVerdict.REJECT, "no", "ada")
    for action in (PolicyAction.PAUSE, PolicyAction.SUPPRESS, PolicyAction.RESUME):
        notebook.set_policy(action, "asked", "ada", MemorySelector(subject=SUBJECT, topic="pay"))
    world.request(Transition.MASK, 3)
    report = doctor()
    assert report.healthy
    assert (report.items_in_use, report.items_to_review) == (3, 1)
    assert (report.proposals_open, report.policies_stopping) == (1, 1)
    PLANTED_IN_MEMORY["an item used again in a slot that is taken"].plant(world)
    report = doctor()
    assert [(each.kind, "memory amend" in each.next) for each in report.findings if not each.warning] == [
        (FindingKind.SLOT_IN_USE_TWICE, True)
    ]
    assert report.items_in_use is None
