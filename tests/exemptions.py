"""What may break a rule of the style, and why.

An exemption names rule, file and place, and its reason; one that exempts nothing any more is a failure of its own.
"""

from __future__ import annotations

# (rule, "file::place") -> why this one may. Places are qualified names of classes and functions, or "" for a file.
EXEMPT: dict[tuple[str, str], str] = {
    ("file size", "src/muniment/evidence/verifier.py::"): "users copy and read one file",
    ("file size", "src/muniment/errors.py::"): "a table: everything that is raised on purpose, in one place",
    ("broad except", "src/muniment/transports/http/request_guard.py::RequestGuard.__call__"): "the edge: see there",
    (
        "broad except",
        "src/muniment/embedding/guarded.py::GuardedCall._run",
    ): "code of others, and a search must answer",
    (
        "broad except",
        "src/muniment/host/recording/recorded_client.py::AnswerTap.guarded",
    ): "the edge of a host: its exchange goes on, or it asked for the error",
    (
        "broad except",
        "src/muniment/host/recording/exchange_recorder.py::ExchangeRecorder._annotate",
    ): "the turn is committed: an error would make the host send it again",
    (
        "kwargs",
        "src/muniment/host/recording/recorded_client.py::_sync_send.send",
    ): "stands in for a method of an HTTP client, of any version",
    (
        "kwargs",
        "src/muniment/host/recording/recorded_client.py::_async_send.send",
    ): "stands in for a method of an HTTP client, of any version",
    ("broad except", "src/muniment/host/recording/run_evidence.py::RunEvidence._guarded"): "the edge: a run goes on",
    (
        "kwargs",
        "src/muniment/host/shadowed_call.py::_member.awaited",
    ): "stands in for any method, passes on what it got",
    ("kwargs", "src/muniment/host/shadowed_call.py::_member.called"): "stands in for any method, passes on what it got",
    ("kwargs", "src/muniment/host/shadowed_call.py::_member.listed"): "stands in for any method, passes on what it got",
    ("broad except", "src/muniment/host/shadowed_call.py::_guarded"): "nothing of a shadow reaches the host",
    ("broad except", "src/muniment/host/shadowed_call.py::_after_async"): "nothing of a shadow reaches the host",
    ("parameters", "src/muniment/host/anthropic.py::record"): "who speaks, where and how: each by keyword",
    ("parameters", "src/muniment/host/openai.py::record"): "who speaks, where and how: each by keyword",
    ("kwargs", "src/muniment/aio.py::open"): "stands in for muniment.open",
    ("kwargs", "src/muniment/transports/cli/serve_command.py::_run"): "the options that click parsed, for one struct",
    (
        "kwargs",
        "src/muniment/declaration/operation.py::operation.mark.run",
    ): "stands in for any operation, binds what it got",
    (
        "parameters",
        "src/muniment/operations/memory/memory_group.py::MemoryGroup.amend",
    ): "what changes, and everything that is on record about who changes it",
    (
        "parameters",
        "src/muniment/operations/memory/memory_group.py::MemoryGroup.recall",
    ): "what is asked, of what and how: each is an option of the command",
    (
        "parameters",
        "src/muniment/declaration/operation.py::operation",
    ): "everything that is declared of an operation is declared here, by keyword",
    (
        "parameters",
        "src/muniment/operations/evidence/evidence.py::Evidence.export",
    ): "what is exported, to whom and in which form: each is an option of the command",
    ("kwargs", "src/muniment/log/model.py::_shifted"): "names fields of a row, as the call shows",
    ("kwargs", "src/muniment/log/model.py::_with_head"): "names fields of a head, as the call shows",
    ("kwargs", "src/muniment/replay/restating.py::command_of"): "names fields of a request, as the call shows",
    ("values", "src/muniment/evidence/tree.py::Node"): "made for every append, in the order level, index, hash",
    ("values", "src/muniment/governance/phases.py::Step"): "read in the order it is spoken: transition, first, last",
    ("values", "src/muniment/governance/phases.py::PhaseRun"): "read in the order it is spoken: first, last, phase",
}
