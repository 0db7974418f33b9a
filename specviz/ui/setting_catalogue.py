"""What every setting is called, what it may be, and its effect on speed, in one sentence each.

Wording and limits only; rows and layout are in setup_panel.py.
"""

from __future__ import annotations

from specviz.trace.config import KV_TYPES, DraftSource, Switch
from specviz.trace.presets import NGRAM_PRESETS
from specviz.trace.validation import LARGEST_SEED
from specviz.ui.drafting_choice import Method
from specviz.ui.numbers import NumberFormat
from specviz.ui.segments import Segment
from specviz.ui.setting_fields import Choice

TOKENS_LADDER = tuple(2**power for power in range(4, 18))
CONTEXT_LADDER = tuple(2**power for power in range(8, 21))
MOST_LAYERS = 999

N_MAX = NumberFormat(label="Draft tokens per step", minimum=1, maximum=511)
P_MIN = NumberFormat(
    label="Stop drafting below", minimum=0, maximum=1, step=0.05, decimals=2, prefix="p "
)
N_MIN = NumberFormat(label="Shortest draft", minimum=0, maximum=511)
MATCH = NumberFormat(label="Matching tokens", minimum=1, maximum=1024)
COPIED = NumberFormat(label="Copied at most", minimum=1, maximum=1024)
HITS = NumberFormat(label="Least hits", minimum=1, maximum=1024)
SHORTEST = NumberFormat(label="Shortest draft", minimum=0, maximum=1024)
LONGEST = NumberFormat(label="Longest draft", minimum=0, maximum=1024)
TEMPERATURE = NumberFormat(label="Temperature", minimum=0, maximum=5, step=0.1, decimals=1)
TOP_K = NumberFormat(label="Top-k", minimum=0, maximum=1_000_000, step=5, words={0: "off"})
TOP_P = NumberFormat(
    label="Top-p", minimum=0, maximum=1, step=0.05, decimals=2, words={1: "off"}, top_word=1
)
MIN_P = NumberFormat(label="Min-p", minimum=0, maximum=1, step=0.05, decimals=2, words={0: "off"})
SEED = NumberFormat(label="Seed", minimum=0, maximum=LARGEST_SEED, words={None: "random"})
MAX_TOKENS = NumberFormat(
    label="Longest answer",
    minimum=1,
    maximum=1_000_000,
    words={-1: "no limit"},
    top_word=-1,
    ladder=TOKENS_LADDER,
)
N_CTX = NumberFormat(
    label="Context",
    minimum=0,
    maximum=16_777_216,
    words={0: "as trained"},
    ladder=CONTEXT_LADDER,
)
N_THREADS = NumberFormat(label="Threads", minimum=1, maximum=1024, words={None: "auto"})


def layers(n_layers: int | None) -> NumberFormat:
    """GPU layers of a model with that many blocks; the output layer counts as one more."""
    most = MOST_LAYERS if n_layers is None else n_layers + 1
    return NumberFormat(
        label="Layers on GPU", minimum=0, maximum=most, words={-1: "all"}, top_word=-1
    )


KV_CHOICES = tuple(Choice(each, each) for each in KV_TYPES)
SWITCH_CHOICES = (
    Choice(Switch.AUTO.value, "auto"),
    Choice(Switch.ON.value, "on"),
    Choice(Switch.OFF.value, "off"),
)

METHODS = (
    Segment(
        Method.MODEL.value,
        "Draft model",
        "A second, smaller model proposes tokens, or blocks that the target brings along: drafts "
        "at nearly every step, and every drafted token costs time.",
        "drafting-model",
    ),
    Segment(
        Method.NGRAM.value,
        "N-gram",
        "Copies what followed the same tokens earlier in the text: costs almost no time and needs "
        "no draft file, but drafts only where the text repeats itself.",
        "drafting-ngram",
    ),
    Segment(
        Method.BOTH.value,
        "Both",
        "Copies where the text repeats itself, which costs almost no time, and asks the draft "
        "model everywhere else.",
        "drafting-both",
    ),
)
DRAFTED_BY = (
    Choice(DraftSource.DRAFT_SIMPLE.value, "draft file", beside="draft-simple"),
    Choice(DraftSource.DRAFT_MTP.value, "the target's MTP blocks", beside="draft-mtp"),
)
CUSTOM = "custom"
"""Shown in place of a preset when the sizes are those of none."""

