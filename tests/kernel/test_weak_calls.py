"""Methods are called for as long as there is what they are of."""

from __future__ import annotations

from muniment.kernel.weak_calls import WeakCalls


class Listener:
    """Counts its calls; with each it lets go of all listeners."""

    calls = 0

    def __init__(self, all_of_them: list[Listener]) -> None:
        self._all = all_of_them

    def hear(self) -> None:
        """Hear something."""
        Listener.calls += 1
        self._all.clear()


def test_each_is_called_once_and_what_is_gone_is_not() -> None:
    """Also where one goes while another is called."""
    calls, listeners = WeakCalls(), list[Listener]()
    listeners.extend(Listener(listeners) for _ in range(2))
    for listener in [*listeners, listeners[0]]:
        calls.add(listener.hear)
    del listener
    Listener.calls = 0
    calls()
    assert Listener.calls == 1
    calls()
    assert Listener.calls == 1


def test_nobody_is_kept_alive() -> None:
    calls, kept = WeakCalls(), list[Listener]()
    kept.append(Listener(kept))
    calls.add(kept[0].hear)
    kept.clear()
    Listener.calls = 0
    calls()
    assert Listener.calls == 0
