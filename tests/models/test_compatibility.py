"""llama.cpp's rules for pairs, each with the sentence that a reader gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import tiny_gguf
from support.tiny_gguf import (
    Vocabulary,
    make_sentencepiece_vocabulary,
    make_vocabulary,
    write_gguf,
    write_llama,
    write_qwen35,
)

from specviz.models.compatibility import PairVerdict, check_pair
from specviz.models.model_file import ModelFile, inspect_model

Write = Callable[..., ModelFile]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the next tiny llama and inspects it."""
    paths = (tmp_path / f"{index}.gguf" for index in range(9))

    def one(**options: Any) -> ModelFile:
        return inspect_model(write_llama(next(paths), **{"n_layers": 1, **options}))

    return one


def with_vocabulary(write: Write, **changes: Any) -> ModelFile:
    return write(vocabulary=replace(make_vocabulary(), **changes))


def everything(verdict: PairVerdict) -> str:
    return " | ".join((verdict.sentence, *verdict.notes))


# Pairs that fit ----------------------------------------------------------------------------------
def test_the_same_vocabulary_fits(write: Write) -> None:
    verdict = check_pair(write(n_layers=3, n_vocab=1500), write(n_vocab=1500))
    assert verdict == PairVerdict(
        fits=True,
        sentence="same vocabulary, 1\u202f500 tokens",
        notes=(),
        n_compared=1495,
        n_different=0,
        first_difference=None,
    )


@pytest.mark.parametrize(("sizes", "longer"), [((1000, 1128), "draft"), ((1128, 1000), "target")])
def test_128_padding_tokens_fit(write: Write, sizes: tuple[int, int], longer: str) -> None:
    verdict = check_pair(*(write(n_vocab=size) for size in sizes))
    assert verdict.fits and verdict.sentence == "same vocabulary, 1\u202f000 tokens"
    assert f"128 padding tokens in the {longer}'s vocabulary" in verdict.notes


def test_129_do_not(write: Write) -> None:
    verdict = check_pair(write(n_vocab=1000, n_layers=3), write(n_vocab=1129))
    assert not verdict.fits
    assert verdict.sentence == (
        "different vocabulary sizes: 1\u202f000 tokens in the target, 1\u202f129 in the draft; "
        "they may differ by 128 at most"
    )
    assert verdict.notes == ("all 995 texts compared are the same anyway",)


def test_the_architecture_does_not_matter(tmp_path: Path, write: Write) -> None:
    target = inspect_model(write_qwen35(tmp_path / "target.gguf"))
    verdict = check_pair(target, write())
    assert verdict.fits and "different architecture, same vocabulary" in verdict.notes


def test_the_first_five_tokens_may_differ(write: Write) -> None:
    verdict = check_pair(write(n_layers=2), write(tokens={0: "<a>", 4: "<b>"}))
    assert verdict.fits and verdict.n_different == 0
    assert verdict.notes == ("2 of the first five tokens differ, which the engine allows",)


def test_ids_that_are_not_added_may_differ(write: Write) -> None:
    ours = with_vocabulary(write, bos_id=7, eos_id=8, add_bos=False, add_eos=False)
    theirs = with_vocabulary(write, bos_id=9, eos_id=10, add_bos=False, add_eos=False)
    assert check_pair(ours, theirs).fits


def test_kinds_of_tokens_and_templates_do_not_matter(write: Write) -> None:
    ours = with_vocabulary(write, kinds=(1,) * 320, pre="llama-bpe", add_bos=False)
    assert check_pair(ours, write(chat_template="{{ messages }}")).fits


# Pairs that do not -------------------------------------------------------------------------------
def test_one_different_token_is_named(write: Write) -> None:
    verdict = check_pair(write(tokens={139: "\n\n"}), write(tokens={139: "[@x]"}))
    assert not verdict.fits
    assert verdict.sentence == r'token 139 differs: "\n\n" / "[@x]" (1 of 315)'
    assert (verdict.n_compared, verdict.n_different) == (315, 1)
    assert verdict.first_difference is not None
    assert verdict.first_difference.token_id == 139
    assert verdict.first_difference.target_text == r'"\n\n"'
    assert verdict.first_difference.draft_text == '"[@x]"'
    assert verdict.message == f"The draft does not fit this target: {verdict.sentence}."


def test_the_sixth_token_is_compared(write: Write) -> None:
    verdict = check_pair(write(), write(tokens={5: "<a>"}))
    assert verdict.sentence.startswith("token 5 differs:")


def test_the_last_common_token_is_compared(write: Write) -> None:
    verdict = check_pair(write(n_vocab=330), write(n_vocab=320, tokens={319: "<a>"}))
    assert verdict.sentence == 'token 319 differs: "<|extra319|>" / "<a>" (1 of 315)'


def test_texts_that_differ_only_in_spelling_are_shown_raw(write: Write) -> None:
    verdict = check_pair(write(tokens={139: "\n\n"}), write(tokens={139: "\u010a\u010a"}))
    assert verdict.sentence == 'token 139 differs: "\\n\\n" / "\u010a\u010a" (1 of 315)'


