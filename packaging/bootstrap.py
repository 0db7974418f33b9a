#!/usr/bin/env python3
"""Sets up this checkout, then opens SpecViz or runs every check. Standard library only.

    python3 packaging/bootstrap.py run [ARGUMENTS]   set up, then start SpecViz with ARGUMENTS
    python3 packaging/bootstrap.py test [ARGUMENTS]  set up, then run every check; with ARGUMENTS
                                                     only pytest with them
    python3 packaging/bootstrap.py setup             set up, and nothing else

Everything goes into .venv and build/ inside the checkout; delete both to start over.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit("SpecViz needs Python 3.11 or newer; this is " + sys.version.split()[0] + ".")

from checkout.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], usage=__doc__ or ""))
