"""Proposals: what somebody would have remembered, kept aside until somebody else decides about it.

A proposal is an entry of the notebook that its item would be in. It is in no slot and never in use, so that nothing
but `notebook.proposals` shows it. Accepting one hands it over as a candidate: it is judged again, by the state of that
moment. What would change nothing, or may not be remembered, is not kept as a proposal either.
"""

from __future__ import annotations