PRESETS = tuple(Choice(preset.key, preset.name, preset.effect) for preset in NGRAM_PRESETS)
NGRAM_METHODS = (
    Choice(
        DraftSource.NGRAM_SIMPLE.value,
        "ngram-simple",
        "Looks for the newest place where the last tokens stood before, and copies what followed. "
        "It keeps no notes, so every step reads the text again, which costs little.",
        "newest match",
    ),
    Choice(
        DraftSource.NGRAM_MAP_K.value,
        "ngram-map-k",
        "Notes where tokens first stood together, and copies from there; after a rejection it "
        "drafts no more than was accepted from that place.",
        "noted match",
    ),
    Choice(
        DraftSource.NGRAM_MAP_K4V.value,
        "ngram-map-k4v",
        "Counts up to four sequels of the same tokens, and copies only where one is at least twice "
        "as frequent as the others together: fewer drafts, more of them accepted.",
        "likeliest sequel",
    ),
    Choice(
        DraftSource.NGRAM_MOD.value,
        "ngram-mod",
        "Remembers which token last followed the same few tokens, and goes on so from token to "
        "token. It finds a lot, and starts afresh when five drafts in a row go mostly wrong.",
        "token chain",
    ),
    Choice(
        DraftSource.NGRAM_CACHE.value,
        "ngram-cache",
        "Counts which token followed the last one to four, and drafts up to eight tokens while one "
        "is clearly ahead. Files can bring in counts from other texts.",
        "token counts",
    ),
)

EFFECTS = {
    "drafted-by": "A draft file, or the blocks for tokens ahead that the target brings along: "
    "these need no second model, and which of the two is faster shows in a run.",
    "ngram-preset": "Sizes that suit a kind of text, all set at once: longer matches and drafts "
    "bring more where much is copied, and cost checks where little is.",
    "ngram-methods": "How places to copy from are found; with several methods, the first that "
    "finds anything drafts. Looking costs next to no time, checking what was found does.",
    "ngram-match": "So many tokens must stand as they stood before until anything is copied: fewer "
    "find more, but more of it is rejected, which costs time.",
    "ngram-shortest": "A draft that would be shorter is not made: higher values save checks that "
    "would bring little, and miss short copies.",
    "ngram-longest": "At most so many tokens are drafted per step: more bring speed in long "
    "copies, and cost time where a copy ends early.",
    "ngram-copied": "At most so many tokens are copied from behind a match: more bring speed in "
    "long copies, and cost time where a copy ends early.",
    "ngram-hits": "So often the same tokens must have been met before anything is copied: higher "
    "values wait longer, and more of their drafts are accepted.",
    "ngram-cache-static": "Counts from other texts, in a file that llama.cpp made for the same "
    "vocabulary: they help to choose between sequels, so that more drafts are accepted.",
    "ngram-cache-dynamic": "Counts from earlier answers, in a file that llama.cpp made for the "
    "same vocabulary: asked where this text has no sequel yet, they bring more drafts.",
    "draft-tokens": "At most so many tokens are drafted per step: more can pay off when most are "
    "accepted, and cost time when they are not.",
    "p-min": "Drafting stops at the first token the draft gives a lower probability: higher values "
    "waste less time on tokens that would be rejected.",
    "n-min": "Shorter drafts are thrown away unchecked: above 0 it saves checks that would bring "
    "little, and loses what those drafts would have brought.",
    "temperature": "0 always takes the most likely token; higher values make the answer more "
    "varied, fewer drafts accepted, and so less speed.",
    "seed": "The number that fixes chance at temperatures above 0: the same seed gives the same "
    "answer; it has no effect on speed.",
    "max-tokens": "The answer ends after so many tokens at the latest: longer answers take longer, "
    "and measure speed more steadily.",
    "top-k": "Only the k most likely tokens may be drawn: lower values make accepted drafts, and "
    "so speed, a little more likely.",
    "top-p": "Only the most likely tokens that together reach this probability may be drawn: lower "
    "values make accepted drafts a little more likely.",
    "min-p": "Tokens below this share of the most likely one cannot be drawn: higher values make "
    "accepted drafts a little more likely.",
    "reasoning": "Whether the model thinks before it answers, where its template has that switch: "
    "thinking takes time, and often drafts well.",
    "system-prompt": "What the model is told before the conversation: a longer one makes prefill "
    "longer, and leaves the rate of the answer nearly as it is.",
    "stop-texts": "The answer ends before any of these texts, one a line, \\n being a line break; "
    "this shortens the answer and has no effect on the rate.",
    "raw-prompt": "Passes the prompt on without the chat template, for base models and completion; "
    "it has no effect on the cost of a step.",
    "gpu-layers": "How many layers of target and draft lie on the GPU: the more, the faster, as "
    "long as they fit into its memory.",
    "context": "How many tokens prompt and answer may have together: more takes more memory, and "
    "time only once it is filled.",
    "threads": "Threads for target and draft; auto takes one for each physical core, and more than "
    "that mostly makes it slower.",
    "kv-target": "How the target remembers keys and values: smaller types save memory, and cost a "
    "little accuracy and sometimes speed.",
    "kv-draft": "How the draft remembers keys and values: below q8_0 fewer of its tokens are "
    "accepted, which costs speed.",
    "flash-attention": "A faster way to compute attention that needs less memory; auto uses it "
    "wherever the device can.",
    "repack": "Lays weights out anew for this processor while loading: faster steps on most CPUs, "
    "and a slower load.",
    "memory": "Weights, caches and working memory of both models: what does not fit into fast "
    "memory makes every step slower.",
}
"""By row key: what a setting does to speed."""

