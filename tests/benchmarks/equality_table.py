"""Prints drafter x model x sampling: is every speculative run its baseline, token by token?

Ends with "all equal" and exit code 0, or says what differs and ends with 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gguf import GGMLQuantizationType as TensorType
from support.equality import DRAFTINGS, MODELS, SAMPLINGS, Outcome, Table, cells

HEADINGS = (
    "model", "rollback", "drafter", "sampling", "seed", "tokens", "steps", "drafted", "accepted",
    "rejecting", "partial", "longest", "outcome",
)  # fmt: skip
WIDTHS = (11, 11, 23, 9, 5, 7, 6, 8, 9, 10, 8, 8, 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=240, help="tokens of each run")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="of noise and sampler")
    parser.add_argument("--weights", choices=["Q8_0", "Q4_0", "Q4_1", "Q5_1"], default="Q8_0")
    parser.add_argument("--model", choices=list(MODELS), nargs="+", default=list(MODELS))
    parser.add_argument("--drafter", choices=list(DRAFTINGS), nargs="+", default=list(DRAFTINGS))
    parser.add_argument("--sampling", choices=list(SAMPLINGS), nargs="+", default=list(SAMPLINGS))
    return parser.parse_args()


def main() -> int:
    """Run the table."""
    chosen = _arguments()
    _row(*HEADINGS)
    outcomes: list[Outcome] = []
    started = perf_counter()
    for seed in chosen.seeds:
        with tempfile.TemporaryDirectory() as folder:
            table = Table(
                Path(folder),
                max_tokens=chosen.tokens,
                seed=seed,
                wtype=TensorType[chosen.weights],
            )
            for model, drafting in cells():
                if model.name not in chosen.model or drafting.name not in chosen.drafter:
                    continue
                for sampling in chosen.sampling:
                    outcome = table.outcome(model, drafting, sampling)
                    outcomes.append(outcome)
                    _row(
                        model.name, model.rollback, drafting.name, sampling, seed,
                        outcome.n_tokens, outcome.n_steps, outcome.n_drafted, outcome.n_accepted,
                        outcome.n_rejecting, outcome.n_partial, outcome.longest_draft,
                        outcome.difference or "equal",
                    )  # fmt: skip
            table.close()
    return _verdict(outcomes, perf_counter() - started)


def _row(*entries: object) -> None:
    line = "".join(f"{entry!s:<{width}}" for entry, width in zip(entries, WIDTHS, strict=True))
    print(line.rstrip(), flush=True)


def _verdict(outcomes: list[Outcome], seconds: float) -> int:
    different = sum(outcome.difference is not None for outcome in outcomes)
    partial = sum(outcome.n_partial for outcome in outcomes)
    print(f"\n{len(outcomes)} runs in {seconds:.0f} s, {partial} partial rejections")
    if different or not outcomes:
        print(f"{different} of {len(outcomes)} differ from their baseline")
        return 1
    print("all equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
