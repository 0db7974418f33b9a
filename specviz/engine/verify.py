"""Accept, reject, recover, bonus: the rule that makes speculative decoding lossless.

llama.cpp's `common_sampler_sample_and_accept_n`: at each row a token is drawn from the target's
own sampler; the draft token is accepted if and only if it is that token. The sampler advances by
the drawn tokens only, so the text is the one a token-by-token run with the same seed would give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the target made of a draft.

    `n_accepted` draft tokens stand. `target`: the target's own token behind them, None when it
    ended the generation, which is then `end_token`. Both are None when the target had nothing to
    say of its own, as a script may have it. `n_sampled` rows were drawn from.
    """

    n_accepted: int
    target: int | None
    end_token: int | None
    n_sampled: int


def verify(
    draft: Sequence[int], sample: Callable[[int], int | None], ends: Callable[[int], bool]
) -> Verdict:
    """Walk over the rows of a verified batch until the first token that differs from the draft.

    An end-of-generation token ends the walk wherever it is drawn. It is never an accepted token,
    even when the draft proposed it: it is no part of the output.
    """
    for row, drafted in enumerate((*draft, None)):
        token_id = sample(row)
        if token_id is None:
            return Verdict(row, None, None, row)
        if ends(token_id):
            return Verdict(row, None, token_id, row + 1)
        if token_id != drafted:
            return Verdict(row, token_id, None, row + 1)
    raise AssertionError("no token equals the None behind the draft")
