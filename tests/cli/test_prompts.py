"""Contexts on the command line: the messages as words, in whichever shape, and what was cut and withheld."""

from __future__ import annotations

import json

import pytest

from muniment.operations.context.prompt import Shape
from tests.cli.shell import Shell

CONTEXT = ("transcripts", "context", "order-LF-20418", "--channel", "web-chat", "--budget-tokens")


@pytest.mark.parametrize("shape", Shape)
def test_messages_are_told_in_words_whatever_their_shape(filled: Shell, shape: Shape) -> None:
    told = filled.must(*CONTEXT, "400", "--shape", shape).out
    for said in (
        "user\n  My money back, please.",
        '  calls open_refund {"euros":84.5,"order":"LF-20418"}',
        "RF-5512",
        f"view model_context  shape {shape}  turns 4 of 5  cut by tokens",
        "tokens     317 of 400, counted by estimate",
        "reference  not_asked",
    ):
        assert said in told
    assert told.index("You are the service desk") < told.index("My money back")


def test_earlier_messages_are_told_in_their_block(filled: Shell) -> None:
    told = filled.must(*CONTEXT, "400", "--query", "green tent order", "--reference-percent", "60").out
    assert "<earlier_messages>" in told
    assert json.loads(filled.must(*CONTEXT, "400", "--json").out)["budget_tokens"] == 400


def test_what_is_withheld_and_left_out_is_told_as_counts(filled: Shell) -> None:
    filled.must(
        *("lifecycle", "request", "order-LF-20418", "--channel", "web-chat", "--transition", "mask"),
        *("--reason", "why", "--requester", "who", "--turn", "turn-4", "--yes"),
    )
    told = filled.must(*CONTEXT, "400", "--record").out
    assert "lifecycle masked 4" in told
    assert "recorded   8" in told
    assert "[Something that was said here is not shown.]" in told


def test_files_and_reasoning_have_words(shell: Shell) -> None:
    parts = [
        {"type": "text", "content": "Look."},
        {"type": "uri", "uri": "https://lamp.example/1.png", "modality": "image"},
    ]
    said = [
        {"role": "user", "content": parts},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "Nice."}],
        },
    ]
    turn = {"turn": "t", "subject": "ada", "conversation": "lamp", "messages": said}
    shell.must("transcripts", "commit", "-", typed=json.dumps(turn))
    context = ("transcripts", "context", "lamp", "--budget-tokens", "90", "--view", "raw_owner")
    told = shell.must(*context, "--file-tokens", "20", "--shape", "otel").out
    assert "(uri)" in told
    assert "(reasoning) hm" in told
    assert "left out   file 1, reasoning 1" in shell.must(*context).out
