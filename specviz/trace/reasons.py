"""Why a speculative run came out as it did, in sentences built from measured terms.

Each has a size, its weight in target steps for each step of the run, and the weightiest come first.
Knows the verdict and does not make it.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator
from itertools import accumulate

from specviz.trace import metrics
from specviz.trace.config import DraftSource
from specviz.trace.copy_reasons import Reason, copy_reasons, match_length, never_ran, number
from specviz.trace.fork import is_drawn
from specviz.trace.settings_in_effect import lists_gpu
from specviz.trace.sources import MODEL_SOURCES, sources_in_use
from specviz.trace.terms import Checks, Terms, terms_of
from specviz.trace.trace import Trace

__all__ = ["explain", "match_length", "never_ran"]

MOST_REASONS = 5

LARGE_SHARE = 0.1
"""What a step may have beside draft and pass is worth a sentence from this share of the decode
time on."""

DEAR_CHECK = 0.6
"""From so many target steps for each further row on, a wide check is hardly better than single
steps."""

DEAR_DRAFT = 0.5
"""A draft token that costs so many target steps is not well below the target's step."""

FEW_DRAFTS = 0.5
"""Steps with a draft, as a share of all, below which drafts are few."""

DROPPED_SHARE = 0.25
"""Drafts thrown away are worth a sentence from this share of the drafted tokens on."""

SHORT_ANSWER = 32
"""With fewer committed tokens a speed changes from run to run by more than the usual noise."""

FEWEST_STEPS = 32
"""With fewer single steps their spread says nothing of the machine."""

UNEVEN = 3.0
"""A single step does a little more than the one before it, because the text has grown, and never
less. Where the slowest tenth takes so many times as long as a step that came later, something else
took the machine's time."""

RULE = (
    "A draft token is accepted only where the target draws the very same one, which gets rarer "
    "with temperature."
)
"""Said where tokens are drawn at random."""

_FILE_TYPE = re.compile(r"[A-Za-z0-9_.+-]{1,24}")


def explain(
    baseline: Trace, speculative: Trace, *, is_faster: bool, n_repeats: int = 1
) -> list[str]:
    """What made a run of drafts faster, or kept it from it; the weightiest first."""
    terms = terms_of(baseline, speculative)
    if terms is None:
        return []
    found = [
        *_uneven(baseline),
        *_too_short(baseline, speculative, terms, n_repeats),
        *_prefill(baseline, speculative, terms),
        *copy_reasons(speculative, terms, is_faster=is_faster),
        *_yield(speculative, terms, is_faster),
        *_draft(speculative, terms, is_faster),
        *_check(speculative, terms),
        *_restore(speculative, terms),
        *_sampling(terms),
        *_other(terms),
        *_dropped(speculative, terms),
        *_short_drafts(speculative, terms, is_faster),
    ]
    found.sort(key=lambda reason: -reason.size)
    sentences = [reason.sentence for reason in found[:MOST_REASONS]]
    return [*sentences, RULE] if is_drawn(speculative) else sentences


def _uneven(baseline: Trace) -> Iterator[Reason]:
    """It comes first: every other figure is one in steps of this baseline."""
    seconds = [step.verify_seconds for step in baseline.steps]
    if len(seconds) < FEWEST_STEPS:
        return
    quickest_from = list(accumulate(reversed(seconds), min))[::-1]
    excess = [metrics.ratio(*each) or 1.0 for each in zip(seconds, quickest_from, strict=True)]
    if statistics.quantiles(excess, n=10)[-1] >= UNEVEN:
        tenths = statistics.quantiles(seconds, n=10)
        yield Reason(
            math.inf,
            f"Do not trust the speed-up yet: steps of the baseline took from {_step(tenths[0])} to "
            f"{_step(tenths[-1])}, as on a busy machine. Run again when it is quiet.",
        )


def _too_short(
    baseline: Trace, speculative: Trace, terms: Terms, n_repeats: int
) -> Iterator[Reason]:
    """It weighs what a mean of so few steps may be off by: a step's cost ÷ the root of them."""
    n = min(baseline.counts.committed, speculative.counts.committed)
    if n * n_repeats < SHORT_ANSWER:
        yield Reason(
            terms.step_cost / math.sqrt(terms.n_steps),
            f"With {n} tokens the answer is too short for a stable figure.",
        )


