"""Many spaces behind one server with room for a few: the key decides the space, and no request meets a closed one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import msgspec
import pytest

import muniment
from muniment.evidence.pin import FilePin
from muniment.kernel.sources import seeded_sources
from muniment.space.options import Options
from tests.served.conftest import EVERYTHING, serving
from tests.served.test_mcp import mounts
from tests.turns import TALK, plain_turn
from tests.worlds import PINS, STORE, root_key

SPACES, SPACES_MAX, CALLERS, CALLS = 50, 4, 8, 20
TALKING = {"conversation": {"conversation": TALK}}


@pytest.mark.slow
def test_fifty_spaces_in_the_room_of_four(tmp_path: Path) -> None:
    """Eight callers at once go from space to space: nothing fails, nothing is lost, nothing comes from elsewhere."""
    options = Options(sources=seeded_sources("many"), pin=FilePin(tmp_path / PINS), spaces_max=SPACES_MAX)
    with muniment.open(tmp_path / STORE, keys=root_key(), options=options) as runtime:
        keys = [runtime.space(f"tenant-{n}").clients.create(f"c-{n}", EVERYTHING).key for n in range(SPACES)]
    with (
        muniment.open(tmp_path / STORE, keys=root_key(), options=options) as runtime,
        serving(runtime, mounts=mounts) as url,
    ):
        spaces = runtime._session.store._spaces

        def post(number: int, path: str, given: Any, http: httpx2.Client) -> Any:
            answer = http.post(f"/v1/{path}", json=given, headers={"Authorization": f"Bearer {keys[number]}"})
            assert answer.status_code == 200, answer.text
            assert len(spaces.listed()) <= SPACES_MAX + CALLERS
            return answer.json()

        def call(caller: int) -> list[tuple[int, str]]:
            chance, done = Random(caller), []
            with httpx2.Client(base_url=url, timeout=60) as http:
                for number in range(CALLS):
                    tenant, turn = chance.randrange(SPACES), plain_turn(caller * 100 + number)
                    post(tenant, "transcripts/commit", {"turn": msgspec.to_builtins(turn)}, http)
                    done.append((tenant, turn.turn))
                    refused = http.post("/v1/transcripts/replay", content=b"{", headers={"Authorization": "Bearer x"})
                    assert refused.status_code == 401
                    broken = {"Authorization": f"Bearer {keys[tenant]}", "Content-Type": "application/json"}
                    assert http.post("/v1/transcripts/replay", content=b"{", headers=broken).status_code == 400
                    assert http.post("/mcp", content=b"{", headers=broken).status_code == 400
            return done

        with ThreadPoolExecutor(CALLERS) as pool:
            committed = [each for done in pool.map(call, range(CALLERS)) for each in done]
        assert len(spaces.listed()) <= SPACES_MAX
        with httpx2.Client(base_url=url, timeout=60) as http:
            for tenant in range(SPACES):
                turns = sorted(turn for number, turn in committed if number == tenant)
                listed = post(tenant, "conversations/list", {}, http)["conversations"]
                if turns:
                    shown = post(tenant, "transcripts/replay", TALKING, http)["turns"]
                    assert sorted(each["turn"] for each in shown) == turns
                assert len(listed) == bool(turns)
        assert len(spaces.listed()) <= SPACES_MAX
