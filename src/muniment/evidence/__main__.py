"""`python -m muniment.evidence`: the command of the verifier, which is the same when its file is run alone."""

from __future__ import annotations

import sys

from muniment.evidence.verifier import main

if __name__ == "__main__":
    sys.exit(main(name="python -m muniment.evidence"))
