"""What there is to say of a token under the mouse, in plain lines."""

from __future__ import annotations

from collections.abc import Iterable

from specviz.trace.config import DraftSource
from specviz.trace.events import TokenSource
from specviz.trace.trace import Token
from specviz.ui import figures
from specviz.ui.answer import SOURCE_WORDS, Answer
from specviz.ui.pieces import visible
from specviz.ui.setting_catalogue import NGRAM_METHODS
from specviz.ui.token_layout import Style

DRAFTER_WORDS = {
    **{DraftSource(m.value): f"{m.word} ({m.beside})" for m in NGRAM_METHODS},
    DraftSource.DRAFT_MTP: "the target’s MTP blocks",
}
"""Who drafted; a draft model needs no words beside those of the colour."""

COPIED_LENGTH = 60


def tooltip(answer: Answer, item: int) -> str:
    """What a span is, how probable, by whom and from where.

    The first line is always ours: Qt takes a tooltip for HTML by its first line alone.
    """
    step = answer.step_of(item)
    lines = [SOURCE_WORDS[Style(answer.layout.styles[item])]]
    rejected, token = answer.rejected_of(item), answer.token_of(item)
    if rejected is not None:
        lines.append(visible(rejected.piece))
        lines.append(_probabilities(rejected.draft_prob, rejected.target_prob))
        lines += _drafting(answer, item)
    elif token is not None:
        lines.append(visible(token.piece))
        if token.draft_position is not None:
            lines.append(_probabilities(token.draft_prob, token.target_prob))
        else:
            lines.append(f"target p {figures.probability(token.target_prob)}")
        lines += _history(answer, item, token)
    if step is not None:
        place = answer.draft_position_of(item)
        lines.append(
            f"step {figures.count(step + 1)}"
            + ("" if place is None else f", draft position {place + 1}")
        )
    return "\n".join(lines)


def _probabilities(draft: float | None, target: float | None) -> str:
    return f"draft p {figures.probability(draft)} · target p {figures.probability(target)}"


def _history(answer: Answer, item: int, token: Token) -> list[str]:
    lines = []
    assert answer.trace is not None
    step = answer.trace.steps[token.step]
    if token.source is TokenSource.RECOVERED:
        lines.append(f"in place of {visible(step.draft[step.n_accepted].piece)}")
    lines += _drafting(answer, item)
    if token.mixed:
        lines.append("a character that spans tokens of several sources")
    return lines


def _drafting(answer: Answer, item: int) -> list[str]:
    """Who drafted a span, and what was copied."""
    lines = []
    drafter = answer.drafter_of(item)
    if drafter in DRAFTER_WORDS:
        lines.append(f"drafted by {DRAFTER_WORDS[drafter]}")
    positions = answer.copied_positions(item)
    if positions is None:
        return lines
    in_answer = positions[0] - answer.n_prompt
    where = "the prompt" if in_answer < 0 else f"token {figures.count(in_answer + 1)} of the answer"
    copied = _copied(answer, positions)
    what = f": {visible(copied, COPIED_LENGTH)}" if copied else ""
    return [*lines, f"copied from {where}{what}"]


def _copied(answer: Answer, positions: Iterable[int]) -> bytes:
    """The bytes at positions of prompt and output; nothing where they are not known."""
    trace = answer.trace
    assert trace is not None
    prompt = trace.started.prompt_pieces if trace.started else ()
    found: list[bytes] = []
    for position in positions:
        in_answer = position - answer.n_prompt
        if in_answer < 0:
            found += prompt[position : position + 1]
        else:
            found += [token.piece for token in trace.tokens[in_answer : in_answer + 1]]
    return b"".join(found)
