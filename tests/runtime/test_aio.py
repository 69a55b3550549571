"""The groups for asyncio: the same operations in threads, with types that mypy sees.

A call that is wrong carries a `type: ignore` here. mypy refuses one that it does not need, so that losing the types
fails `mypy` as much as a wrong one.
"""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

import muniment.aio
from muniment.errors import AccessDenied, InvalidInput, StoreClosed
from muniment.governance.access import Access, Effect
from muniment.operations.transcripts.commit import CommitReceipt
from muniment.operations.transcripts.replay import Slice
from muniment.runtime.catalogue import catalogue
from tests.aio_stub import stub
from tests.turns import plain_turn
from tests.worlds import key_of


def test_operations_are_awaited_and_return_what_they_return() -> None:
    async def run() -> tuple[CommitReceipt, Slice]:
        async with await muniment.aio.open("memory:") as runtime:
            committed = await runtime.transcripts.commit(plain_turn(1))
            return committed, await runtime.transcripts.replay(key_of(), limit=1)

    committed, shown = asyncio.run(run())
    assert (committed.sequence, [turn.turn for turn in shown.turns]) == (1, ["turn-1"])


def test_a_wrong_call_is_refused_by_mypy_and_at_run_time() -> None:
    async def run() -> None:
        async with await muniment.aio.open("memory:") as runtime:
            with pytest.raises(InvalidInput):
                await runtime.transcripts.commit(5)  # type: ignore[arg-type]  # mypy must see this
            with pytest.raises(InvalidInput):
                await runtime.transcripts.replay(key_of(), limits=1)  # type: ignore[call-arg]  # and this
            with pytest.raises(AttributeError):
                runtime.transcripts.no_operation  # type: ignore[attr-defined]  # noqa: B018 - and this
            with pytest.raises(AttributeError):
                runtime.nowhere  # type: ignore[attr-defined]  # noqa: B018 - and this
            sizes: int = await runtime.spaces.list_()  # type: ignore[assignment]  # and what is returned
            assert sizes

    asyncio.run(run())


def test_rights_and_spaces_are_those_of_the_runtime() -> None:
    async def run() -> None:
        runtime = await muniment.aio.open("memory:")
        there = await runtime.space("elsewhere")
        await there.transcripts.commit(plain_turn(1))
        assert (await runtime.spaces.usage()).turns == 0
        assert (await there.spaces.usage()).turns == 1
        window = runtime.restricted(Access(effects=frozenset({Effect.READ})))
        assert window.access.effects == {Effect.READ}
        with pytest.raises(AccessDenied):
            await window.transcripts.commit(plain_turn(2))
        await there.close()
        await runtime.system.health()
        await runtime.close()
        with pytest.raises(StoreClosed):
            await runtime.system.health()

    asyncio.run(run())


def test_the_types_name_every_operation() -> None:
    """The committed file is compared with the other contracts (tests/test_schemas.py)."""
    text = stub()
    assert text == Path(inspect.getfile(muniment.aio)).with_suffix(".pyi").read_text()
    assert text.count("    async def ") - text.count("async def __a") - 2 == len(catalogue())
