"""What an agent learned, with words to look for: a skill that was edited, and what was observed of a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from muniment.events.identity import SubjectId
from muniment.memory.skills import EditSkill
from muniment.memory.tool_registry import ToolDescription
from muniment.runtime.runtime import Runtime
from tests.memory.tools import feedback, registry, saw

SKILL = {"subject": "ada", "name": "runtime_skill__use_the_lift"}


def learn_and_observe(runtime: Runtime) -> None:
    """Edit a skill that is there, register tools, and record what was observed of one."""
    edit = EditSkill(topic="canaryskilltopic", procedure="canarysteps does this.\nThen that.")
    runtime.skills.edit(SubjectId("ada"), SKILL["name"], edit, "canaryskillwhy", "canarywriter")
    named = ToolDescription(tool="search", schema_fingerprint="s1", display_name="canarytoolname")
    runtime.tools.register(registry(tools=[named], note="canaryregistrynote"), "canarywriter")
    seen = saw(summary="canaryobserved")
    told = feedback(seen, seen, visible_result="canaryvisible", note="canarytoolnote")
    assert runtime.tools.feedback(SubjectId("ada"), told, "canarywriter").changed == 1


def about_skills(through: Callable[..., list[dict[str, Any]]], why: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the requests about skills and tools; `through` makes one for every view."""
    return {
        "subjects.inspect": through({"subject": "ada"}, query=[None, "canarysteps", "zephyr"]),
        "skills.list": through({"subject": "ada"}, include=[[], ["disabled", "retired"]], query=[None, "canarysteps"]),
        "skills.show": through(SKILL),
        "skills.mounted": [{}],
        "skills.disable": [SKILL | why],
        "skills.enable": [SKILL | why],
        "skills.retire": [SKILL | why],
        "skills.restore": [SKILL | why],
        "skills.edit": [SKILL | {"edit": {"title": "zephyr"}, **why}],
        "tools.list": [{}],
        "tools.show": through({"registry": "desk"}),
        "tools.hints": through({"subject": "ada"}),
        "tools.feedback": [
            {"subject": "ada", "feedback": msgspec.to_builtins(feedback()), "requester": "who", "dry_run": dry_run}
            for dry_run in (True, False)
        ],
        "tools.register": [{"snapshot": msgspec.to_builtins(registry()), "requester": "who"}],
        "tools.remove": [{"registry": "desk", **why}],
    }
