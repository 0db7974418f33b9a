"""`specviz inspect`: what model files say of themselves, and whether two of them fit together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from specviz.cli.arguments import ArgumentParser
from specviz.cli.terminal import safe
from specviz.errors import ExitCode
from specviz.models.block_shapes import keeps_older_states
from specviz.models.compatibility import PairVerdict, check_pair
from specviz.models.model_file import ModelFile, inspect_model
from specviz.trace import codec

SCHEMA = "specviz.inspect/1"


def execute(argv: Sequence[str]) -> int:
    """Inspect one file or a pair; returns the exit code. Raises FileError."""
    values = _parser().parse_args(argv)
    files = [inspect_model(path) for path in (values.file, values.draft) if path is not None]
    verdict = check_pair(*files) if len(files) == 2 else None
    if values.json:
        print(codec.dumps(_as_json(files, verdict), indent=1))
    else:
        print(safe("\n".join(_lines(files, verdict))))
    fits = verdict is None or verdict.fits
    return int(ExitCode.DONE if fits else ExitCode.PAIR_REFUSED)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="specviz inspect",
        description=(
            "Says what a model file is. With a second file: whether it can draft for the first,\n"
            f"and why; exit code {int(ExitCode.PAIR_REFUSED)} when it cannot. Loads no weights."
        ),
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="model file; the target of a pair")
    parser.add_argument("draft", nargs="?", type=Path, metavar="DRAFT", help="draft model file")
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    return parser


def _lines(files: Sequence[ModelFile], verdict: PairVerdict | None) -> list[str]:
    tables = [_facts(file) for file in files]
    labels = list(tables[0])
    width = max(map(len, labels)) + 2
    columns = [max(len(text) for text in table.values()) + 2 for table in tables]
    lines = [
        (
            label.ljust(width)
            + "".join(t[label].ljust(w) for t, w in zip(tables, columns, strict=True))
        ).rstrip()
        for label in labels
    ]
    lines += [f"{file.path.name}: {file.explanation}" for file in files if file.explanation]
    if verdict is not None:
        answer = "fits" if verdict.fits else "does not fit"
        lines += ["", f"{answer}: {verdict.sentence}", *verdict.notes]
    return lines


def _facts(file: ModelFile) -> dict[str, str]:
    info, tokenizer = file.info, file.tokenizer
    parts = f" ({len(file.parts)} files)" if len(file.parts) > 1 else ""
    switch = ", with a reasoning switch" if file.has_reasoning_switch else ""
    template = f"yes{switch}" if file.chat_template else "none"
    pre = f", {tokenizer.pre}" if tokenizer.pre else ""
    return {
        "file": file.path.name + parts,
        "kind": file.kind.value.replace("_", " "),
        "name": info.name,
        "architecture": info.architecture,
        "quantisation": info.quantisation,
        "parameters": _parameters(info.n_params),
        "size": _size(info.file_size),
        "layers": str(file.n_layers) + (f" and {file.nextn_layers} MTP" * bool(file.nextn_layers)),
        "context as trained": f"{info.n_ctx_train} tokens",
        "vocabulary": f"{info.n_vocab} tokens, {tokenizer.model or 'no tokenizer'}{pre}",
        "begin and end token": f"{_id(tokenizer.bos_id)} and {_id(tokenizer.eos_id)}",
        "chat template": template,
        "rollback": _rollback(file),
    }


def _rollback(file: ModelFile) -> str:
    """How rejected tokens are forgotten."""
    if file.can_trim:
        return "trim: positions are dropped"
    if keeps_older_states(file):
        return "snapshots of its state; checkpoints for long drafts"
    return "checkpoints: its state is saved and restored"


def _parameters(number: int) -> str:
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return str(number)


def _size(n_bytes: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes} bytes"


def _id(token_id: int | None) -> str:
    return "none" if token_id is None else str(token_id)


def _as_json(files: Sequence[ModelFile], verdict: PairVerdict | None) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "files": [_file_json(file) for file in files],
        "pair": None if verdict is None else _pair_json(verdict),
    }


def _file_json(file: ModelFile) -> dict[str, object]:
    tokenizer = file.tokenizer
    return {
        **codec.to_json(file.info),
        "kind": file.kind.value,
        "explanation": file.explanation,
        "parts": [str(part) for part in file.parts],
        "n_layers": file.n_layers,
        "nextn_layers": file.nextn_layers,
        "tokenizer": {
            "model": tokenizer.model,
            "pre": tokenizer.pre,
            "n_tokens": tokenizer.n_tokens,
            "bos_id": tokenizer.bos_id,
            "eos_id": tokenizer.eos_id,
            "add_bos": tokenizer.add_bos,
            "add_eos": tokenizer.add_eos,
        },
        "has_chat_template": file.chat_template is not None,
        "has_reasoning_switch": file.has_reasoning_switch,
        "can_trim": file.can_trim,
    }


def _pair_json(verdict: PairVerdict) -> dict[str, object]:
    first = verdict.first_difference
    return {
        "fits": verdict.fits,
        "sentence": verdict.sentence,
        "notes": list(verdict.notes),
        "n_compared": verdict.n_compared,
        "n_different": verdict.n_different,
        "first_difference": None
        if first is None
        else {
            "token_id": first.token_id,
            "target_text": first.target_text,
            "draft_text": first.draft_text,
        },
    }
