"""Writes the two lock files anew from pyproject.toml, with hashes for every platform.

    .venv/bin/python packaging/update_locks.py [--upgrade]

Without --upgrade, pins that still fit are kept. requirements.lock is what `bootstrap.py run`
installs (program and demo model), requirements-dev.lock what `bootstrap.py test` installs; the
second repeats the pins of the first. Needs pip-tools, which is part of the dev extra.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMPILE = [
    sys.executable, "-m", "piptools", "compile", "--quiet", "--generate-hashes", "--strip-extras",
    "--allow-unsafe", "--no-emit-index-url", "--no-emit-find-links",
    "--build-deps-for=editable",
]  # fmt: skip
PROGRAM = ["--extra=demo", "--output-file=packaging/requirements.lock"]
DEVELOPMENT = [
    "--all-extras",
    "--constraint=packaging/requirements.lock",
    "--output-file=packaging/requirements-dev.lock",
]


def main() -> int:
    """Run pip-compile twice; its exit code is ours."""
    upgrade = [argument for argument in sys.argv[1:] if argument == "--upgrade"]
    told = {**os.environ, "CUSTOM_COMPILE_COMMAND": "python packaging/update_locks.py"}
    for options in (PROGRAM, DEVELOPMENT):
        command = [*COMPILE, *upgrade, *options, "pyproject.toml"]
        done = subprocess.run(command, cwd=ROOT, env=told, check=False)
        if done.returncode != 0:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
