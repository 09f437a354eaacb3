"""`python -m quintain.cli`."""

import sys

from quintain.cli import main

sys.exit(main())
