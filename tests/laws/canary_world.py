"""A world with a canary in everything that a view may hide, and who may see which, repeated by hand."""

from __future__ import annotations

from msgspec.structs import replace

from muniment.events.attributes import Attribute, AttributeLink, AttributeSource, SourceKind
from muniment.events.identity import ConversationId, SubjectId, TurnId
from muniment.events.memory_governance import PolicyAction
from muniment.events.memory_items import ItemPrivacy, MemoryPlane
from muniment.events.message import (
    Authority,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from muniment.events.references import HostReference, Plane, Relation, Visibility
from muniment.events.turn import ToolObservation
from muniment.governance.views import View
from muniment.memory.amendment import CorrectItem
from muniment.operations.lifecycle.scope import Scope
from muniment.operations.memory.forget_targets import ForgetTarget
from muniment.operations.notebook.policy_requests import MemorySelector
from muniment.operations.provenance.derivations import Derivation
from muniment.operations.transcripts.redact import Passage
from muniment.runtime.runtime import Runtime
from tests.attributes import SEES, attribute
from tests.laws.learned import learn_and_observe
from tests.memory.items import candidate, skill
from tests.turns import TALK, answered, asked, plain_turn
from tests.worlds import OPERATOR, World, key_of, memory_world

RAW, MODEL, UI, AUDIT, EXPORT = View
NOBODY: set[View] = set()
FILES = ConversationId("files")

# a word -> the views that may show it
CANARIES: dict[str, set[View]] = {
    "canarymasked": NOBODY,
    "canaryerased": NOBODY,
    "canarygone": NOBODY,
    "canaryfilemasked": NOBODY,
    "canaryfileerased": NOBODY,
    "canaryfilegarden": {RAW},
    "canaryfileredacted": {RAW},
    "canaryfileseen": {RAW, MODEL, UI, EXPORT},
    "canaryitem": {RAW, MODEL, UI, EXPORT},
    "canaryproposal": {RAW, MODEL, UI, EXPORT},
    "canaryrationale": {RAW, MODEL, UI, EXPORT},
    "canaryretold": {RAW, MODEL, UI, EXPORT},
    **{f"canary{said}": {RAW, MODEL, UI, EXPORT} for said in ("steps", "skilltitle", "skillsummary", "skilltopic")},
    "canarynoteofskill": {RAW},
    "canaryskillwhy": {RAW, AUDIT},
    "canarytoolname": {RAW, MODEL, UI, EXPORT},
    "canaryregistrynote": {RAW},
    "canaryobserved": {RAW, MODEL, UI, EXPORT},
    "canaryvisible": {RAW, MODEL, UI, EXPORT},
    "canarytoolnote": {RAW},
    "canarydiagnosis": {RAW},
    "canaryforgotten": NOBODY,
    "canarywhy": {RAW, AUDIT},
    "canarywriter": {RAW, AUDIT},
    "canarytitle": NOBODY,
    "canarytag": NOBODY,
    "canaryhushed": NOBODY,
    "canarypreview": {RAW},
    "canaryredacted": {RAW},
    "canaryrange": {RAW},
    "canarygarden": {RAW},
    "canarysoul": {RAW},
    "canarydiagnostic": {RAW},
    "canaryreasoning": {RAW},
    "canarysystem": {RAW, MODEL},
    "canaryargument": {RAW, MODEL},
    "canaryresult": {RAW, MODEL},
    "canarysummary": {RAW, AUDIT},
    "canaryrefinternal": {RAW},
    "canaryrefhost_ui": {RAW, UI, AUDIT},
    "canaryrefmodel_context": {RAW, MODEL},
    "canaryrefoperator_audit": {RAW, AUDIT},
    "canaryrefexport": {RAW, UI, AUDIT, EXPORT},
    **{f"canarylabel{visibility}": {RAW} for visibility in Visibility},
    "canarylabelhost_ui": {RAW, UI},
    **{f"canaryvalue{visibility}": SEES[visibility] - {EXPORT} for visibility in Visibility},
    **{f"canarylink{visibility}": SEES[visibility] - {EXPORT} for visibility in Visibility},
    **{f"canarynote{visibility}": SEES[visibility] & {RAW, AUDIT} for visibility in Visibility},
    "canaryprivatekey": {RAW},
    "canaryhandedkey": {RAW},
    "canarykey": {RAW, AUDIT},
}


def full_world() -> World:
    """Return a world with every canary in it."""
    world = memory_world()
    rich = replace(
        plain_turn(1),
        messages=[
            asked("zephyr question"),
            Message(role=Role.SYSTEM, content="zephyr canarysystem"),
            Message(
                role=Role.ASSISTANT,
                content=[
                    ReasoningPart(content="zephyr canaryreasoning"),
                    ToolCallPart(name="look", id="c", arguments={"a": "zephyr canaryargument"}),
                ],
            ),
            Message(role=Role.TOOL, content=[ToolCallResponsePart(id="c", response={"a": "zephyr canaryresult"})]),
            Message(role=Role.USER, content="zephyr canarygarden", authority=Authority.PRIVATE_GARDEN_INTERNAL),
            Message(role=Role.ASSISTANT, content="zephyr canarysoul", authority=Authority.SOUL_GOVERNANCE),
            Message(role=Role.ASSISTANT, content="zephyr canarydiagnostic", authority=Authority.OPERATOR_DIAGNOSTIC),
            asked("zephyr canaryredacted"),
            asked("zephyr canaryrange words"),
            Message(role=Role.USER, content=[TextPart(content="zephyr canarygone")]),
            answered("zephyr answer"),
        ],
        tools=[ToolObservation(id="o", tool="look", summary="zephyr canarysummary")],
        host_refs=[
            HostReference(
                host="crm", type="case", id=f"canaryref{each}", relation=Relation.RELATED, visibility=each,
                label=f"canarylabel{each}",
            )
            for each in Visibility
        ],
    )  # fmt: skip
    world.with_turn(rich)
    for number, word in ((1, "canaryhushed"), (2, "canarypreview")):
        world.with_turn(replace(plain_turn(number, "hush"), messages=[asked(f"zephyr {word}")]))
    for number, word in ((2, "canarymasked"), (3, "canaryerased"), (4, "plain")):
        world.with_turn(replace(plain_turn(number), messages=[asked(f"zephyr {word}"), answered(f"zephyr {word}")]))
    runtime, others = world.runtime, [view for view in View if view is not RAW]
    given = [_attribute(each) for each in Visibility]
    assert runtime.transcripts.annotate(key_of(), given).accepted == len(given)
    planes = {"canaryprivatekey": Plane.PRIVATE_GARDEN, "canaryhandedkey": Plane.SOUL_CANDIDATE_HANDOFF,
              "canarykey": Plane.LONG_TERM}  # fmt: skip
    runtime.provenance.record([
        Derivation(plane=plane, key=name, subject=SubjectId("ada"), conversation=key_of(), turn=TurnId("turn-1"))
        for name, plane in planes.items()
    ])  # fmt: skip
    world.redacted(Passage(turn=TurnId("turn-1"), message=7), *others)
    world.redacted(Passage(turn=TurnId("turn-1"), message=8, part=0, start=7, end=18), *others)
    runtime.lifecycle.erase(Scope(conversation=TALK, message="turn-1#9"), "asked for", OPERATOR)
    _remember(runtime)
    runtime.conversations.describe(key_of("hush"), "canarytitle", ["canarytag"])
    world.masked(1, "hush").redacted(Passage(turn=TurnId("turn-2")), *others, conversation="hush")
    world.masked(2).erased(3)
    runtime.lifecycle.hold(Scope(conversation=TALK, turn=TurnId("turn-4")), "a lawsuit", OPERATOR)
    runtime.lifecycle.erase(Scope(conversation=TALK, turn=TurnId("turn-4")), "asked for", OPERATOR)
    runtime.disclosure.reveal(key_of(), TurnId("turn-1"), "a complaint", OPERATOR)
    _attach_files(world)
    return world


def _remember(runtime: Runtime) -> None:
    """Record memory items: one for everybody, one for operators, one that is forgotten."""
    items = {
        "i-1": candidate("zephyr thing", topic="one", id="i-1"),
        "i-2": candidate("canarydiagnosis", topic="two", id="i-2", privacy=ItemPrivacy.OPERATOR_DIAGNOSTIC),
        "k-1": candidate(
            **skill(text="zephyr thing.\nA second step of it.", title="canaryskilltitle", summary="canaryskillsummary"),
            id="k-1",
            note="canarynoteofskill",
        ),
        "i-3": candidate("canaryforgotten", topic="three", id="i-3", keywords=["canaryforgotten"]),
    }
    runtime.memory.remember(list(items.values()), "canarywriter")
    runtime.memory.amend("i-1", CorrectItem(text="canaryitem"), "canarywhy", "canarywriter")
    learn_and_observe(runtime)
    runtime.memory.forget(SubjectId("ada"), ForgetTarget(item="i-3"), "asked for", OPERATOR)
    proposed = candidate("canaryproposal", topic="five", id="p-1")
    runtime.notebook.propose([proposed], "canaryrationale", "canarywriter")
    asked_for = MemorySelector(subject=SubjectId("ada"), topic="zephyr*")
    runtime.notebook.set_policy(PolicyAction.SUPPRESS, "house rules", OPERATOR, asked_for)
    retold = candidate("canaryretold", 4, topic="six", id="s-1", plane=MemoryPlane.SUMMARY, kind="summary")
    runtime.memory.remember([retold], "canarywriter", "night-1")


def _attach_files(world: World) -> None:
    """Commit turns with files; the words beside them are nobody's secret."""

    def of(word: str, authority: Authority | None = None) -> Message:
        file = world.runtime.attachments.add(f"a file of {word}".encode()).part
        return Message(role=Role.USER, content=[file], authority=authority)

    first = [of("canaryfileseen"), of("canaryfilegarden", Authority.PRIVATE_GARDEN_INTERNAL), of("canaryfileredacted")]
    world.with_turn(replace(plain_turn(1, FILES), messages=first))
    for number, word in ((2, "canaryfilemasked"), (3, "canaryfileerased")):
        world.with_turn(replace(plain_turn(number, FILES), messages=[of(word)]))
    world.redacted(
        Passage(turn=TurnId("turn-1"), message=2), *(view for view in View if view is not RAW), conversation=FILES
    )
    world.masked(2, FILES).erased(3, FILES)


def _attribute(visibility: Visibility) -> Attribute:
    source = AttributeSource(writer="w", kind=SourceKind.HOST_REPORTED, reason=f"canarynote{visibility}")
    link = AttributeLink(relation="of", kind="case", id=f"canarylink{visibility}")
    value = f"canaryvalue{visibility}"
    return attribute(f"a-{visibility}", value, visibility=visibility, source=source, links=[link])
