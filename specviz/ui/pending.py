"""Which settings wait for a reload: changed since the models were loaded."""

from __future__ import annotations

from specviz.trace.config import LoadConfig, ModelSpec, Role


def pending_rows(loaded: LoadConfig, wanted: LoadConfig) -> set[str]:
    """Keys of setup_panel's rows and cards that differ from what is in memory."""
    rows = set()
    if loaded.n_ctx != wanted.n_ctx:
        rows.add("context")
    if loaded.flash_attention != wanted.flash_attention:
        rows.add("flash-attention")
    if loaded.repack != wanted.repack:
        rows.add("repack")
    for role, before, after in (
        (Role.TARGET, loaded.target, wanted.target),
        (Role.DRAFT, loaded.draft, wanted.draft),
    ):
        rows |= _of_model(role, before, after)
    return rows


def _of_model(role: Role, before: ModelSpec | None, after: ModelSpec | None) -> set[str]:
    if before is None or after is None:
        return {role.value} if after is not None else set()
    rows = set()
    if before.path != after.path:
        rows.add(role.value)
    if before.n_gpu_layers != after.n_gpu_layers:
        rows.add("gpu-layers")
    if (before.type_k, before.type_v) != (after.type_k, after.type_v):
        rows.add(f"kv-{role.value}")
    return rows