NGRAMS_FIRST = "N-grams are asked first, the draft model where they find nothing."
MTP_FIRST = "N-grams are asked first, the target's MTP blocks where they find nothing."
NEEDS_DRAFT = "Needs a draft file. N-grams need none."
NEEDS_DRAFT_OR_MTP = "Needs a draft file; the target's MTP blocks and n-grams need none."
NEEDS_DRAFT_BESIDE = "Needs a draft file; n-grams alone need none."

OPTIONS = {
    "draft-tokens": "--spec-draft-n-max",
    "n-min": "--spec-draft-n-min",
    "p-min": "--spec-draft-p-min",
    **{
        f"{name}-{part}": f"--spec-{name}-{option}"
        for name in ("ngram-simple", "ngram-map-k", "ngram-map-k4v")
        for part, option in (("match", "size-n"), ("copied", "size-m"))
    },
    "ngram-map-k4v-hits": "--spec-ngram-map-k4v-min-hits",
    "ngram-mod-match": "--spec-ngram-mod-n-match",
    "ngram-mod-shortest": "--spec-ngram-mod-n-min",
    "ngram-mod-longest": "--spec-ngram-mod-n-max",
    "ngram-cache-static": "--lookup-cache-static",
    "ngram-cache-dynamic": "--lookup-cache-dynamic",
}
"""By row key: what llama.cpp and `specviz run` call a drafting setting."""


def effect_of(effect_key: str, key: str) -> str:
    """What a setting does to speed, and its name in llama.cpp where it has one."""
    option = OPTIONS.get(key)
    return EFFECTS[effect_key] + (f"\nllama.cpp calls it {option}." if option else "")


LOW_DRAFT_CACHE = (
    "Below q8_0 the draft remembers so coarsely that often only half as many of its tokens are "
    "accepted."
)
FLASH_FOR_V = "A quantised V cache needs flash attention."
RAW_WITHOUT_SYSTEM = "A raw prompt has no place for a system prompt, so it is left out."
SAFE_MODE = (
    "Stays off: the engine crashed with it on this machine. Switch it off and on to try it again."
)
BELOW_Q8_0 = frozenset(KV_TYPES[KV_TYPES.index("q8_0") + 1 :])

MEMORY_PARTS = (
    ("target_weights", "Target weights"),
    ("target_kv", "Target cache"),
    ("draft_weights", "Draft weights"),
    ("draft_kv", "Draft cache"),
    ("compute", "Working memory"),
)
