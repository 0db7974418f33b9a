"""Writes resources/models/selftest.gguf, the model that `specviz selftest` runs.

Three blocks of random weights, written by the writer that the tests use. End tokens never win, so
a run always has the length that was asked for. Run again after a change to that writer.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gguf import GGMLQuantizationType as TensorType

ROOT = Path(__file__).resolve().parent.parent
DESTINATION = ROOT / "resources" / "models" / "selftest.gguf"


def main() -> None:
    """Write the file and say how large it is."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.tiny_gguf import CHATML, write_llama

    write_llama(
        DESTINATION,
        seed=7,
        mix=0.1,
        wtype=TensorType.Q4_1,
        name="SpecViz self-test",
        chat_template=CHATML,
    )
    print(f"{DESTINATION}: {DESTINATION.stat().st_size} bytes")


if __name__ == "__main__":
    main()
