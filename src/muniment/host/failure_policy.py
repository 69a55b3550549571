"""What a failure of the store does to what a host is doing."""

from __future__ import annotations

from enum import StrEnum

from muniment.errors import Kind, MunimentError


class FailurePolicy(StrEnum):
    """With `fail_open` the host goes on, and the failure is counted and logged; with `fail_closed` it is raised.

    Corruption is raised in either case: nothing that such a store says can be relied on.
    """

    FAIL_OPEN = "fail_open"
    FAIL_CLOSED = "fail_closed"

    def is_raised(self, error: Exception) -> bool:
        """Tell whether a failure reaches the host."""
        return self is FailurePolicy.FAIL_CLOSED or (isinstance(error, MunimentError) and error.kind is Kind.CORRUPT)
