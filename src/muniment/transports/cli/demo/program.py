"""The program of the demo: its acts in their order."""

from __future__ import annotations

from collections.abc import Callable

from muniment.transports.cli.demo.finding import search, search_again
from muniment.transports.cli.demo.governing import hold, look_back, redact, remember
from muniment.transports.cli.demo.moving import back_up, move, restore
from muniment.transports.cli.demo.stage import DemoStage, DemoStep
from muniment.transports.cli.demo.steps import commit, erase, export, forge, mask, replay, roll_back, tamper, verify

ACTS: list[Callable[[DemoStage], DemoStep]] = [
    commit, replay, search, back_up, redact, mask, hold, erase, search_again, remember, export, verify, forge,
    look_back, tamper, roll_back, move, restore,
]  # fmt: skip
