"""`python -m muniment` is the command `muniment`."""

import sys

from muniment.transports.cli.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
