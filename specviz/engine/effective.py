"""The settings of a run as they are in effect, flat, under the names that exports use."""

from __future__ import annotations

from specviz.trace.config import RunConfig, RunMode
from specviz.trace.events import Scalar


def run_settings(config: RunConfig) -> dict[str, Scalar]:
    """Sampling, limits and drafting; loaded settings are read back from the engine itself."""
    sampling, speculation = config.sampling, config.speculation
    settings: dict[str, Scalar] = {
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "seed": sampling.seed,
        "max_tokens": config.max_tokens,
        "stop": "\n".join(config.stop) or None,
        "raw": config.raw,
        "reasoning": config.reasoning.value,
        "acceptance_rule": "exact_match",
    }
    if config.mode is RunMode.SPECULATIVE:
        settings |= {
            "spec_type": ",".join(source.value for source in speculation.sources),
            "spec_draft_n_max": speculation.n_max,
            "spec_draft_n_min": speculation.n_min,
            "spec_draft_p_min": speculation.p_min,
        }
    return settings
