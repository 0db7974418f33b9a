"""More runs worked out on paper: what an answer consists of, how it ends, and where two part.

The conventions of support/hand_worked_runs.py hold here too.
"""

from __future__ import annotations

from support.hand_worked import FIRST_ID, THIN, Round, Shown, Worked, script_of

PER = f"{THIN}%"

# ---- reasoning counts like all other tokens -----------------------------------------------------
# 300 tokens of reasoning, marks included, and 50 behind: 70 rounds of 4 accepted and a bonus
# a round: draft 8, check 12; decode 70 x 20 = 1400, 350 / 1.4 = 250 tokens/s
# plain step 10: 3500, 100 tokens/s; 3500 / 1400 = 2.5; first token 100 + 20 = 120, baseline 110
REASONING = Worked(
    name="reasoning",
    script=script_of(
        [Round(drafted=4, accepted=4, draft=0.008, verify=0.012)] * 70,
        step_seconds=0.01,
        pieces=["<think>", *(f" r{i}" for i in range(298)), "</think>"],
    ),
    baseline={
        "committed": 350, "reasoning_tokens": 300, "decode_seconds": 3.5,
        "tokens_per_second": 100.0, "time_to_first_token_seconds": 0.11,
    },
    speculative={
        "committed": 350, "reasoning_tokens": 300, "steps": 70, "drafted": 280, "tested": 280,
        "accepted": 280, "rejected": 0, "recovered": 0, "bonus": 70, "sampled": 0,
        "acceptance_rate": 1.0, "tau": 5.0, "mean_accepted_length": 4.0,
        "accepted_by_position": [1.0, 1.0, 1.0, 1.0], "drafted_lengths": [0, 0, 0, 0, 70],
        "accepted_lengths": [0, 0, 0, 0, 70], "decode_seconds": 1.4, "tokens_per_second": 250.0,
        "time.draft_seconds": 0.56, "time.verify_seconds": 0.84,
        "time_to_first_token_seconds": 0.12,
    },
    comparison={"verdict": "faster", "speedup": 2.5, "identical": True},
    shown=Shown(
        headline="2.50× faster",
        verdict=("250", "100", f"100{PER}", "all 350 tokens"),
        legend={"accepted from the draft": 280, "corrected": 0, "bonus": 70, "target alone": 0},
        positions=(f"100{PER}, 70 of 70 tested",) * 4,
        positions_foot=f"In all 100{PER} accepted, 280 of 280 tested",
        lengths_foot="Mean accepted length 4.00, tokens per step (τ) 5.00",
        time=(f"draft 40{PER}", f"verify 60{PER}", f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 1.40{THIN}s in all",
        sources=(("0", f"280 of 280  100{PER}"),),
    ),
)  # fmt: skip

# ---- the output is one word over and over -------------------------------------------------------
# 50 rounds of 3 accepted and a bonus: 200 tokens; draft 6, check 14: decode 50 x 20 = 1000
# 200 tokens/s; plain step 10: 2000, 100 tokens/s. Twice as fast, and worth nothing
REPEATING = Worked(
    name="repeating output",
    script=script_of(
        [Round(drafted=3, accepted=3, draft=0.006, verify=0.014)] * 50,
        step_seconds=0.01,
        pieces=[" la"] * 200,
    ),
    baseline={"committed": 200, "decode_seconds": 2.0, "tokens_per_second": 100.0},
    speculative={
        "committed": 200, "steps": 50, "drafted": 150, "tested": 150, "accepted": 150,
        "rejected": 0, "bonus": 50, "acceptance_rate": 1.0, "tau": 4.0,
        "mean_accepted_length": 3.0, "accepted_lengths": [0, 0, 0, 50], "decode_seconds": 1.0,
        "tokens_per_second": 200.0, "time.draft_seconds": 0.3, "time.verify_seconds": 0.7,
    },
    comparison={"verdict": "output_repeating", "identical": True},
    shown=Shown(
        headline="output is repeating",
        verdict=("200", "100", "all 200 tokens"),
        legend={"accepted from the draft": 150, "corrected": 0, "bonus": 50, "target alone": 0},
        positions=(f"100{PER}, 50 of 50 tested",) * 3,
        positions_foot=f"In all 100{PER} accepted, 150 of 150 tested",
        lengths_foot="Mean accepted length 3.00, tokens per step (τ) 4.00",
        time=(f"draft 30{PER}", f"verify 70{PER}", f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 1.00{THIN}s in all",
        sources=(("0", f"150 of 150  100{PER}"),),
    ),
)  # fmt: skip

# ---- a draft is set and never used --------------------------------------------------------------
# 20 rounds without a draft: 20 tokens, 20 steps of 10: both runs 100 tokens/s
NEVER_DRAFTED = Worked(
    name="never drafted",
    script=script_of([Round(verify=0.01)] * 20, step_seconds=0.01),
    baseline={"committed": 20, "decode_seconds": 0.2, "tokens_per_second": 100.0},
    speculative={
        "committed": 20, "steps": 20, "drafted": 0, "tested": 0, "accepted": 0, "sampled": 20,
        "acceptance_rate": None, "mean_accepted_length": 0.0, "tau": 1.0,
        "accepted_by_position": [], "drafted_lengths": [20], "accepted_lengths": [20],
        "decode_seconds": 0.2, "tokens_per_second": 100.0,
    },
    comparison={"verdict": "speculation_never_ran", "speedup": None, "identical": True},
    shown=Shown(
        headline="speculation never ran",
        legend={"accepted from the draft": 0, "corrected": 0, "bonus": 0, "target alone": 20},
        positions=(),
        positions_foot="No draft token has been tested yet.",
        lengths_foot="Mean accepted length 0.00, tokens per step (τ) 1.00",
        time=(f"draft 0{PER}", f"verify 100{PER}", f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 200{THIN}ms in all",
        sources=(("0", "–"),),
    ),
)  # fmt: skip


# ---- the limit is crossed inside an accepted block ----------------------------------------------
# three rounds of 3 drafted, all accepted, and a bonus, would give 4 + 4 + 4 = 12 tokens
# one position of the budget is the target's own, so a draft is cut to what is left less one
# limit 10: 4, 4, then 2 left: 1 drafted and a bonus; tested 3 + 3 + 1 = 7, all accepted, 3 bonus
#   a round takes 6 + 14 = 20 whatever was cut: decode 60, 10 / 0.06 = 166.7 tokens/s
# limit 3: one round of 2 drafted and a bonus; limit 2: 1 drafted and a bonus: decode 20
# limit 1: no draft is asked for: one sampled token, decode 14
# plain step 10: baseline 10 per token
def _limited(limit: int, tested: list[int], decode: float, sampled: int, shown: Shown) -> Worked:
    n, steps = sum(tested), len(tested)
    return Worked(
        name=f"limit {limit}",
        max_tokens=limit,
        script=script_of(
            [Round(drafted=3, accepted=3, draft=0.006, verify=0.014)] * 3, step_seconds=0.01
        ),
        baseline={"committed": limit, "stop_reason": "max_tokens", "tokens_per_second": 100.0},
        speculative={
            "committed": limit, "stop_reason": "max_tokens", "steps": steps, "drafted": n,
            "tested": n, "accepted": n, "rejected": 0, "sampled": sampled,
            "bonus": steps - sampled, "decode_seconds": decode,
            "tokens_per_second": limit / decode,
        },
        comparison={"identical": True},
        shown=shown,
    )  # fmt: skip


def _all_kept(headline: str, n: int, bonus: int, time: tuple[str, str], took: str, foot: str,
              positions: tuple[str, ...]) -> Shown:  # fmt: skip
    return Shown(
        headline=headline,
        legend={"accepted from the draft": n, "corrected": 0, "bonus": bonus,
                "target alone": 0 if n else 1},
        positions=positions,
        positions_foot=f"In all 100{PER} accepted, {n} of {n} tested" if n
        else "No draft token has been tested yet.",
        lengths_foot=foot,
        time=(*time, f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took {took}{THIN}ms in all",
        sources=(("0", f"{n} of {n}  100{PER}" if n else "–"),),
    )  # fmt: skip


_SPLIT = (f"draft 30{PER}", f"verify 70{PER}")
LIMITS = (
    _limited(10, [3, 3, 1], 0.06, 0, _all_kept(
        "1.67× faster", 7, 3, _SPLIT, "60", "Mean accepted length 2.33, tokens per step (τ) 3.33",
        (f"100{PER}, 3 of 3 tested", f"100{PER}, 2 of 2 tested", f"100{PER}, 2 of 2 tested"),
    )),
    _limited(3, [2], 0.02, 0, _all_kept(
        "not measured", 2, 1, _SPLIT, "20", "Mean accepted length 2.00, tokens per step (τ) 3.00",
        (f"100{PER}, 1 of 1 tested", f"100{PER}, 1 of 1 tested"),
    )),
    _limited(2, [1], 0.02, 0, _all_kept(
        "not measured", 1, 1, _SPLIT, "20", "Mean accepted length 1.00, tokens per step (τ) 2.00",
        (f"100{PER}, 1 of 1 tested",),
    )),
    _limited(1, [0], 0.014, 1, _all_kept(
        "speculation never ran", 0, 0, (f"draft 0{PER}", f"verify 100{PER}"), "14",
        "Mean accepted length 0.00, tokens per step (τ) 1.00", (),
    )),
)  # fmt: skip


# ---- a stop text inside an accepted block -------------------------------------------------------
# rounds of 3 drafted, all right, and a bonus: w0 to w3, then w4 w5 w6 and w7. The answer ends
# before w5: w0 w1 w2 w3 w4, 5 tokens. Of the second draft w4 is accepted; w5 and w6 were tested,
# and are not in the answer: tested 6, accepted 3 + 1 = 4, rejected 2, bonus 1; rate 4 / 6
# by position 2 of 2, 1 of 2, 1 of 2; tau 5 / 2 = 2.5, mean accepted 4 / 2 = 2
# decode 2 x 20 = 40, 5 / 0.04 = 125 tokens/s; the baseline needs a sixth step of 10 to meet the
# end: 5 / 0.06 = 83.33 tokens/s; 125 / 83.33 = 1.5
STOPPED = Worked(
    name="stop text in a block",
    stop=(" w5",),
    script=script_of(
        [Round(drafted=3, accepted=3, draft=0.006, verify=0.014)] * 3, step_seconds=0.01
    ),
    baseline={
        "committed": 5, "steps": 6, "stop_reason": "stop_text", "decode_seconds": 0.06,
        "tokens_per_second": 5 / 0.06, "text": " w0 w1 w2 w3 w4",
    },
    speculative={
        "committed": 5, "steps": 2, "stop_reason": "stop_text", "drafted": 6, "tested": 6,
        "accepted": 4, "rejected": 2, "recovered": 0, "bonus": 1, "sampled": 0,
        "acceptance_rate": 4 / 6, "tau": 2.5, "mean_accepted_length": 2.0,
        "accepted_by_position": [1.0, 0.5, 0.5], "tested_by_position": [2, 2, 2],
        "drafted_lengths": [0, 0, 0, 2], "accepted_lengths": [0, 1, 0, 1], "decode_seconds": 0.04,
        "tokens_per_second": 125.0, "text": " w0 w1 w2 w3 w4",
    },
    comparison={"verdict": "faster", "speedup": 1.5, "identical": True},
    shown=Shown(
        headline="1.50× faster",
        verdict=("125", "83.3", f"67{PER}", "all 5 tokens"),
        legend={"accepted from the draft": 4, "corrected": 0, "bonus": 1, "target alone": 0},
        positions=(
            f"100{PER}, 2 of 2 tested", f"50{PER}, 1 of 2 tested", f"50{PER}, 1 of 2 tested",
        ),
        positions_foot=f"In all 67{PER} accepted, 4 of 6 tested",
        lengths_foot="Mean accepted length 2.00, tokens per step (τ) 2.50",
        time=(*_SPLIT, f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 40{THIN}ms in all",
        sources=(("0", f"4 of 6  67{PER}"),),
    ),
)  # fmt: skip


# ---- the outputs part after 40 tokens -----------------------------------------------------------
# 10 rounds of 3 accepted and a bonus: 40 tokens alike. Then a round of which nothing is accepted
# and whose own token is another than the baseline's, and one of 2 of 3 accepted and a correction:
# 40 + 1 + 3 = 44 tokens; accepted 30 + 0 + 2 = 32 of 36 tested, 10 bonus, 2 recovered
# 12 rounds of 6 + 14: decode 240, 44 / 0.24 = 183.3 tokens/s; plain step 10: 440, 100 tokens/s
# 440 / 240 = 1.8333
FORK_AT = 40
OTHER_ID = 950


def forked(margin: float) -> Worked:
    """Baseline and speculative run part at token 40, where the baseline's margin is `margin`."""
    rounds = [
        *[Round(drafted=3, accepted=3, draft=0.006, verify=0.014)] * 10,
        Round(drafted=3, accepted=0, draft=0.006, verify=0.014),
        Round(drafted=3, accepted=2, draft=0.006, verify=0.014),
    ]
    script = script_of(rounds, step_seconds=0.01)
    script["pieces"][str(OTHER_ID)] = " other"
    script["rounds"][10]["target"] = [OTHER_ID, 0.5]
    script["baseline"]["runner_up"] = [None] * FORK_AT + [[OTHER_ID, margin]] + [None] * 3
    assert script["baseline"]["token_ids"][FORK_AT] == FIRST_ID + FORK_AT
    near = margin <= 1
    return Worked(
        name=f"fork with margin {margin}",
        script=script,
        baseline={"committed": 44, "decode_seconds": 0.44, "tokens_per_second": 100.0},
        speculative={
            "committed": 44, "steps": 12, "drafted": 36, "tested": 36, "accepted": 32,
            "rejected": 4, "bonus": 10, "recovered": 2, "acceptance_rate": 32 / 36,
            "tau": 44 / 12, "mean_accepted_length": 32 / 12, "decode_seconds": 0.24,
            "tokens_per_second": 44 / 0.24, "accepted_lengths": [1, 0, 1, 10],
            "accepted_by_position": [11 / 12, 11 / 12, 10 / 12],
        },
        comparison={
            "verdict": "faster", "speedup": 44 / 24, "identical": False, "first_divergence": 40,
            "divergence": "near_tie" if near else "unexplained",
        },
        shown=Shown(
            headline="1.83× faster",
            verdict=("183", "100", f"89{PER}", "40 tokens", f"{margin:.2f}",
                     "near-tie" if near else "not explain"),
            legend={"accepted from the draft": 32, "corrected": 2, "bonus": 10, "target alone": 0},
            positions=(
                *[f"92{PER}, 11 of 12 tested"] * 2, f"83{PER}, 10 of 12 tested",
            ),
            positions_foot=f"In all 89{PER} accepted, 32 of 36 tested",
            lengths_foot="Mean accepted length 2.67, tokens per step (τ) 3.67",
            time=(*_SPLIT, f"sampling 0{PER}", f"other 0{PER}"),
            time_foot=f"Decoding took 240{THIN}ms in all",
            sources=(("0", f"32 of 36  89{PER}"),),
        ),
    )  # fmt: skip
