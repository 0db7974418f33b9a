"""The tiny models behave like models: lively, repeatable, and of the class they stand for.

Each is first loaded in a process of its own: a tensor too few may end it. All architectures that
the equality table names could be built; next-token (MTP) blocks exist for three of them.
"""

from __future__ import annotations

import pytest
from support.equality import MODELS
from support.native_decoding import decode_greedily

pytestmark = pytest.mark.model


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
def test_the_same_prompt_gives_the_same_scores_in_a_second_context(model, tmp_path):
    found = decode_greedily(model.file(tmp_path, mix=1.0))
    assert found["same_rows"]
    assert found["ids"][0] == found["ids"][1]
    assert len(set(found["ids"][0])) > 20
    assert found["trims"] == (model.rollback == "trim")
    assert found["n_rs_seq"] == (4 if model.rollback == "snapshots" else 0)


@pytest.mark.parametrize(
    "model", [m for m in MODELS.values() if m.next_token], ids=lambda m: m.name
)
def test_a_next_token_block_changes_nothing_for_the_model_itself(model, tmp_path):
    without = decode_greedily(model.file(tmp_path, mtp=0), n_tokens=16)
    for head in ("random", "hidden"):
        found = decode_greedily(model.file(tmp_path, head=head), n_tokens=16)
        assert found["ids"] == without["ids"]
        assert found["partial_state"] == without["partial_state"]
