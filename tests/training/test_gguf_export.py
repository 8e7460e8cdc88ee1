"""What is exported talks in llama.cpp as it does in transformers, and what would lose something is not exported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf import GGUFReader
from peft import PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

from agent_core.errors import ModelError
from agent_core.models import assemble, lora
from tests.training.small import stirred
from tests.training.tiny_exports import saved
from training import deltas, gguf_check, gguf_picture, gguf_write
from training.gguf_export import Args, export, main
from training.gguf_names import placed
from training.gguf_source import FolderSource, source
from training.gguf_vision import write_projector
from training.policy import bundled_base, load_base
from training.policy import lora as lora_config

pytestmark = [
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),  # PEFT asks by an old name
    pytest.mark.filterwarnings("ignore:.*tie_word_embeddings:UserWarning"),  # of modules_to_save, on purpose
]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each architecture."""
    folder = tmp_path_factory.mktemp("tiny")
    return {kind: saved(folder / kind, kind) for kind in ("llama", "qwen2", "qwen2vl")}


def adapter(folder: Path, base: Path, **options: Any) -> Path:
    """A random adapter of the base, saved by PEFT."""
    model, _ = load_base(base)
    config = lora_config(model, 4, 8)
    for name, value in options.items():
        setattr(config, name, value)
    torch.manual_seed(1)
    made = get_peft_model(model, config)
    with torch.no_grad():
        for name, weight in stirred(made).named_parameters():
            if "lora_B" in name:
                weight.mul_(3)
    made.save_pretrained(str(folder))
    return folder


def change_by_peft(base: Path, folder: Path) -> dict[str, torch.Tensor]:
    """What PEFT adds to each weight, by transformers' name."""
    model, _ = load_base(base)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    merged = PeftModel.from_pretrained(model, str(folder)).merge_and_unload()
    return {name: weight.detach() - before[name] for name, weight in merged.named_parameters()}


def args(base: Path, out: Path, **others: Any) -> Args:
    return replace(Args(base=str(base), out=str(out), quantisation="F32", threads=1), **others)