def _prefill(baseline: Trace, speculative: Trace, terms: Terms) -> Iterator[Reason]:
    """Of the run that read more: the other may have found the prompt in memory."""
    run = max((baseline, speculative), key=lambda run: metrics.prefill_seconds(run) or 0.0)
    prefill = metrics.prefill_seconds(run) or 0.0
    whole = prefill + metrics.decode_seconds(run)
    share = metrics.ratio(prefill, whole)
    if share is not None and share > 0.5:
        yield Reason(
            terms.in_steps(prefill),
            f"Reading the prompt takes {_percent(share)} of the whole run ({_seconds(prefill)} of "
            f"{_seconds(whole)}), and speculative decoding does not shorten it.",
        )


def _yield(trace: Trace, terms: Terms, is_faster: bool) -> Iterator[Reason]:
    per_step = metrics.tau(trace)
    if per_step is None:
        return
    counts = trace.counts
    time = f"in the time of {terms.step_cost:.2f} target steps"
    missed = 1 - counts.steps_with_draft / counts.steps
    asks_models = MODEL_SOURCES.intersection(_sources(trace))
    if asks_models and 1 - missed < FEW_DRAFTS and not is_faster:
        drafted = f"{counts.tested} {'token was' if counts.tested == 1 else 'tokens were'}"
        yield Reason(
            max(missed, per_step - 1),
            f"Only {drafted} drafted and checked in {counts.steps} steps, so a step yields "
            f"{per_step:.2f} tokens {time}.",
        )
        return
    only = "" if is_faster or per_step > terms.step_cost else "only "
    yield Reason(max(per_step - 1, 0.0), f"Each step yields {only}{per_step:.2f} tokens {time}.")


def _draft(trace: Trace, terms: Terms, is_faster: bool) -> Iterator[Reason]:
    if terms.seconds_per_draft_token is None:
        return
    per_token = terms.seconds_per_draft_token / terms.step_seconds
    size = terms.in_steps(terms.shares.draft)
    share = metrics.ratio(terms.shares.draft, terms.shares.total) or 0.0
    shares = terms.shares
    is_largest = shares.draft > max(shares.verify, shares.sample, shares.restore, shares.other)
    beside_gpu = _is_left_on_cpu(trace)
    if not is_faster and (is_largest or (per_token >= DEAR_DRAFT and share >= LARGE_SHARE)):
        where = " on the CPU, beside a target on the GPU," if beside_gpu else ""
        advice = _draft_advice(trace, terms)
        yield Reason(
            size,
            f"The draft is the bottleneck: drafting{where} takes {_percent(share)} of the time, "
            f"{per_token:.2f} target steps a token{advice}.",
        )
    elif beside_gpu:
        yield Reason(
            size,
            f"Drafting costs {per_token:.2f} target steps a token; the draft runs on the CPU "
            "while the target is on the GPU.",
        )
    else:
        yield Reason(size, f"Drafting a token costs {per_token:.2f} target steps.")


def _draft_advice(trace: Trace, terms: Terms) -> str:
    advice = []
    if terms.models is not None and terms.models.width > 2.05:
        advice.append("fewer draft tokens per step")
    if _may_move_to_gpu(trace):
        advice.append("a draft that runs on the GPU")
    if not advice:
        advice.append("a smaller draft")
    return f"; {' or '.join(advice)} would cost less"


def _is_left_on_cpu(trace: Trace) -> bool:
    layers = _layers(trace)
    return layers is not None and layers[0] > 0 and layers[1] == 0


def _may_move_to_gpu(trace: Trace) -> bool:
    """Not where it is there already, and not where the machine is known to have none."""
    if DraftSource.DRAFT_SIMPLE not in _sources(trace) or trace.started is None:
        return False
    layers = _layers(trace)
    if layers is None:
        return True
    return layers[1] == 0 and (layers[0] > 0 or lists_gpu(trace.started.environment))


def _layers(trace: Trace) -> tuple[int, int] | None:
    """Layers of target and draft on the GPU, where both are known."""
    effective = trace.started.effective if trace.started else {}
    target, draft = (effective.get(f"{role}_n_gpu_layers") for role in ("target", "draft"))
    return (target, draft) if isinstance(target, int) and isinstance(draft, int) else None


