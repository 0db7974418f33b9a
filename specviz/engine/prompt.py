"""From the configuration of a run to the prompt that the target reads."""

from __future__ import annotations

import secrets
from dataclasses import replace

from specviz.engine import chat_template
from specviz.engine.llama.weights import Weights
from specviz.errors import SettingError
from specviz.trace.config import RunConfig


def prompt_text(config: RunConfig, weights: Weights) -> tuple[str, str]:
    """The text of the prompt, and which template made it."""
    source = weights.chat_template
    if config.raw or not source:
        return config.prompt, "raw" if config.raw else "none"
    text = chat_template.render(
        source,
        config.messages,
        bos=weights.special_text(weights.bos_id),
        eos=weights.special_text(weights.eos_id),
        reasoning=config.reasoning,
    )
    return text, "model"


def prompt_ids(config: RunConfig, weights: Weights) -> list[int]:
    """The tokens of the prompt."""
    return token_ids_of(weights, *prompt_text(config, weights))


def token_ids_of(weights: Weights, text: str, template: str) -> list[int]:
    """The tokens of a prompt that `template` made; BOS in front unless the template has put it."""
    bos = weights.special_text(weights.bos_id)
    add_special = not (template == "model" and bos and text.startswith(bos))
    return weights.tokenize(text, add_special=add_special, parse_special=True)


def with_seed(config: RunConfig) -> RunConfig:
    """The same with a seed drawn where none was asked for."""
    if config.sampling.seed is not None:
        return config
    # 0xFFFFFFFF means "random" to llama.cpp and could not be used again
    seed = secrets.randbelow(0xFFFFFFFF)
    return replace(config, sampling=replace(config.sampling, seed=seed))


def check_prompt(n_prompt: int, n_ctx: int) -> None:
    """Raise SettingError for a prompt that is empty or fills the context."""
    if n_prompt == 0:
        raise SettingError("The prompt is empty.", "Write something first.")
    if n_prompt >= n_ctx:
        raise SettingError(
            f"The prompt has {n_prompt} tokens and the context holds {n_ctx}.",
            "Shorten the prompt or choose a larger context.",
        )