def only(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen2vl"])
def test_a_merged_model_talks_like_its_source(tiny: dict[str, Path], tmp_path: Path, kind: str) -> None:
    trained = adapter(tmp_path / "adapter", tiny[kind], rank_pattern={"down_proj": 2})
    told = export(args(tiny[kind], tmp_path / "out" / "agent.gguf", adapter=str(trained)))
    assert "100.0% of the source's greedy tokens on prompts" in told
    sees = kind == "qwen2vl"
    assert only(tmp_path / "out") == (["agent.gguf", "mmproj-agent.gguf"] if sees else ["agent.gguf"])
    assert ("100.0% of the source's greedy tokens on a picture" in told) is sees
    base = source(tiny[kind])
    exported = source(tmp_path / "out" / "agent.gguf")
    changes = change_by_peft(tiny[kind], trained)
    for name, change in changes.items():
        tensor = base.names.tensor(name)
        if tensor is not None and tensor in base.shapes and change.abs().max() > 0:
            made = base.names.restored(tensor, exported.weight(tensor) - base.weight(tensor))
            assert gguf_check.error_of(made, change) < 1e-3


@pytest.mark.parametrize("kind", ["llama", "qwen2vl"])
def test_an_adapter_alone_changes_what_it_changes_in_peft(tiny: dict[str, Path], tmp_path: Path, kind: str) -> None:
    trained = adapter(tmp_path / "adapter", tiny[kind], rank_pattern={"up_proj": 6})
    out = tmp_path / "adapter.gguf"
    assert "100.0% of the source's greedy tokens" in export(args(tiny[kind], out, adapter=str(trained), what="adapter"))
    names = source(tiny[kind]).names
    tensors = {t.name: torch.from_numpy(t.data.copy()) for t in GGUFReader(out).tensors}
    checked = 0
    for name, change in change_by_peft(tiny[kind], trained).items():
        tensor = names.tensor(name)
        if f"{tensor}.lora_a" in tensors and tensor is not None:
            down, up = tensors[f"{tensor}.lora_a"], tensors[f"{tensor}.lora_b"]
            made = names.restored(tensor, 8 / down.shape[0] * (up @ down))
            assert gguf_check.error_of(made, change) < 1e-3
            checked += 2
    assert checked == len(tensors) == 2 * 2 * 7


def test_a_model_that_sees_reads_the_picture(tiny: dict[str, Path], tmp_path: Path) -> None:
    """A projector with other weights is told by what is said of the picture."""
    base = source(tiny["qwen2vl"])
    assert isinstance(base, FolderSource)
    gguf_write.write_merged(tmp_path / "text.gguf", base, {}, "F32")
    other = source(saved(tmp_path / "other", "qwen2vl", initializer_range=0.05))
    assert isinstance(other, FolderSource)
    assert write_projector(tmp_path / "right.gguf", base, "F32") == write_projector(
        tmp_path / "wrong.gguf", other, "F32"
    )
    model, tokenizer = load_base(tiny["qwen2vl"])
    said = gguf_picture.by_source(model.eval(), tokenizer, 24)
    running = gguf_check.opened(tmp_path / "text.gguf")
    assert gguf_picture.by_file(running, tmp_path / "right.gguf", said) == 1
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "visual.merger" in name:
                weight.neg_()
    blind = gguf_picture.by_source(model, tokenizer, 24)
    assert gguf_picture.by_file(running, tmp_path / "right.gguf", blind) < 1
    running.close()


def test_the_app_and_the_export_merge_alike(tiny: dict[str, Path], tmp_path: Path) -> None:
    gguf_write.write_merged(tmp_path / "base.gguf", source(tiny["llama"]), {}, "F16")
    trained = adapter(tmp_path / "adapter", tiny["llama"])
    assemble.merge(tmp_path / "base.gguf", lora.read(trained), tmp_path / "app.gguf", "Q8_0")
    base = source(tmp_path / "base.gguf")
    changes = placed(deltas.read(trained), base.names, base.shapes)
    gguf_write.write_merged(tmp_path / "ours.gguf", base, changes, "Q8_0")
    theirs = {t.name: t.data for t in GGUFReader(tmp_path / "app.gguf").tensors}
    ours = {t.name: t.data for t in GGUFReader(tmp_path / "ours.gguf").tensors}
    assert ours.keys() == theirs.keys()
    same = [float((ours[name] == theirs[name]).mean()) for name in ours]
    assert min(same) > 0.99  # sums in another order now and then round to the neighbour


def test_k_quants_are_made_by_llama_cpp(tmp_path: Path) -> None:
    base = source(saved(tmp_path / "base", "llama", hidden_size=256, intermediate_size=512))
    out = tmp_path / "out" / "agent.gguf"
    out.parent.mkdir()
    gguf_write.write_merged(out, base, {}, "Q4_K_M")
    gguf_check.read_back(out, base, base.weight)
    assert {"Q4_K", "Q6_K"} <= {tensor.tensor_type.name for tensor in GGUFReader(out).tensors}
    assert only(out.parent) == ["agent.gguf"]
    model, tokenizer = load_base(base.path)
    running = gguf_check.opened(out)
    assert gguf_check.by_file(running, gguf_check.by_source(model.eval(), tokenizer, [gguf_check.chat("Hi")], 8)) > 0
    running.close()


def test_what_talks_otherwise_gets_no_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four bits are too few for random weights: a sixth of the words stay the same, and no file is left."""
    base = saved(tmp_path / "base", "llama", hidden_size=256, intermediate_size=512, num_hidden_layers=6)
    out = tmp_path / "out" / "agent.gguf"
    code = main(["--base", str(base), "--out", str(out), "--quantisation", "Q4_0", "--threads", "1"])
    assert code == 1
    assert "Q4_0 must reach 70%" in capsys.readouterr().err
    assert only(out.parent) == []


REFUSED: dict[str, dict[str, Any]] = {
    "alpha_pattern": {"alpha_pattern": {"q_proj": 32}},
    "use_rslora": {"use_rslora": True},
    "use_dora": {"use_dora": True},
    "modules_to_save": {"modules_to_save": ["norm"]},
    "bias": {"bias": "all"},
}


@pytest.mark.parametrize("option", REFUSED)
def test_options_that_would_be_lost_are_refused(tiny: dict[str, Path], tmp_path: Path, option: str) -> None:
    trained = adapter(tmp_path / "adapter", tiny["llama"], **REFUSED[option])
    for what in ("merged", "adapter"):
        with pytest.raises(ModelError, match=option if option != "bias" else r"bias|no part of a LoRA"):
            export(args(tiny["llama"], tmp_path / "out" / "agent.gguf", adapter=str(trained), what=what))
    assert not (tmp_path / "out").exists()


def test_an_adapter_on_the_vision_tower_is_refused(tiny: dict[str, Path], tmp_path: Path) -> None:
    trained = adapter(tmp_path / "adapter", tiny["qwen2vl"], target_modules=["q_proj", "attn.proj"])
    with pytest.raises(ModelError, match="vision tower"):
        export(args(tiny["qwen2vl"], tmp_path / "agent.gguf", adapter=str(trained)))


def test_an_adapter_that_does_not_match_is_refused(tiny: dict[str, Path], tmp_path: Path) -> None:
    trained = adapter(tmp_path / "adapter", tiny["llama"])
    tensors = load_file(str(trained / "adapter_model.safetensors"))
    fewer = {name: tensor for name, tensor in tensors.items() if "layers.1.mlp.up_proj" not in name}
    save_file(fewer, str(trained / "adapter_model.safetensors"))
    with pytest.raises(ModelError, match="damaged"):
        export(args(tiny["llama"], tmp_path / "agent.gguf", adapter=str(trained)))
    deeper = saved(tmp_path / "deeper", "llama", num_hidden_layers=3)
    wider = saved(tmp_path / "wider", "llama", intermediate_size=128)
    for other in (deeper, wider):
        with pytest.raises(ModelError, match="another model"):
            export(args(tiny["llama"], tmp_path / "agent.gguf", adapter=str(adapter(tmp_path / "a", other))))


def test_a_quantised_base_must_be_allowed(tmp_path: Path) -> None:
    shipped = str(Path("assets/models/bundled"))
    with pytest.raises(ModelError, match="--allow-quantised-base"):
        export(args(bundled_base(), tmp_path / "agent.gguf", adapter=shipped))


def test_a_file_that_says_otherwise_is_told(tiny: dict[str, Path], tmp_path: Path) -> None:
    base = source(tiny["llama"])
    file = tmp_path / "file.gguf"
    gguf_write.write_merged(file, base, {}, "F32")
    gguf_check.read_back(file, base, base.weight)
    tokenizer = json.loads((tiny["llama"] / "tokenizer_config.json").read_text())
    other = saved(tmp_path / "other", "llama")
    (other / "tokenizer_config.json").write_text(json.dumps({**tokenizer, "eos_token": "<|endoftext|>"}))
    with pytest.raises(ModelError, match="eos_token_id"):
        gguf_check.read_back(file, source(other), base.weight)
    (other / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (other / "chat_template.jinja").write_text("{{ messages }}")
    with pytest.raises(ModelError, match="chat_template"):
        gguf_check.read_back(file, source(other), base.weight)
    with pytest.raises(ModelError, match="tensors"):
        gguf_check.read_back(file, source(saved(tmp_path / "deeper", "llama", num_hidden_layers=3)), base.weight)
    with pytest.raises(ModelError, match="other weights"):
        gguf_check.read_back(file, base, lambda tensor: base.weight(tensor) * 1.1)


def test_what_llama_cpp_would_read_otherwise_is_refused(tmp_path: Path) -> None:
    folder = saved(
        tmp_path / "rope", "llama", rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}
    )
    with pytest.raises(ModelError, match="stretches its context"):
        export(args(folder, tmp_path / "agent.gguf"))
    folder = saved(tmp_path / "words", "llama")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "[A-Z]+"
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(ModelError, match="rule of its own"):
        export(args(folder, tmp_path / "agent.gguf"))
    assert AutoConfig.from_pretrained(str(folder)).model_type == "llama"


ASKED = (
    *gguf_check.PROMPTS,
    "Open the folder Music.",
    "Which is larger, 9 or 12?",
    "Write the word sun three times.",
    "The button OK is at 512, 300. Click it.",
    "Name a city in France.",
    "Close the window.",
    "Type your name into the field.",
    "Scroll down to the end of the page.",
    "What colour is grass?",
    "Delete the file draft.txt.",
    "How do I copy a text?",
    "Count from one to five.",
    "Save the document as letter.txt.",
    "Select the second row of the table.",
    "Say hello.",
)


@pytest.mark.slow
@pytest.mark.timeout(400)  # half a minute of work, which a busy machine stretches
def test_the_bundled_agent_as_an_adapter_says_the_same_on_twenty_prompts(tmp_path: Path) -> None:
    """SmolLM2 and the shipped adapter, quantisation off: greedy replies of llama.cpp equal those of transformers."""
    shipped = Path("assets/models/bundled")
    base = source(bundled_base())
    changes = placed(deltas.read(shipped), base.names, base.shapes)
    whole, alone = tmp_path / "base.gguf", tmp_path / "adapter.gguf"
    try:
        gguf_write.write_merged(whole, base, {}, "F32")
        gguf_write.write_adapter(alone, base.names.architecture, changes, deltas.read(shipped).alpha)
        assert gguf_check.read_back_adapter(alone, changes) <= 1e-3
        model, tokenizer = load_base(bundled_base())
        model = PeftModel.from_pretrained(model, str(shipped)).eval()
        texts = [gguf_check.chat(text) for text in ASKED]
        said = gguf_check.by_source(model, tokenizer, texts, 16)
        del model
        running = gguf_check.opened(whole, adapter=alone, every_logit=False, context=512)
        for one in said:
            replied: list[int] = []
            for token in running.generate(list(one.ids), temp=0.0, repeat_penalty=1.0, top_k=1):
                replied.append(token)
                if len(replied) == len(one.reply):
                    break
            assert tuple(replied) == one.reply, one.text
        running.close()
    finally:
        whole.unlink(missing_ok=True)
    assert len(said) == len(set(ASKED)) == 20
