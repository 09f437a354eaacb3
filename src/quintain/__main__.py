"""`python -m quintain`."""

import sys

from quintain.cli import main

sys.exit(main())
