"""Whether a draft can serve a target, and why not: llama.cpp's five rules, before any weights.

The rules are those of `common_speculative_are_compatible` in llama.cpp's common/speculative.cpp:
tokenizer type, begin token, end token, size, and the texts of all tokens from the sixth on.
Architecture, chat template and file name do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.models.file_kinds import FileKind
from specviz.models.model_file import ModelFile, Tokenizer
from specviz.models.readable import counted, grouped, quoted, token_text
from specviz.trace.config import Role

MAX_SIZE_DIFFERENCE = 128
FIRST_COMPARED = 5
"""llama.cpp lets the first five ids differ: models of one family number their specials anew."""


@dataclass(frozen=True, slots=True)
class TokenDifference:
    """An id with different texts, spelt for reading."""

    token_id: int
    target_text: str
    draft_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """Whether the pair fits, in one sentence, with notes on what else is worth knowing.

    `n_compared` ids were compared by their texts, of which `n_different` differ.
    """

    fits: bool
    sentence: str
    notes: tuple[str, ...]
    n_compared: int
    n_different: int
    first_difference: TokenDifference | None

    @property
    def message(self) -> str:
        """The verdict as a whole sentence, for places where it stands alone."""
        if self.sentence.endswith("."):
            return self.sentence
        beginning = "The pair fits" if self.fits else "The draft does not fit this target"
        return f"{beginning}: {self.sentence}."


def check_pair(target: ModelFile, draft: ModelFile) -> PairVerdict:
    """Apply the rules in llama.cpp's order; the first that fails makes the sentence.

    Neither file has to be loadable: for anything but a model the sentence explains what it is.
    """
    for role, model in ((Role.TARGET, target), (Role.DRAFT, draft)):
        if model.kind is not FileKind.MODEL:
            return _not_a_model(role, model)
    different = _different_ids(target, draft)
    n_compared = max(min(len(target.tokens), len(draft.tokens)) - FIRST_COMPARED, 0)
    by_texts = _refused_by_texts(target, draft, different, n_compared)
    by_others = (
        _refused_by_type(target.tokenizer, draft.tokenizer)
        or _refused_by_added_token(target, draft, "a begin token", "BOS")
        or _refused_by_added_token(target, draft, "an end token", "EOS")
        or _refused_by_size(target.tokenizer, draft.tokenizer)
    )
    refusal = by_others or by_texts
    notes = _notes_on_fit(target, draft) if refusal is None else []
    if by_others:
        notes += _note_on_texts(different, n_compared)
    return PairVerdict(
        fits=refusal is None,
        sentence=refusal or f"same vocabulary, {_shared_size(target, draft)} tokens",
        notes=(
            *notes,
            *_notes_on_strangers(target, draft, different, n_compared),
            *_notes_on_roles(target, draft),
        ),
        n_compared=n_compared,
        n_different=len(different),
        first_difference=_difference(target, draft, different[0]) if different else None,
    )


def _shared_size(target: ModelFile, draft: ModelFile) -> str:
    return grouped(min(len(target.tokens), len(draft.tokens)))


def _not_a_model(role: Role, model: ModelFile) -> PairVerdict:
    return PairVerdict(
        fits=False,
        sentence=model.explanation,
        notes=(f"This is about the {role}.",),
        n_compared=0,
        n_different=0,
        first_difference=None,
    )


# The rules ---------------------------------------------------------------------------------------
def _refused_by_type(target: Tokenizer, draft: Tokenizer) -> str | None:
    if target.kind == draft.kind:
        return None
    return (
        f"different tokenizer types: {_kind(target)} in the target, {_kind(draft)} in the draft; "
        "the engine refuses such pairs"
    )


def _kind(tokenizer: Tokenizer) -> str:
    return f"{tokenizer.model} ({tokenizer.kind})"


def _refused_by_added_token(
    target: ModelFile, draft: ModelFile, name: str, short: str
) -> str | None:
    """Rules two and three: the same token, or none, is added at the text's begin or end."""
    ids = [_added(model.tokenizer, short) for model in (target, draft)]
    adds = [flag for flag, _ in ids]
    if adds[0] != adds[1]:
        who, other = ("target", "draft") if adds[0] else ("draft", "target")
        return f"the {who} adds {name} ({short}) to the text, the {other} does not"
    if adds[0] and ids[0][1] != ids[1][1]:
        texts = f"{_named(target, ids[0][1])} / {_named(draft, ids[1][1])}"
        return f"both add {name} ({short}) to the text, but not the same: {texts}"
    return None