def _check(trace: Trace, terms: Terms) -> Iterator[Reason]:
    """A pass over many rows beside one over one; of copies only where the width is what hurts."""
    for checks, is_copies in ((terms.models, False), (terms.copies, True)):
        if checks is None:
            continue
        cost = terms.check_cost(checks)
        size = max(cost - 1, 0.0) * checks.n / terms.n_steps
        sentence = f"Checking {number(checks.width)} tokens at once costs {cost:.2f} target steps"
        dear = _is_dear(checks, cost)
        if dear:
            relation = "more than" if cost > checks.width else "nearly as much as"
            where = f"a wide check is dear here{_with_quantisation(trace)}"
            yield Reason(size, f"{sentence}, {relation} one by one: {where}.")
        elif not is_copies:
            yield Reason(size, f"{sentence}.")


def _is_dear(checks: Checks, cost: float) -> bool:
    return cost - 1 >= DEAR_CHECK * (checks.width - 1)


def _with_quantisation(trace: Trace) -> str:
    name = trace.started.target.quantisation if trace.started else ""
    return f" with {name} weights" if _FILE_TYPE.fullmatch(name) else ""


def _restore(trace: Trace, terms: Terms) -> Iterator[Reason]:
    share = metrics.ratio(terms.shares.restore, terms.shares.total) or 0.0
    if share < LARGE_SHARE:
        return
    size = terms.in_steps(terms.shares.restore)
    if trace.started is not None and trace.started.effective.get("rollback") == "trim":
        yield Reason(size, f"Forgetting rejected tokens takes {_percent(share)} of the time.")
        return
    yield Reason(
        size,
        f"Saving and restoring the target's state takes {_percent(share)} of the time, because it "
        "cannot forget single tokens.",
    )


def _sampling(terms: Terms) -> Iterator[Reason]:
    share = metrics.ratio(terms.shares.sample, terms.shares.total) or 0.0
    if share >= LARGE_SHARE:
        yield Reason(
            terms.beyond_baseline(terms.shares.sample, terms.baseline_shares.sample),
            f"Sampling takes {_percent(share)} of the time: the target draws a token for each "
            "one that it checks.",
        )


def _other(terms: Terms) -> Iterator[Reason]:
    share = metrics.ratio(terms.shares.other, terms.shares.total) or 0.0
    if share >= LARGE_SHARE:
        yield Reason(
            terms.beyond_baseline(terms.shares.other, terms.baseline_shares.other),
            f"What lies between the passes takes {_percent(share)} of the time.",
        )


def _dropped(trace: Trace, terms: Terms) -> Iterator[Reason]:
    counts = trace.counts
    share = metrics.ratio(counts.dropped, counts.drafted) or 0.0
    if share < DROPPED_SHARE or not MODEL_SOURCES.intersection(_sources(trace)):
        return
    verb = "was" if counts.dropped == 1 else "were"
    yield Reason(
        share * terms.in_steps(terms.shares.draft),
        f"Of {counts.drafted} drafted tokens {counts.dropped} {verb} thrown away unchecked, "
        "because the draft was shorter than its minimum.",
    )


def _short_drafts(trace: Trace, terms: Terms, is_faster: bool) -> Iterator[Reason]:
    if is_faster or terms.models is None or trace.started is None:
        return
    speculation = trace.started.config.speculation
    length = terms.models.width - 1
    if speculation.n_max < 2 or length > speculation.n_max / 2:
        return
    why = ""
    if speculation.p_min > 0:
        why = f", because the draft stops below a probability of {speculation.p_min:.2g}"
    yield Reason(
        (1 - length / speculation.n_max) * terms.models.n / terms.n_steps,
        f"Drafts are short, {number(length)} of at most {speculation.n_max} tokens on "
        f"average{why}.",
    )


def _sources(trace: Trace) -> tuple[DraftSource, ...]:
    return sources_in_use(trace.started.config) if trace.started else ()


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _step(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 0.00995 else _seconds(seconds)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 0.95 else f"{1000 * value:.0f} ms"
