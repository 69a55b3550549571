"""What may happen to turns after they were committed: the noun group, and a module for each thing that it does.

`scope` says what is asked about, `guard` what of it may go, `reporting` what is said of it. `asking` changes phases,
`erasing` destroys words, `ending` a whole space, `custody` holds and releases, `retention` sets and applies policies,
`records` tells what the log has.
"""

from muniment.operations.lifecycle.lifecycle import REASON_BYTES_MAX, Lifecycle
from muniment.operations.lifecycle.report import LifecycleReport
from muniment.operations.lifecycle.scope import Scope

__all__ = ["REASON_BYTES_MAX", "Lifecycle", "LifecycleReport", "Scope"]