def _added(tokenizer: Tokenizer, short: str) -> tuple[bool, int | None]:
    if short == "BOS":
        return tokenizer.add_bos, tokenizer.bos_id
    return tokenizer.add_eos, tokenizer.eos_id


def _named(model: ModelFile, token_id: int | None) -> str:
    return "none" if token_id is None else f"{grouped(token_id)} {_text(model, token_id)}"


def _refused_by_size(target: Tokenizer, draft: Tokenizer) -> str | None:
    if abs(target.n_tokens - draft.n_tokens) <= MAX_SIZE_DIFFERENCE:
        return None
    return (
        f"different vocabulary sizes: {grouped(target.n_tokens)} tokens in the target, "
        f"{grouped(draft.n_tokens)} in the draft; they may differ by {MAX_SIZE_DIFFERENCE} at most"
    )


def _refused_by_texts(
    target: ModelFile, draft: ModelFile, different: Sequence[int], n_compared: int
) -> str | None:
    if not different:
        return None
    first = _difference(target, draft, different[0])
    return (
        f"token {grouped(first.token_id)} differs: {first.target_text} / {first.draft_text} "
        f"({grouped(len(different))} of {grouped(n_compared)})"
    )


# Differences -------------------------------------------------------------------------------------
def _different_ids(target: ModelFile, draft: ModelFile) -> list[int]:
    """Ids from the sixth on whose raw texts differ, up to the shorter vocabulary's end."""
    end = min(len(target.tokens), len(draft.tokens))
    if target.tokens[FIRST_COMPARED:end] == draft.tokens[FIRST_COMPARED:end]:
        return []
    return [
        token_id
        for token_id in range(FIRST_COMPARED, end)
        if target.tokens[token_id] != draft.tokens[token_id]
    ]


def _difference(target: ModelFile, draft: ModelFile, token_id: int) -> TokenDifference:
    texts = _text(target, token_id), _text(draft, token_id)
    if texts[0] == texts[1]:  # they differ in their spelling only, so show that
        raw = target.tokens[token_id], draft.tokens[token_id]
        texts = (
            quoted(raw[0].decode("utf-8", "surrogateescape")),
            quoted(raw[1].decode("utf-8", "surrogateescape")),
        )
    return TokenDifference(token_id, *texts)


def _text(model: ModelFile, token_id: int) -> str:
    return token_text(model.tokens[token_id], model.tokenizer.model)


# Notes -------------------------------------------------------------------------------------------
def _notes_on_fit(target: ModelFile, draft: ModelFile) -> list[str]:
    notes = []
    if target.info.architecture != draft.info.architecture:
        notes.append("different architecture, same vocabulary")
    n_extra = len(target.tokens) - len(draft.tokens)
    if n_extra:
        longer = "target" if n_extra > 0 else "draft"
        notes.append(f"{counted(abs(n_extra), 'padding token')} in the {longer}'s vocabulary")
    n_early = sum(
        ours != theirs
        for ours, theirs in zip(
            target.tokens[:FIRST_COMPARED], draft.tokens[:FIRST_COMPARED], strict=False
        )
    )
    if n_early:
        notes.append(f"{n_early} of the first five tokens differ, which the engine allows")
    return notes


def _note_on_texts(different: Sequence[int], n_compared: int) -> list[str]:
    """For pairs refused by another rule: what a comparison of the texts would have found."""
    if not n_compared:
        return []
    if not different:
        return [f"all {grouped(n_compared)} texts compared are the same anyway"]
    return [f"{grouped(len(different))} of {grouped(n_compared)} texts compared differ"]


def _notes_on_strangers(
    target: ModelFile, draft: ModelFile, different: Sequence[int], n_compared: int
) -> list[str]:
    """Two ids in both vocabularies, where most of the texts differ."""
    if len(different) * 2 <= n_compared or not different:
        return []
    samples = [
        _difference(target, draft, token_id)
        for token_id in dict.fromkeys((different[len(different) // 3], different[-1]))
    ]
    return [
        "the two vocabularies have nothing to do with each other",
        *(
            f"token {grouped(sample.token_id)} is {sample.target_text} in the target "
            f"and {sample.draft_text} in the draft"
            for sample in samples
        ),
    ]


def _notes_on_roles(target: ModelFile, draft: ModelFile) -> list[str]:
    if target.path == draft.path:
        return ["target and draft are the same file: nothing to gain, but good for a test"]
    if draft.info.n_params > target.info.n_params:
        return ["the draft is larger than the target; did you mean them the other way round?"]
    return []