def test_tokenizer_types_are_both_named(write: Write) -> None:
    ours = write()
    theirs = with_vocabulary(write, model="llama", pre=None)
    verdict = check_pair(ours, theirs)
    assert not verdict.fits
    assert verdict.sentence == (
        "different tokenizer types: gpt2 (byte-level BPE) in the target, llama (SentencePiece) "
        "in the draft; the engine refuses such pairs"
    )
    assert verdict.notes == ("all 315 texts compared are the same anyway",)


def test_tokenizer_types_come_before_texts_which_are_counted_all_the_same(write: Write) -> None:
    verdict = check_pair(write(), write(vocabulary=make_sentencepiece_vocabulary()))
    assert verdict.sentence.startswith("different tokenizer types:")
    assert verdict.n_different > 300
    assert f"{verdict.n_different} of 315 texts compared differ" in verdict.notes


def test_names_of_one_type_may_differ(write: Write) -> None:
    ours = with_vocabulary(write, add_bos=True, bos_id=3)
    model = replace(ours.tokenizer, model="gemma4")
    assert check_pair(ours, replace(ours, tokenizer=model)).fits


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (({"add_bos": True}, {}), "the target adds a begin token (BOS) to the text, the draft"),
        (({}, {"add_bos": True}), "the draft adds a begin token (BOS) to the text, the target"),
        (({}, {"add_eos": True}), "the draft adds an end token (EOS) to the text, the target"),
        (
            ({"add_bos": True, "bos_id": 65}, {"add_bos": True, "bos_id": 66}),
            'both add a begin token (BOS) to the text, but not the same: 65 "A" / 66 "B"',
        ),
        (
            ({"add_eos": True, "eos_id": 65}, {"add_eos": True, "eos_id": 66}),
            'both add an end token (EOS) to the text, but not the same: 65 "A" / 66 "B"',
        ),
    ],
)
def test_added_tokens_must_agree(
    write: Write, changes: tuple[dict[str, Any], dict[str, Any]], sentence: str
) -> None:
    verdict = check_pair(*(with_vocabulary(write, **change) for change in changes))
    assert not verdict.fits
    assert verdict.sentence.startswith(sentence)


def test_a_missing_begin_token_is_told(write: Write) -> None:
    ours = with_vocabulary(write, add_bos=True, bos_id=65)
    theirs = with_vocabulary(write, add_bos=True, bos_id=None, pre="glm4")
    sentence = check_pair(ours, theirs).sentence
    assert sentence.endswith('but not the same: 65 "A" / none')


def test_strangers_are_shown_side_by_side(tmp_path: Path, write: Write) -> None:
    foreign = Vocabulary(tuple(f"word{index}" for index in range(2000)), (1,) * 2000, pre="gpt-2")
    verdict = check_pair(write(), write(vocabulary=foreign))
    assert not verdict.fits and verdict.n_different == 315
    shown = everything(verdict)
    assert "different vocabulary sizes: 320 tokens in the target, 2\u202f000 in the draft" in shown
    assert "nothing to do with each other" in shown
    samples = [note for note in verdict.notes if " in the target and " in note]
    assert len(samples) == 2
    assert samples[1] == 'token 319 is "<|extra319|>" in the target and "word319" in the draft'


def test_widths_never_make_a_pair(write: Write) -> None:
    foreign = Vocabulary(tuple(f"w{index}" for index in range(320)), (1,) * 320)
    assert not check_pair(write(), write(vocabulary=foreign)).fits


@pytest.mark.parametrize("role", ["target", "draft"])
def test_a_file_that_is_no_model_is_explained(tmp_path: Path, write: Write, role: str) -> None:
    head = inspect_model(
        write_gguf(tmp_path / "head.gguf", "gemma4-assistant", make_vocabulary().metadata())
    )
    pair = (head, write()) if role == "target" else (write(), head)
    verdict = check_pair(*pair)
    assert not verdict.fits and verdict.sentence == verdict.message == head.explanation
    assert verdict.notes == (f"This is about the {role}.",)


# Hints -------------------------------------------------------------------------------------------
def test_a_draft_larger_than_its_target_is_pointed_out(write: Write) -> None:
    verdict = check_pair(write(n_layers=1), write(n_layers=3))
    assert verdict.fits and verdict.notes == (
        "the draft is larger than the target; did you mean them the other way round?",
    )


def test_one_file_in_both_places_is_pointed_out(write: Write) -> None:
    model = write()
    assert "the same file" in everything(check_pair(model, model))


def test_a_hint_on_size_comes_with_a_refusal_too(write: Write) -> None:
    verdict = check_pair(write(), write(n_layers=3, tokens={9: "<a>"}))
    assert not verdict.fits and "other way round" in everything(verdict)


@pytest.mark.parametrize("writer", ["write_qwen3", "write_gemma3", "write_mamba"])
def test_all_tiny_architectures_pair_up(tmp_path: Path, write: Write, writer: str) -> None:
    target = inspect_model(getattr(tiny_gguf, writer)(tmp_path / "target.gguf"))
    assert check_pair(target, write()).fits
