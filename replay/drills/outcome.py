"""What a drill found: one line, with the seed that repeats it."""

from __future__ import annotations

from msgspec import Struct


class Outcome(Struct, frozen=True, kw_only=True):
    """What was tried and what failed. `control` is the same on a store that must fail; it proves the drill can see."""

    name: str
    tried: str
    failures: list[str]
    control: str
    control_failed: bool
    seed: int

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and the control did."""
        return not self.failures and self.control_failed

    @property
    def found(self) -> str:
        """What failed."""
        return f"{len(self.failures)} failures: {'; '.join(self.failures[:5])}" if self.failures else "no failure"

    @property
    def controlled(self) -> str:
        """What the control came to."""
        return f"{self.control}: " + ("detected" if self.control_failed else "NOT detected: this drill proves nothing")

    def line(self) -> str:
        """Return the whole outcome as one line."""
        verdict = "passed" if self.passed else "FAILED"
        return f"{self.name}: {verdict}; {self.tried}; {self.found} (seed {self.seed}); control: {self.controlled}"
