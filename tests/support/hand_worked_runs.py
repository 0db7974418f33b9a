"""Runs of which every figure was worked out on paper; the working stands beside each.

Times in the working are in milliseconds. Both runs have a prompt of 12 tokens, of which prefill
evaluates 11 in 100 ms; the first token comes with the first step.
"""

from __future__ import annotations

from support.hand_worked import THIN, Round, Shown, Worked, script_of
from support.hand_worked_answers import (
    LIMITS,
    NEVER_DRAFTED,
    REASONING,
    REPEATING,
    STOPPED,
    forked,
)

PER = f"{THIN}%"

# ---- the target is too cheap for drafting -------------------------------------------------------
# 50 rounds of 3 draft tokens. Of each position 0.66 of those before it are right:
#   position 1: 33 of 50 (0.66), position 2: 22 of 50 (0.44), position 3: 14 of 50 (0.28)
#   17 rounds accept 0, 33 - 22 = 11 accept 1, 22 - 14 = 8 accept 2, 14 accept 3
# accepted 11 + 16 + 42 = 69; own tokens 50, of these 14 bonus and 36 recovered; committed 119
# tested 150, rejected 81, rate 69 / 150 = 0.46; tau 119 / 50 = 2.38; mean accepted 69 / 50 = 1.38
# plain step 15, draft token 4, check of 4 rows 26: a round takes 3 x 4 + 26 = 38
# decode 50 x 38 = 1900, of these draft 600 (31.6 %) and verify 1300 (68.4 %)
# 119 / 1.9 = 62.63 tokens/s; baseline 119 x 15 = 1785, 66.67 tokens/s; 1785 / 1900 = 0.9395
# draft token 4 / 15 = 0.27 target steps, check 26 / 15 = 1.73
_CHEAP = [
    *[Round(drafted=3, accepted=0, draft=0.012, verify=0.026)] * 17,
    *[Round(drafted=3, accepted=1, draft=0.012, verify=0.026)] * 11,
    *[Round(drafted=3, accepted=2, draft=0.012, verify=0.026)] * 8,
    *[Round(drafted=3, accepted=3, draft=0.012, verify=0.026)] * 14,
]
CHEAP_TARGET = Worked(
    name="cheap target",
    script=script_of(_CHEAP, step_seconds=0.015),
    baseline={
        "committed": 119, "steps": 119, "sampled": 119, "tested": 0, "acceptance_rate": None,
        "decode_seconds": 1.785, "tokens_per_second": 119 / 1.785, "tau": 1.0,
        "time_to_first_token_seconds": 0.115,
    },
    speculative={
        "committed": 119, "steps": 50, "drafted": 150, "tested": 150, "accepted": 69,
        "rejected": 81, "dropped": 0, "recovered": 36, "bonus": 14, "sampled": 0,
        "acceptance_rate": 0.46, "mean_accepted_length": 1.38, "tau": 2.38,
        "accepted_by_position": [0.66, 0.44, 0.28], "tested_by_position": [50, 50, 50],
        "drafted_lengths": [0, 0, 0, 50], "accepted_lengths": [17, 11, 8, 14],
        "prefill_tokens": 11, "prefill_seconds": 0.1, "time_to_first_token_seconds": 0.138,
        "decode_seconds": 1.9, "tokens_per_second": 119 / 1.9,
        "time.draft_seconds": 0.6, "time.verify_seconds": 1.3, "time.sample_seconds": 0.0,
        "time.restore_seconds": 0.0, "time.other_seconds": 0.0, "stop_reason": "end_of_generation",
    },
    comparison={
        "verdict": "slower", "speedup": 1785 / 1900, "identical": True, "first_divergence": None,
        "divergence": None,
    },
    reasons=("0.27", "1.73", "2.38"),
    shown=Shown(
        headline="0.94× slower",
        verdict=("62.6", "66.7", f"46{PER}", "2.38", "0.27", "1.73", "all 119 tokens"),
        legend={"accepted from the draft": 69, "corrected": 36, "bonus": 14, "target alone": 0},
        positions=(
            f"66{PER}, 33 of 50 tested", f"44{PER}, 22 of 50 tested", f"28{PER}, 14 of 50 tested",
        ),
        positions_foot=f"In all 46{PER} accepted, 69 of 150 tested",
        lengths_foot="Mean accepted length 1.38, tokens per step (τ) 2.38",
        time=(f"draft 32{PER}", f"verify 68{PER}", f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 1.90{THIN}s in all",
        sources=(("0", f"69 of 150  46{PER}"),),
    ),
)  # fmt: skip

# ---- slower although every draft token is right -------------------------------------------------
# 20 rounds of 2 draft tokens, all accepted, and a bonus: 3 tokens a round, committed 60
# plain step 10; a check of 3 rows takes 5 x 10 = 50; drafting takes nothing
# decode 20 x 50 = 1000, 60 tokens/s; baseline 60 x 10 = 600, 100 tokens/s; 600 / 1000 = 0.6
DEAR_CHECK = Worked(
    name="dear check",
    script=script_of([Round(drafted=2, accepted=2, verify=0.05)] * 20, step_seconds=0.01),
    baseline={"committed": 60, "decode_seconds": 0.6, "tokens_per_second": 100.0},
    speculative={
        "committed": 60, "steps": 20, "drafted": 40, "tested": 40, "accepted": 40, "rejected": 0,
        "recovered": 0, "bonus": 20, "sampled": 0, "acceptance_rate": 1.0,
        "mean_accepted_length": 2.0, "tau": 3.0, "accepted_by_position": [1.0, 1.0],
        "drafted_lengths": [0, 0, 20], "accepted_lengths": [0, 0, 20], "decode_seconds": 1.0,
        "tokens_per_second": 60.0, "time.draft_seconds": 0.0, "time.verify_seconds": 1.0,
        "time_to_first_token_seconds": 0.15,
    },
    comparison={"verdict": "slower", "speedup": 0.6, "identical": True},
    reasons=("5.00", "3.00"),
    shown=Shown(
        headline="0.60× slower",
        verdict=("60.0", "100", f"100{PER}", "all 60 tokens"),
        legend={"accepted from the draft": 40, "corrected": 0, "bonus": 20, "target alone": 0},
        positions=(f"100{PER}, 20 of 20 tested", f"100{PER}, 20 of 20 tested"),
        positions_foot=f"In all 100{PER} accepted, 40 of 40 tested",
        lengths_foot="Mean accepted length 2.00, tokens per step (τ) 3.00",
        time=(f"draft 0{PER}", f"verify 100{PER}", f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 1.00{THIN}s in all",
        sources=(("0", f"40 of 40  100{PER}"),),
    ),
)  # fmt: skip

# ---- saving and restoring eats the gain ---------------------------------------------------------
# 4 rounds: 3 drafted, 2 accepted, one recovered: 3 tokens a round, committed 12
# a round: draft 60, save 300, verify 165, restore 300, together 825; decode 4 x 825 = 3300
# shares: 240 / 3300 = 7.27 %, 660 / 3300 = 20 %, 2400 / 3300 = 72.73 %; rounded 7 + 20 + 73 = 100
# 12 / 3.3 = 3.636 tokens/s; plain step 31.25: 12 x 31.25 = 375, 32 tokens/s; 375 / 3300 = 0.1136
RESTORING = Worked(
    name="saving and restoring",
    script=script_of(
        [Round(drafted=3, accepted=2, draft=0.06, save=0.3, verify=0.165, restore=0.3)] * 4,
        step_seconds=0.03125,
        changes={"can_remove_partial": False},
    ),
    baseline={"committed": 12, "decode_seconds": 0.375, "tokens_per_second": 32.0},
    speculative={
        "committed": 12, "steps": 4, "drafted": 12, "tested": 12, "accepted": 8, "rejected": 4,
        "recovered": 4, "bonus": 0, "sampled": 0, "acceptance_rate": 8 / 12, "tau": 3.0,
        "mean_accepted_length": 2.0, "accepted_by_position": [1.0, 1.0, 0.0],
        "drafted_lengths": [0, 0, 0, 4], "accepted_lengths": [0, 0, 4], "decode_seconds": 3.3,
        "tokens_per_second": 12 / 3.3, "time.draft_seconds": 0.24, "time.verify_seconds": 0.66,
        "time.sample_seconds": 0.0, "time.restore_seconds": 2.4, "time.other_seconds": 0.0,
        "time_to_first_token_seconds": 0.925,
    },
    comparison={"verdict": "slower", "speedup": 0.375 / 3.3, "identical": True},
    reasons=("73 %",),
    shown=Shown(
        headline="0.11× slower",
        verdict=("3.64", "32.0", f"67{PER}", f"73{PER}", "all 12 tokens"),
        legend={"accepted from the draft": 8, "corrected": 4, "bonus": 0, "target alone": 0},
        positions=(
            f"100{PER}, 4 of 4 tested", f"100{PER}, 4 of 4 tested", f"0{PER}, 0 of 4 tested",
        ),
        positions_foot=f"In all 67{PER} accepted, 8 of 12 tested",
        lengths_foot="Mean accepted length 2.00, tokens per step (τ) 3.00",
        time=(
            f"draft 7{PER}", f"verify 20{PER}", f"sampling 0{PER}", f"save and restore 73{PER}",
            f"other 0{PER}",
        ),
        time_foot=f"Decoding took 3.30{THIN}s in all",
        sources=(("0", f"8 of 12  67{PER}"),),
    ),
)  # fmt: skip

# ---- drafts that were thrown away untested ------------------------------------------------------
# three rounds: 2 drafted and dropped, 2 drafted and dropped, 8 drafted and tested, 6 of them kept
# drafted 12, dropped 4, tested 8, accepted 6, rejected 2, rate 6 / 8 = 0.75
# committed 1 + 1 + 7 = 9: sampled 2, accepted 6, recovered 1
# tau 9 / 3 = 3, mean accepted 6 / 3 = 2
# rounds of 4 + 20, 4 + 20, 16 + 40: decode 104, of these draft 24 (23.1 %) and verify 80 (76.9 %)
# 9 / 0.104 = 86.54 tokens/s; plain step 20: 180, 50 tokens/s; 180 / 104 = 1.7308
DROPPED = Worked(
    name="dropped drafts",
    n_min=4,
    script=script_of(
        [
            Round(dropped=2, draft=0.004, verify=0.02),
            Round(dropped=2, draft=0.004, verify=0.02),
            Round(drafted=8, accepted=6, draft=0.016, verify=0.04),
        ],
        step_seconds=0.02,
    ),
    baseline={"committed": 9, "decode_seconds": 0.18, "tokens_per_second": 50.0},
    speculative={
        "committed": 9, "steps": 3, "drafted": 12, "tested": 8, "accepted": 6, "rejected": 2,
        "dropped": 4, "recovered": 1, "bonus": 0, "sampled": 2, "acceptance_rate": 0.75,
        "mean_accepted_length": 2.0, "tau": 3.0,
        "accepted_by_position": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0],
        "tested_by_position": [1, 1, 1, 1, 1, 1, 1, 1],
        "drafted_lengths": [2, 0, 0, 0, 0, 0, 0, 0, 1], "accepted_lengths": [2, 0, 0, 0, 0, 0, 1],
        "decode_seconds": 0.104, "tokens_per_second": 9 / 0.104, "time.draft_seconds": 0.024,
        "time.verify_seconds": 0.08, "time_to_first_token_seconds": 0.124,
    },
    comparison={"verdict": "faster", "speedup": 180 / 104, "identical": True},
    shown=Shown(
        headline="1.73× faster",
        verdict=("86.5", "50.0", f"75{PER}", "all 9 tokens"),
        legend={"accepted from the draft": 6, "corrected": 1, "bonus": 0, "target alone": 2},
        positions=(
            *[f"100{PER}, 1 of 1 tested"] * 6, f"0{PER}, 0 of 1 tested", f"0{PER}, 0 of 1 tested",
        ),
        positions_foot=f"In all 75{PER} accepted, 6 of 8 tested",
        lengths_foot="Mean accepted length 2.00, tokens per step (τ) 3.00",
        time=(f"draft 23{PER}", f"verify 77{PER}", f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 104{THIN}ms in all",
        sources=(("4", f"6 of 8  75{PER}"),),
    ),
)  # fmt: skip

# ---- a high rate because almost nothing was drafted ---------------------------------------------
# 100 rounds: 90 without a draft, 9 with 2 of 2 accepted, 1 with 0 of 1: drafted 19, accepted 18
# committed 100 + 18 = 118: sampled 90, bonus 9, recovered 1; rate 18 / 19 = 0.947
# tau 1.18, mean accepted 0.18; by position: 9 of 10 and 9 of 9
# a round without a draft takes 10, with 2 drafted 4 + 12, with 1 drafted 2 + 12
# decode 900 + 144 + 14 = 1058: draft 36 + 2 = 38 (3.6 %), verify 900 + 108 + 12 = 1020 (96.4 %)
# 118 / 1.058 = 111.5 tokens/s; plain step 10: 1180, 100 tokens/s; 1180 / 1058 = 1.1153
HARDLY_DRAFTED = Worked(
    name="hardly drafted",
    script=script_of(
        [
            *[Round(verify=0.01)] * 90,
            *[Round(drafted=2, accepted=2, draft=0.004, verify=0.012)] * 9,
            Round(drafted=1, accepted=0, draft=0.002, verify=0.012),
        ],
        step_seconds=0.01,
    ),
    baseline={"committed": 118, "decode_seconds": 1.18, "tokens_per_second": 100.0},
    speculative={
        "committed": 118, "steps": 100, "drafted": 19, "tested": 19, "accepted": 18, "rejected": 1,
        "dropped": 0, "recovered": 1, "bonus": 9, "sampled": 90, "acceptance_rate": 18 / 19,
        "mean_accepted_length": 0.18, "tau": 1.18, "accepted_by_position": [0.9, 1.0],
        "tested_by_position": [10, 9], "drafted_lengths": [90, 1, 9],
        "accepted_lengths": [91, 0, 9], "decode_seconds": 1.058, "tokens_per_second": 118 / 1.058,
        "time.draft_seconds": 0.038, "time.verify_seconds": 1.02,
        "time_to_first_token_seconds": 0.11,
    },
    comparison={"verdict": "faster", "speedup": 1180 / 1058, "identical": True},
    reasons=("1.18",),
    shown=Shown(
        headline="1.12× faster",
        verdict=("112", "100", f"95{PER}", "1.18", "all 118 tokens"),
        legend={"accepted from the draft": 18, "corrected": 1, "bonus": 9, "target alone": 90},
        positions=(f"90{PER}, 9 of 10 tested", f"100{PER}, 9 of 9 tested"),
        positions_foot=f"In all 95{PER} accepted, 18 of 19 tested",
        lengths_foot="Mean accepted length 0.18, tokens per step (τ) 1.18",
        time=(f"draft 4{PER}", f"verify 96{PER}", f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 1.06{THIN}s in all",
        sources=(("0", f"18 of 19  95{PER}"),),
    ),
)  # fmt: skip

# ---- the draft is the bottleneck ----------------------------------------------------------------
# 10 rounds of 4 draft tokens, accepted 4, 3, 2, 2, 2, 1, 1, 1, 0, 0: 16 of 40
# by position: 8, 5, 2 and 1 of 10; own tokens 10, of these 1 bonus; committed 26; tau 2.6
# draft token 12, so drafting 48; check 28; a round takes 76, decode 760: 480 (63.2 %), 280 (36.8 %)
# 26 / 0.76 = 34.21 tokens/s; plain step 20: 520, 50 tokens/s; 520 / 760 = 0.6842
# draft token 12 / 20 = 0.60 target steps, check 28 / 20 = 1.40
BOTTLENECK = Worked(
    name="draft as bottleneck",
    script=script_of(
        [
            Round(drafted=4, accepted=n, draft=0.048, verify=0.028)
            for n in (4, 3, 2, 2, 2, 1, 1, 1, 0, 0)
        ],
        step_seconds=0.02,
    ),
    baseline={"committed": 26, "decode_seconds": 0.52, "tokens_per_second": 50.0},
    speculative={
        "committed": 26, "steps": 10, "drafted": 40, "tested": 40, "accepted": 16, "rejected": 24,
        "recovered": 9, "bonus": 1, "sampled": 0, "acceptance_rate": 0.4,
        "mean_accepted_length": 1.6, "tau": 2.6, "accepted_by_position": [0.8, 0.5, 0.2, 0.1],
        "drafted_lengths": [0, 0, 0, 0, 10], "accepted_lengths": [2, 3, 3, 1, 1],
        "decode_seconds": 0.76, "tokens_per_second": 26 / 0.76, "time.draft_seconds": 0.48,
        "time.verify_seconds": 0.28, "time_to_first_token_seconds": 0.176,
    },
    comparison={"verdict": "slower", "speedup": 520 / 760, "identical": True},
    reasons=("63 %", "0.60", "1.40"),
    shown=Shown(
        headline="0.68× slower",
        verdict=("34.2", "50.0", f"40{PER}", f"63{PER}", "all 26 tokens"),
        legend={"accepted from the draft": 16, "corrected": 9, "bonus": 1, "target alone": 0},
        positions=(
            f"80{PER}, 8 of 10 tested", f"50{PER}, 5 of 10 tested", f"20{PER}, 2 of 10 tested",
            f"10{PER}, 1 of 10 tested",
        ),
        positions_foot=f"In all 40{PER} accepted, 16 of 40 tested",
        lengths_foot="Mean accepted length 1.60, tokens per step (τ) 2.60",
        time=(f"draft 63{PER}", f"verify 37{PER}", f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 760{THIN}ms in all",
        sources=(("0", f"16 of 40  40{PER}"),),
    ),
)  # fmt: skip

# ---- copies and drafts of a model take turns ----------------------------------------------------
# 5 rounds of 4 copied and 3 accepted, 5 rounds of 2 by the model and 1 accepted, a correction each
# tested 20 + 10 = 30, accepted 15 + 5 = 20, recovered 10, committed 30; tau 3, mean accepted 2
# position 1: 10 of 10, position 2: 5 of 10, position 3: 5 of 5, position 4: 0 of 5
# rounds of 1 + 19 and of 10 + 15: decode 5 x 20 + 5 x 25 = 225
# draft 5 + 50 = 55 (24.4 %), verify 95 + 75 = 170 (75.6 %)
# 30 / 0.225 = 133.3 tokens/s; plain step 10: 300, 100 tokens/s; 300 / 225 = 1.3333
TAKING_TURNS = Worked(
    name="copies and drafts",
    script=script_of(
        [
            Round(drafted=4, accepted=3, copied=True, draft=0.001, verify=0.019),
            Round(drafted=2, accepted=1, draft=0.01, verify=0.015),
        ]
        * 5,
        step_seconds=0.01,
    ),
    baseline={"committed": 30, "decode_seconds": 0.3, "tokens_per_second": 100.0},
    speculative={
        "committed": 30, "steps": 10, "drafted": 30, "tested": 30, "accepted": 20, "rejected": 10,
        "recovered": 10, "bonus": 0, "sampled": 0, "acceptance_rate": 20 / 30, "tau": 3.0,
        "mean_accepted_length": 2.0, "accepted_by_position": [1.0, 0.5, 1.0, 0.0],
        "tested_by_position": [10, 10, 5, 5], "drafted_lengths": [0, 0, 5, 0, 5],
        "accepted_lengths": [0, 5, 0, 5], "decode_seconds": 0.225,
        "tokens_per_second": 30 / 0.225, "time.draft_seconds": 0.055, "time.verify_seconds": 0.17,
    },
    comparison={"verdict": "faster", "speedup": 300 / 225, "identical": True},
    shown=Shown(
        headline="1.33× faster",
        verdict=("133", "100", f"67{PER}", "all 30 tokens"),
        legend={
            "accepted from the draft": 5, "accepted copy": 15, "corrected": 10, "bonus": 0,
            "target alone": 0,
        },
        positions=(
            f"100{PER}, 10 of 10 tested", f"50{PER}, 5 of 10 tested", f"100{PER}, 5 of 5 tested",
            f"0{PER}, 0 of 5 tested",
        ),
        positions_foot=f"In all 67{PER} accepted, 20 of 30 tested",
        lengths_foot="Mean accepted length 2.00, tokens per step (τ) 3.00",
        time=(f"draft 24{PER}", f"verify 76{PER}", f"sampling 0{PER}", f"other 0{PER}"),
        time_foot=f"Decoding took 225{THIN}ms in all",
        sources=(("0", f"15 of 20  75{PER}"), ("0", f"5 of 10  50{PER}")),
    ),
)  # fmt: skip

# ---- a partial rejection on a memory that cannot trim -------------------------------------------
# two rounds of 4 drafted and 2 accepted, with a correction each: accepted 4, rejected 4, tokens 6
# a round: draft 8, save 1, verify 20, sample 1, restore 4, together 34; decode 68
# 16 / 68 = 23.5 %, 40 / 68 = 58.8 %, 2 / 68 = 2.9 %, 10 / 68 = 14.7 %; the four floors add up to
# 23 + 58 + 2 + 14 = 97, the largest remainders .94, .82 and .71 go up: 23 + 59 + 3 + 15 = 100
# 6 / 0.068 = 88.24 tokens/s; plain step 10: 60, 100 tokens/s; 60 / 68 = 0.8824
PARTLY_REJECTED = Worked(
    name="partial rejection",
    script=script_of(
        [
            Round(
                drafted=4, accepted=2, draft=0.008, save=0.001, verify=0.02, sample=0.001,
                restore=0.004,
            )
        ]
        * 2,
        step_seconds=0.01,
        changes={"can_remove_partial": False},
    ),
    baseline={"committed": 6, "decode_seconds": 0.06, "tokens_per_second": 100.0},
    speculative={
        "committed": 6, "steps": 2, "drafted": 8, "tested": 8, "accepted": 4, "rejected": 4,
        "recovered": 2, "bonus": 0, "sampled": 0, "acceptance_rate": 0.5, "tau": 3.0,
        "mean_accepted_length": 2.0, "accepted_by_position": [1.0, 1.0, 0.0, 0.0],
        "drafted_lengths": [0, 0, 0, 0, 2], "accepted_lengths": [0, 0, 2], "decode_seconds": 0.068,
        "tokens_per_second": 6 / 0.068, "time.draft_seconds": 0.016, "time.verify_seconds": 0.04,
        "time.sample_seconds": 0.002, "time.restore_seconds": 0.01,
    },
    comparison={"verdict": "slower", "speedup": 60 / 68, "identical": True},
    shown=Shown(
        headline="0.88× slower",
        verdict=("88.2", "100", f"50{PER}", "all 6 tokens"),
        legend={"accepted from the draft": 4, "corrected": 2, "bonus": 0, "target alone": 0},
        positions=(
            f"100{PER}, 2 of 2 tested", f"100{PER}, 2 of 2 tested", f"0{PER}, 0 of 2 tested",
            f"0{PER}, 0 of 2 tested",
        ),
        positions_foot=f"In all 50{PER} accepted, 4 of 8 tested",
        lengths_foot="Mean accepted length 2.00, tokens per step (τ) 3.00",
        time=(
            f"draft 23{PER}", f"verify 59{PER}", f"sampling 3{PER}", f"save and restore 15{PER}",
            f"other 0{PER}",
        ),
        time_foot=f"Decoding took 68{THIN}ms in all",
        sources=(("0", f"4 of 8  50{PER}"),),
    ),
)  # fmt: skip

RUNS: tuple[Worked, ...] = (
    CHEAP_TARGET,
    DEAR_CHECK,
    RESTORING,
    DROPPED,
    HARDLY_DRAFTED,
    BOTTLENECK,
    TAKING_TURNS,
    PARTLY_REJECTED,
    REASONING,
    REPEATING,
    NEVER_DRAFTED,
    *LIMITS,
    STOPPED,
    forked(0.03),
    forked(4.0),
)
