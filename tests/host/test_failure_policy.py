"""Which failures of a store reach the host."""

from __future__ import annotations

import pytest

from muniment.errors import Corrupt, InvalidInput, StoreClosed
from muniment.host.failure_policy import FailurePolicy
from muniment.host.recording.run_evidence import RunEvidence


@pytest.mark.parametrize("failure", [StoreClosed(), InvalidInput(at="turn"), ConnectionError(), Corrupt()])
@pytest.mark.parametrize("policy", [*FailurePolicy, "fail_open", "fail_closed"])
def test_with_fail_open_no_failure_but_corruption_reaches_the_host(policy: FailurePolicy, failure: Exception) -> None:
    """Also where the policy is given as a text, as from a configuration."""
    evidence = RunEvidence("memory:", policy=policy)

    def commit() -> None:
        raise failure

    if policy == "fail_open" and not isinstance(failure, Corrupt):
        _ = evidence.settled(commit)
    else:
        with pytest.raises(type(failure)):
            _ = evidence.settled(commit)
    assert evidence.failures == (policy == "fail_open" and not isinstance(failure, Corrupt))
    evidence.close()


def test_there_are_no_other_policies() -> None:
    with pytest.raises(ValueError, match="closed"):
        RunEvidence("memory:", policy="closed")  # type: ignore[arg-type] # a text, as from a configuration
