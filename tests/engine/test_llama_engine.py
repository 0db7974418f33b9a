"""The real engine on tiny random-weight models: exactly the baseline's tokens, and its manners.

Equality holds in the bit-exact configuration: quantised weights, flash attention, one thread, no
repacked weights, every batch below 64 rows. Elsewhere rounding may differ with the batch width.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from support import tiny_gguf

from specviz.engine.llama.target import LlamaTarget
from specviz.engine.llama_engine import LlamaEngine
from specviz.engine.model import Cancelled
from specviz.engine.slot import change_reasons
from specviz.errors import EngineError, FileError, SettingError
from specviz.trace.comparison import compare
from specviz.trace.config import (
    LoadConfig,
    Message,
    ModelSpec,
    Role,
    RunConfig,
    RunMode,
    SamplingConfig,
    SpeculationConfig,
    Switch,
)
from specviz.trace.events import StepVerified, StopReason, TokenSource
from specviz.trace.trace import Trace
from specviz.worker.protocol import Loaded, Run

pytestmark = pytest.mark.model

PROMPT = "the thin inn than the other thing in the end " * 3
MIX = 0.03
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {
        "llama": tiny_gguf.write_llama(folder / "target.gguf", mix=MIX, chat_template=CHATML),
        "draft": tiny_gguf.write_llama(folder / "draft.gguf", mix=MIX, n_layers=1),
        "gemma3": tiny_gguf.write_gemma3(folder / "gemma3.gguf", chat_template=CHATML),
        "qwen3moe": tiny_gguf.write_qwen3moe(folder / "moe.gguf"),
        "qwen35": tiny_gguf.write_qwen35(folder / "hybrid.gguf", chat_template=CHATML),
        "mamba": tiny_gguf.write_mamba(folder / "mamba.gguf", chat_template=CHATML),
    }


@pytest.fixture(scope="module")
def engine():
    engine = LlamaEngine(safe_mode=True)
    yield engine
    engine.unload()


def exact_load(target, draft=None, **changes):
    def spec(path):
        return ModelSpec(path=str(path), n_threads=1)

    settings = {"n_ctx": 1024, "n_batch": 63, "flash_attention": Switch.ON, **changes}
    return LoadConfig(target=spec(target), draft=spec(draft) if draft else None, **settings)


def config_for(mode, load, **changes):
    settings = {"max_tokens": 200, "raw": True, **changes}
    return RunConfig(
        mode=mode, load=load, messages=(Message(role="user", text=PROMPT),), **settings
    )


def run(engine, config, cancelled=None):
    trace, notices = Trace(), []
    run_ = Run(run_id="test", config=config)
    for event in engine.run(run_, notices.append, cancelled or threading.Event()):
        trace.append(event)
    trace.notices = notices
    return trace


def ids(trace):
    return [token.token_id for token in trace.tokens]


@pytest.mark.parametrize("target", ["llama", "gemma3", "qwen3moe"])
@pytest.mark.parametrize(
    "sampling",
    [
        SamplingConfig(),
        SamplingConfig(temperature=0.9, seed=7),
        SamplingConfig(temperature=2.0, seed=8, top_k=0, top_p=1.0, min_p=0.0),
    ],
    ids=["greedy", "seeded", "hot"],
)
@pytest.mark.parametrize(
    "speculation",
    [
        SpeculationConfig(n_max=1),
        SpeculationConfig(n_max=4),
        SpeculationConfig(n_max=8, p_min=0.3),
        SpeculationConfig(n_max=5, n_min=2, p_min=0.2),
    ],
    ids=["n1", "n4", "n8p", "n5min2"],
)
def test_the_speculative_run_gives_the_baselines_tokens(
    engine, files, target, sampling, speculation
):
    load = exact_load(files[target], files["draft"])
    baseline = run(engine, config_for(RunMode.BASELINE, load, sampling=sampling))
    speculative = run(
        engine, config_for(RunMode.SPECULATIVE, load, sampling=sampling, speculation=speculation)
    )
    assert ids(speculative) == ids(baseline)
    assert speculative.data == baseline.data
    assert len(ids(baseline)) > 20
    counts = speculative.counts
    assert counts.drafted > 0
    if target == "llama" and sampling.temperature == 0:
        # both full acceptance and rejections must have been met for this to prove anything
        assert counts.accepted > 20
        assert counts.recovered > 5


def test_probabilities_agree_with_the_baseline_and_are_honest(engine, files):
    load = exact_load(files["llama"], files["draft"])
    baseline = run(engine, config_for(RunMode.BASELINE, load))
    speculative = run(engine, config_for(RunMode.SPECULATIVE, load))
    ours = [token.target_prob for token in speculative.tokens]
    theirs = [token.target_prob for token in baseline.tokens]
    assert ours == pytest.approx(theirs, abs=1e-6)
    assert all(0 < prob <= 1 for prob in ours)
    assert len({round(prob, 6) for prob in ours}) > 20
    for step in speculative.steps:
        for token in step.draft:
            assert 0 < token.draft_prob <= 1
            assert 0 <= token.target_prob <= 1
        own = step.target or step.end_token
        assert own.runner_up.margin >= 0
        if step.n_accepted < len(step.draft):
            rejected = step.draft[step.n_accepted]
            assert rejected.token_id != own.token_id
            assert rejected.target_prob <= own.target_prob


def test_a_model_as_its_own_draft_is_always_right(engine, files):
    load = exact_load(files["llama"], files["llama"])
    trace = run(
        engine,
        config_for(
            RunMode.SPECULATIVE, load, max_tokens=61, speculation=SpeculationConfig(n_max=4)
        ),
    )
    assert trace.counts.rejected == 0
    # five tokens a step; what is left of the budget caps the last draft
    assert [len(step.draft) for step in trace.steps] == [4] * 12 + [0]


@pytest.mark.parametrize(("name", "rollback"), [("qwen35", "snapshots"), ("mamba", "checkpoint")])
def test_targets_that_cannot_trim_say_how_they_forget(engine, files, name, rollback):
    load = exact_load(files[name], files["draft"])
    alone, drafted = (run(engine, config_for(mode, load, max_tokens=60)) for mode in RunMode)
    assert drafted.counts.rejected > 0
    assert ids(alone) == ids(drafted)
    assert drafted.started.effective["rollback"] == rollback
    [loaded] = [n for n in alone.notices if isinstance(n, Loaded)]
    assert loaded.rollback == rollback
    # the baseline runs on the very context that the speculative run uses
    assert not [n for n in drafted.notices if isinstance(n, Loaded)]


def test_a_draft_that_cannot_trim_drafts_all_the_same(engine, files):
    load = exact_load(files["llama"], files["qwen35"])
    speculation = SpeculationConfig(n_max=4)
    alone, drafted = (
        run(engine, config_for(mode, load, max_tokens=60, speculation=speculation))
        for mode in RunMode
    )
    assert drafted.counts.rejected > 0
    assert ids(alone) == ids(drafted)


def test_the_prompt_is_evaluated_once_and_the_reuse_is_stated(engine, files):
    for name in ("llama", "qwen35", "mamba"):
        engine.unload()
        load = exact_load(files[name], files["draft"])
        first, second = (run(engine, config_for(mode, load, max_tokens=30)) for mode in RunMode)
        n = first.started.n_prompt - 1
        target = first.prefilled[Role.TARGET], second.prefilled[Role.TARGET]
        assert [(p.n_tokens, p.n_reused) for p in target] == [(n, 0), (0, n)]
        assert second.prefilled[Role.DRAFT].n_tokens == n


@pytest.mark.parametrize("name", ["llama", "gemma3", "qwen35", "mamba"])
def test_the_second_turn_is_the_same_with_and_without_drafting(engine, files, name):
    load = exact_load(files[name], files["draft"])
    messages = [Message(role="system", text="the thin inn"), Message(role="user", text=PROMPT)]
    config = replace(
        config_for(RunMode.BASELINE, load, raw=False, max_tokens=40), messages=tuple(messages)
    )
    answer = run(engine, config).text
    messages += [Message(role="assistant", text=answer), Message(role="user", text="and the end")]
    config = replace(config, messages=tuple(messages))
    engine.unload()
    fresh = run(engine, config)
    engine.unload()
    # as it happens in a conversation: both modes on what the first turn has left in memory
    for mode in RunMode:
        run(engine, replace(config, mode=mode, messages=tuple(messages[:2])))
    reused = [run(engine, replace(config, mode=mode)) for mode in RunMode]
    assert [ids(trace) for trace in reused] == [ids(fresh)] * 2
    assert reused[0].prefilled[Role.TARGET].n_reused > len(PROMPT) // 4
    assert reused[1].prefilled[Role.TARGET].n_tokens == 0


def test_a_run_stopped_in_the_middle_leaves_nothing_behind(engine, files):
    for name in ("llama", "qwen35", "mamba"):
        load = exact_load(files[name], files["draft"])
        whole = ids(run(engine, config_for(RunMode.BASELINE, load, max_tokens=40)))
        for after in (1, 3, 7):
            stop, n_seen = threading.Event(), 0
            config = config_for(RunMode.SPECULATIVE, load, max_tokens=40)
            for event in engine.run(Run(run_id="x", config=config), lambda notice: None, stop):
                n_seen += isinstance(event, StepVerified)
                if n_seen == after:
                    stop.set()
            assert ids(run(engine, config)) == whole


def test_the_prompt_is_recorded_piece_by_piece(engine, files):
    trace = run(engine, config_for(RunMode.BASELINE, exact_load(files["llama"]), max_tokens=2))
    assert b"".join(trace.started.prompt_pieces).decode() == PROMPT
    assert len(trace.started.prompt_pieces) == trace.started.n_prompt


def test_a_broken_draft_leaves_the_target_loaded(engine, files, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(files["draft"].read_bytes()[:4096])
    run(engine, config_for(RunMode.BASELINE, exact_load(files["llama"]), max_tokens=5))
    with pytest.raises(FileError, match=r"broken\.gguf") as caught:
        run(engine, config_for(RunMode.SPECULATIVE, exact_load(files["llama"], broken)))
    assert caught.value.role == "draft"
    again = run(engine, config_for(RunMode.BASELINE, exact_load(files["llama"]), max_tokens=5))
    assert len(ids(again)) == 5
    assert not [n for n in again.notices if type(n).__name__ == "Loading"]


def test_a_full_context_ends_the_run_within_it(engine, files):
    load = exact_load(files["llama"], files["draft"], n_ctx=128)
    for mode in RunMode:
        trace = run(
            engine, config_for(mode, load, max_tokens=-1, speculation=SpeculationConfig(n_max=16))
        )
        assert trace.finished.reason is StopReason.CONTEXT_FULL
        assert trace.started.n_prompt + len(trace.tokens) == 128
        assert trace.started.effective["n_ctx"] == 128


def test_a_prompt_that_does_not_fit_is_a_sentence(engine, files):
    with pytest.raises(SettingError, match=r"tokens and the context holds 64"):
        run(engine, config_for(RunMode.BASELINE, exact_load(files["llama"], n_ctx=64)))


def test_models_stay_loaded_and_changes_say_what_they_need(engine, files):
    load = exact_load(files["llama"], files["draft"])
    run(engine, config_for(RunMode.SPECULATIVE, load, max_tokens=3))
    again = run(engine, config_for(RunMode.BASELINE, load, max_tokens=3))
    assert again.notices and all(type(n).__name__ == "Prefilling" for n in again.notices)
    wider = run(engine, config_for(RunMode.BASELINE, replace(load, n_ctx=512), max_tokens=3))
    (loaded,) = [n for n in wider.notices if isinstance(n, Loaded)]
    assert loaded.reasons == ("context",)
    assert loaded.effective["n_ctx"] == 512
    # a new context needs no new weights
    assert not [n for n in wider.notices if type(n).__name__ == "Loading"]


def test_reasons_name_every_difference():
    old = exact_load("a.gguf", "b.gguf")
    new = exact_load("a.gguf", "c.gguf", n_ctx=99, flash_attention=Switch.OFF, repack=False)
    assert change_reasons(old, new) == [
        "context",
        "flash attention",
        "repacked weights",
        "draft file",
    ]
    assert change_reasons(old, replace(old, draft=None)) == ["draft removed"]
    assert change_reasons(None, new) == []


def test_a_longer_draft_than_prepared_for_rebuilds_the_context(engine, files):
    load = exact_load(files["llama"], files["draft"])
    trace = run(
        engine, config_for(RunMode.SPECULATIVE, load, speculation=SpeculationConfig(n_max=40))
    )
    assert max(len(step.draft) for step in trace.steps) > 32


def test_kv_types_are_in_effect_and_impossible_ones_are_refused(engine, files):
    load = exact_load(files["llama"])
    target = replace(load.target, type_k="q8_0", type_v="q8_0")
    trace = run(engine, config_for(RunMode.BASELINE, replace(load, target=target), max_tokens=3))
    assert trace.started.effective["target_type_v"] == "q8_0"
    impossible = replace(load, target=target, flash_attention=Switch.OFF)
    with pytest.raises(EngineError, match="No memory could be set up"):
        run(engine, config_for(RunMode.BASELINE, impossible))


def test_a_cancelled_load_raises_and_the_next_one_works(engine, files):
    engine.unload()
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        engine.load(exact_load(files["llama"]), lambda notice: None, cancelled)
    engine.load(exact_load(files["llama"]), lambda notice: None, threading.Event())


def test_memory_returns_after_unload(engine, files, tmp_path):
    import psutil

    process = psutil.Process()
    big = tiny_gguf.write_llama(tmp_path / "big.gguf", n_layers=3, n_vocab=60_000)
    load = exact_load(big, n_ctx=8192)
    engine.unload()
    engine.load(load, lambda notice: None, threading.Event())
    engine.unload()
    start = process.memory_info().rss
    for _ in range(5):
        engine.load(load, lambda notice: None, threading.Event())
        engine.unload()
    grown = process.memory_info().rss - start
    assert grown < big.stat().st_size


@pytest.mark.parametrize("name", ["Модели/模型 é/target ü.gguf", "with space/a b.gguf"])
def test_names_of_any_letters(engine, files, tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_bytes(files["llama"].read_bytes())
    assert len(ids(run(engine, config_for(RunMode.BASELINE, exact_load(path), max_tokens=3)))) == 3


def test_any_part_of_a_split_model_stands_for_all(engine, files, tmp_path):
    path = tiny_gguf.write_llama(tmp_path / "split.gguf", mix=MIX, split=3)
    parts = tiny_gguf.part_paths(tmp_path / "split.gguf", 3)
    assert parts[1].exists(), path
    whole = run(engine, config_for(RunMode.BASELINE, exact_load(files["llama"]), max_tokens=9))
    split = run(engine, config_for(RunMode.BASELINE, exact_load(parts[1]), max_tokens=9))
    assert ids(split) == ids(whole)
    link = tmp_path / "link.gguf"
    link.symlink_to(files["llama"])
    linked = run(engine, config_for(RunMode.BASELINE, exact_load(link), max_tokens=9))
    assert ids(linked) == ids(whole)


def test_stop_texts_cut_the_real_bytes(engine, files):
    load = exact_load(files["llama"], files["draft"])
    whole = run(engine, config_for(RunMode.BASELINE, load))
    text = whole.text
    stop = next(
        text[i : i + 5]
        for i in range(60, len(text) - 5)
        if "\ufffd" not in text[i : i + 5] and text.index(text[i : i + 5]) == i
    )
    for mode in RunMode:
        trace = run(engine, config_for(mode, load, stop=(stop,)))
        assert trace.finished.reason is StopReason.STOP_TEXT
        assert stop.encode() not in trace.data
        assert whole.data.startswith(trace.data)


def test_the_chat_template_of_the_file_is_used_and_may_fail(engine, tmp_path):
    good = "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"
    path = tiny_gguf.write_llama(tmp_path / "chat.gguf", chat_template=good)
    load = exact_load(path)
    chat = run(engine, config_for(RunMode.BASELINE, load, raw=False, max_tokens=3))
    raw = run(engine, config_for(RunMode.BASELINE, load, raw=True, max_tokens=3))
    assert chat.started.effective["template"] == "model"
    assert chat.started.n_prompt > raw.started.n_prompt
    bad = tiny_gguf.write_llama(tmp_path / "bad.gguf", chat_template="{{ ''.__class__ }}{% x %}")
    with pytest.raises(SettingError, match="chat template"):
        run(engine, config_for(RunMode.BASELINE, exact_load(bad), raw=False))


def test_a_random_seed_is_drawn_once_and_can_be_used_again(engine, files):
    load = exact_load(files["llama"])
    first = run(
        engine, config_for(RunMode.BASELINE, load, sampling=SamplingConfig(temperature=1.0))
    )
    seed = first.started.config.sampling.seed
    assert seed is not None
    again = run(
        engine,
        config_for(RunMode.BASELINE, load, sampling=SamplingConfig(temperature=1.0, seed=seed)),
    )
    assert ids(again) == ids(first)


def test_another_file_under_the_same_name_is_noticed(engine, files, tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(files["llama"].read_bytes())
    first = run(engine, config_for(RunMode.BASELINE, exact_load(path), max_tokens=9))
    path.unlink()
    # still in memory, so still of use
    kept = run(engine, config_for(RunMode.BASELINE, exact_load(path), max_tokens=9))
    assert ids(kept) == ids(first)
    path.write_bytes(files["gemma3"].read_bytes())
    other = run(engine, config_for(RunMode.BASELINE, exact_load(path), max_tokens=9))
    assert other.started.target.architecture == "gemma3"
    assert ids(other) != ids(first)


@pytest.mark.parametrize("name", ["llama", "qwen35", "mamba"])
def test_a_rollback_that_forgets_nothing_is_found_by_the_comparison(
    engine, files, name, monkeypatch
):
    load = exact_load(files[name], files["draft"])
    alone = run(engine, config_for(RunMode.BASELINE, load, max_tokens=120))
    keep = LlamaTarget.keep

    def keep_one_too_many(self, n_rows):
        keep(self, min(n_rows + 1, len(self._batch) - self._n_known))

    monkeypatch.setattr(LlamaTarget, "keep", keep_one_too_many)
    # the loop's own idea of the text is right: only the memory holds a token that was rejected
    drafted = run(engine, config_for(RunMode.SPECULATIVE, load, max_tokens=120))
    monkeypatch.undo()
    engine.unload()
    found = compare(alone, drafted)
    assert not found.identical
    assert found.first_divergence is not None


def test_on_a_model_that_cannot_trim_every_token_is_counted_once(engine, files):
    load = exact_load(files["mamba"], files["draft"])
    alone, drafted = (run(engine, config_for(mode, load, max_tokens=80)) for mode in RunMode)
    counts = drafted.counts
    assert counts.committed == len(drafted.tokens) == len(alone.tokens) == 80
    assert counts.tested == sum(len(step.draft) for step in drafted.steps)
    assert counts.accepted + counts.rejected == counts.tested
    # a token in place of a rejected one is a correction, and no draft token
    corrections = [t for t in drafted.tokens if t.source is TokenSource.RECOVERED]
    assert corrections and all(t.draft_position is None for t in corrections)
    assert counts.restore_seconds > 0
