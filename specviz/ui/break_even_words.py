"""Break-even in sentences: from which acceptance on a pair pays, and which length would be best.

Knows nothing of Qt.
"""

from __future__ import annotations

from specviz.trace.break_even import PREDICTION_NOTE, break_even, step_cost
from specviz.trace.costs import Costs
from specviz.trace.metrics import ratio
from specviz.ui import figures
from specviz.ui.break_even_facts import USUAL_LENGTH, BreakEvenFacts
from specviz.ui.verdict_words import Part, Parts

NOT_YET = (
    Part("Break-even needs a baseline and a run with drafts to its end, or measured costs."),
)
RUNNING = (Part("Break-even comes when the run has ended."),)
FAR_OFF = 0.15
"""A prediction that misses the run it is made from by more than this says nothing of others."""
MANY_GUESSED = 0.1
"""Share of checks with a width that was never met, above which a prediction is a rough one."""

HOW_IT_COMES_ABOUT = (
    "A step with a draft costs the draft, a check of one row more than it has tokens, and the rest "
    "of the step. It yields one token and the accepted ones. The pair pays off where the yield is "
    "larger than the cost in steps of the target alone."
)
"""The formula in words; it stands in the docstring of trace/break_even.py as well."""


def help_text() -> str:
    """How the figures come about, and how far they can be trusted."""
    return f"{HOW_IT_COMES_ABOUT}\n\n{PREDICTION_NOTE}"


def _figure(text: str) -> Part:
    return Part(text, is_figure=True)


def _tokens(n: float) -> str:
    """`4 draft tokens`, `1 draft token`, and `2.1 draft tokens on average`."""
    if _is_whole(n):
        return figures.counted(round(n), "draft token")
    return f"{figures.decimal(n, 1)} draft tokens on average"


def _is_whole(n: float) -> bool:
    # the end of an answer cuts a draft or two
    return abs(n - round(n)) < 0.05


def sentence(facts: BreakEvenFacts | None) -> Parts:
    """From which acceptance on this pair pays, and where the run is."""
    if facts is None:
        return NOT_YET
    if facts.n_draft is None:
        if facts.shape is not None:
            return (Part("Nothing was drafted, so there is no acceptance to hold against costs."),)
        return _costs_alone(facts.costs)
    needed = break_even(facts.costs, facts.n_draft)
    if needed is None:
        return (Part("The run met too few widths to tell. Measure the costs to fill them in."),)
    here = f"at {_tokens(facts.n_draft)}"
    where = _where(facts.acceptance)
    if needed <= 0:
        return (
            Part(f"Drafting never loses here {here}, whatever share is accepted."),
            *where,
        )
    if needed > 1:
        return (
            Part(f"No acceptance is enough {here}: a step costs "),
            _figure(figures.decimal(step_cost(facts.costs, facts.n_draft), 1)),
            Part(" target steps and yields "),
            _figure(figures.decimal(1 + facts.n_draft, 0 if _is_whole(facts.n_draft) else 1)),
            Part(" tokens at most."),
            *where,
        )
    who = "Copying pays off" if facts.copies else "This pair pays off"
    return (
        Part(f"{who} above "),
        _figure(figures.percent(needed)),
        Part(f" acceptance {here}."),
        *where,
    )


def _costs_alone(costs: Costs) -> Parts:
    """Without a run there is no draft length to go by."""
    needed = break_even(costs, USUAL_LENGTH)
    if needed is None or not 0 < needed <= 1:
        return (Part("Run with drafts to see where this pair stands on these costs."),)
    return (
        Part(f"On these costs, {USUAL_LENGTH} draft tokens pay off above "),
        _figure(figures.percent(needed)),
        Part(" acceptance. Run with drafts to see where you are."),
    )


def _where(acceptance: float | None) -> Parts:
    if acceptance is None:
        return ()
    return (Part(" You are at "), _figure(figures.percent(acceptance)), Part("."))


def best_sentence(facts: BreakEvenFacts | None) -> Parts:
    """The predicted best draft length beside what was measured; empty where there is no run."""
    best = facts.best() if facts is not None else None
    if facts is None or best is None:
        return ()
    here = next((each for each in facts.predictions if each.n_draft == facts.n_max), None)
    if here is not None and facts.speedup and not _agree(here.speedup, facts.speedup):
        return (
            Part("The runs were too uneven to predict from: "),
            _figure(figures.speedup(here.speedup)),
            Part(f" predicted at {facts.n_max}, "),
            _figure(figures.speedup(facts.speedup)),
            Part(" measured."),
        )
    length, predicted = _figure(figures.count(best.n_draft)), figures.speedup(best.speedup)
    rough = best.guessed_checks > MANY_GUESSED
    outcome: list[Part] = [
        _figure(predicted),
        Part(" roughly predicted" if rough else " predicted"),
    ]
    if best.extrapolated:
        outcome.append(Part(" beyond what ran"))
    if facts.speedup is not None:
        at = "" if best.n_draft == facts.n_max else f" at {facts.n_max}"
        outcome += [Part(", "), _figure(figures.speedup(facts.speedup)), Part(f" measured{at}")]
    outcome.append(Part(". Measured costs would tell better." if rough else "."))
    noun = "draft token" if best.n_draft == 1 else "draft tokens"
    if best.speedup < 1:
        return (Part("No length is predicted to pay. The best is "), length, Part(": "), *outcome)
    if best.n_draft == facts.n_max:
        are = "is" if best.n_draft == 1 else "are"
        return (Part("The "), length, Part(f" {noun} in use {are} about the best: "), *outcome)
    return (Part("About "), length, Part(f" {noun} would be best: "), *outcome)


def _agree(predicted: float, measured: float) -> bool:
    return abs(predicted / measured - 1) <= FAR_OFF


def draft_cost(facts: BreakEvenFacts | None) -> Parts:
    """What a draft token costs, and what a copied draft does."""
    if facts is None:
        return ()
    if facts.copies:
        return _copying(facts)
    if facts.draft_token is None:
        return ()
    return (
        Part("Drafting a token costs "),
        _figure(figures.decimal(facts.draft_token, 2)),
        Part(" target steps."),
    )


def _copying(facts: BreakEvenFacts) -> Parts:
    seconds = facts.costs.draft_seconds(facts.n_draft) if facts.n_draft else None
    steps = None if seconds is None else ratio(seconds, facts.costs.step_seconds)
    if steps is None:
        return ()
    if steps < 0.005:
        return (Part("Copying a draft costs next to nothing."),)
    cost = _figure(figures.decimal(steps, 2))
    return (Part("Copying a draft costs "), cost, Part(" target steps."))


def what_if_words(facts: BreakEvenFacts, n_draft: int) -> str:
    """What a step with so long a draft costs and needs: the small print of the what-if."""
    cost = step_cost(facts.costs, n_draft)
    needed = break_even(facts.costs, n_draft)
    if cost is None or needed is None:
        return "The costs of this length are not known."
    steps = f"{figures.decimal(cost, 2)} steps"
    if needed > 1:
        return f"A full draft costs {steps}, more than it yields."
    if needed <= 0:
        return f"A full draft costs {steps} and never loses."
    return f"A full draft costs {steps} and pays above {figures.percent(needed)}."
