"""`python -m kiln_ray`."""

import sys

from kiln_ray.cli import main

sys.exit(main())
