"""The summary as a JSON file (schema `specviz.summary/1`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from specviz.export.atomic import write_files
from specviz.trace import codec
from specviz.trace.comparison import Comparison
from specviz.trace.summary import summary
from specviz.trace.trace import Trace


def summary_text(traces: Sequence[Trace], comparison: Comparison | None = None) -> str:
    """The summary as indented JSON text that ends in a line feed."""
    return codec.dumps(summary(traces, comparison), indent=1) + "\n"


def write_summary(
    traces: Sequence[Trace], path: Path, comparison: Comparison | None = None
) -> None:
    """Write the summary to `path`, replacing what is there. Raises FileError."""
    text = summary_text(traces, comparison)
    write_files({path: lambda file: file.write(text)})
