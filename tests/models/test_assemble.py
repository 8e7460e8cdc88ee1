"""The assembled file answers as the base with the adapter on it does in transformers and peft."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from agent_core import paths
from agent_core.errors import ModelError
from agent_core.models import assemble, lora, manifest
from agent_core.models.llama_cpp import LlamaCpp
from agent_core.models.manifest import Manifest, Quantisation
from agent_core.step import Message, Prompt, Reply

PROMPTS = tuple(
    Prompt((Message("system", "You operate a desktop."), Message("user", text)))
    for text in ("Open the settings.", "button (120,300) Save\nfield (40,80) Name: Ada", "What is 2 + 2?")
)
TOKENS = 16
Adapter = tuple[Path, Any]  # the folder, and the peft model it was saved from


@pytest.fixture(scope="module")
def torch_base() -> tuple[Any, Any]:
    """The bundled base and its tokenizer in transformers, in float32."""
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    base = manifest.read(paths.assets_folder() / "models" / "bundled.toml").base_path()
    model = transformers.AutoModelForCausalLM.from_pretrained(base.parent, gguf_file=base.name)
    tokenizer = transformers.AutoTokenizer.from_pretrained(base.parent, gguf_file=base.name)
    return model.eval(), tokenizer


@pytest.fixture(scope="module")
def adapter(torch_base: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Adapter:
    """A random LoRA on every linear layer, strong enough to change what is said, saved in float16."""
    import torch
    from peft import LoraConfig, get_peft_model
    from safetensors.torch import load_file, save_file

    torch.manual_seed(0)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    config = LoraConfig(r=4, lora_alpha=8, target_modules=targets, task_type="CAUSAL_LM")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)  # between peft and transformers
        model = get_peft_model(torch_base[0], config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.06 if "q_proj" in name or "k_proj" in name else 0.01)
            if "lora_" in name:
                weight.copy_(weight.half().float())
    folder = tmp_path_factory.mktemp("adapter")
    model.save_pretrained(folder, save_embedding_layers=False)
    file = folder / lora.WEIGHTS
    save_file({name: weight.half() for name, weight in load_file(file).items()}, file)
    return folder, model.eval()


def bundled(quantisation: Quantisation = "Q8_0") -> Manifest:
    shipped = manifest.read(paths.assets_folder() / "models" / "bundled.toml")
    return replace(shipped, quantisation=quantisation, adapter="", adapter_sha256="")


def replies(file: Path) -> list[Reply]:
    model = LlamaCpp(file, context=512, max_new_tokens=TOKENS, threads=2)
    try:
        return [model.reply(prompt, Event()) for prompt in PROMPTS]
    finally:
        model.close()


def apart(given: list[Reply], torch_model: Any, tokenizer: Any) -> tuple[float, int]:
    """How far the log-probabilities of the replies' tokens are from transformers' own (the largest difference),
    and at how many places transformers would have clearly said something else."""
    import torch

    worst, other = 0.0, 0
    for prompt, reply in zip(PROMPTS, given, strict=True):
        read = tokenizer(prompt.chatml(), add_special_tokens=False)["input_ids"]
        assert len(read) == reply.prompt_tokens
        with torch.no_grad():
            logits = torch_model(torch.tensor([read + list(reply.token_ids)])).logits[0, len(read) - 1 : -1]
        scores = torch.log_softmax(logits, -1)
        ours = scores.gather(1, torch.tensor(reply.token_ids)[:, None])[:, 0]
        worst = max(worst, float((ours - torch.tensor(reply.logprobs)).abs().max()))
        other += int((scores.max(-1).values - ours > 0.2).sum())
    return worst, other


@pytest.mark.slow
@pytest.mark.parametrize(("quantisation", "tolerance"), [("F32", 0.01), ("Q8_0", 0.4)])
def test_the_merged_file_says_what_peft_says(
    torch_base: tuple[Any, Any], adapter: Adapter, quantisation: Quantisation, tolerance: float
) -> None:
    folder, torch_model = adapter
    made = assemble.assemble(bundled(quantisation), folder)
    worst, other = apart(replies(made.path), torch_model, torch_base[1])
    assert worst < tolerance
    assert other == 0
    assert made.adapter_hash == manifest.sha256_of(folder / lora.WEIGHTS)


@pytest.mark.slow
def test_query_and_key_rows_in_the_wrong_order_would_be_noticed(
    torch_base: tuple[Any, Any], adapter: Adapter, tmp_path: Path
) -> None:
    """The negative control: rows ordered so that the merge's own reordering puts them back in Hugging Face's order."""
    from safetensors.numpy import load_file, save_file

    folder, torch_model = adapter
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    tensors = load_file(folder / lora.WEIGHTS)
    for name, weight in tensors.items():
        if name.endswith(("q_proj.lora_B.weight", "k_proj.lora_B.weight")):
            heads = weight.shape[0] // 64
            back = weight.reshape(heads, 32, 2, -1).swapaxes(1, 2).reshape(weight.shape)
            tensors[name] = np.ascontiguousarray(back)
    save_file(tensors, wrong / lora.WEIGHTS)
    (wrong / lora.CONFIG).write_bytes((folder / lora.CONFIG).read_bytes())
    worst, _ = apart(replies(assemble.assemble(bundled("F32"), wrong).path), torch_model, torch_base[1])
    assert worst > 0.1


@pytest.fixture
def tiny(tmp_path: Path) -> Manifest:
    """A llama of one layer and 64 columns, with some metadata, and the manifest for it."""
    from gguf import GGUFWriter

    file = tmp_path / "tiny.gguf"
    writer = GGUFWriter(file, "llama")
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_freq_base(100000.0)
    writer.add_token_list(["<|im_start|>", "<|im_end|>", "é"])
    writer.add_chat_template("{{ messages }}")
    writer.add_file_type(0)
    rng = np.random.default_rng(0)
    shapes = {"token_embd": (3, 64), "output_norm": (64,), "blk.0.attn_q": (64, 64), "blk.0.attn_k": (32, 64)}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return Manifest("tiny", "elements", "llama_cpp", tmp_path / "tiny.toml", file="tiny.gguf",
                    sha256=manifest.sha256_of(file), quantisation="Q8_0")  # fmt: skip


@pytest.mark.parametrize(("quantisation", "worst"), [("F32", 0.0), ("F16", 0.002), ("Q8_0", 0.02), ("Q4_0", 0.4)])
def test_without_an_adapter_the_base_is_quantised_again_with_all_it_says(
    tiny: Manifest, quantisation: Quantisation, worst: float
) -> None:
    from gguf import GGUFReader, quants

    made = assemble.assemble(replace(tiny, quantisation=quantisation)).path
    base, copy = GGUFReader(tiny.base_path()), GGUFReader(made)
    for name, entry in base.fields.items():
        if not name.startswith("GGUF.") and name != "general.file_type":
            assert copy.fields[name].contents() == entry.contents(), name
    assert {t.tensor_type.name for t in copy.tensors if len(t.shape) > 1} == {quantisation}
    assert {t.tensor_type.name for t in copy.tensors if len(t.shape) == 1} == {"F32"}
    for before, after in zip(base.tensors, copy.tensors, strict=True):
        assert np.abs(before.data - quants.dequantize(after.data, after.tensor_type)).max() <= worst


def test_the_second_call_finds_the_file_and_a_truncated_one_is_made_again(tiny: Manifest) -> None:
    told: list[float] = []

    def tell(fraction: float, _: str) -> None:
        told.append(fraction)

    made = assemble.assemble(tiny, on_progress=tell)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)
    content = made.path.read_bytes()
    told.clear()
    assert assemble.assemble(tiny, on_progress=tell) == made
    assert not told
    made.path.write_bytes(content[:1000])
    assert assemble.assemble(tiny).path.read_bytes() == content


def test_what_a_killed_try_left_behind_is_removed(tiny: Manifest) -> None:
    paths.models_folder().mkdir(parents=True)
    old, new = (paths.models_folder() / f"{assemble.UNFINISHED}{name}" for name in ("old", "new"))
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    assemble.assemble(tiny)
    assert not old.exists()
    assert new.exists()


def test_a_changed_adapter_makes_a_new_file(tiny: Manifest, save: Callable[..., Path]) -> None:
    files = [assemble.assemble(tiny).path]
    for alpha in (4, 8):
        files.append(assemble.assemble(tiny, save(narrow(64), lora_alpha=alpha)).path)
    assert len(set(files)) == 3
    assert len({file.read_bytes() for file in files}) == 3


SMALL: dict[str, tuple[int, ...]] = {
    "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": (2, 576),
    "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight": (576, 2),
}


def narrow(width: int) -> dict[str, tuple[int, ...]]:
    """SMALL for another width."""
    return {key: tuple(width if n == 576 else n for n in shape) for key, shape in SMALL.items()}


PLAIN = {"peft_type": "LORA", "lora_alpha": 4, "r": 2, "bias": "none"}


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Saves an adapter of ones with the given shapes and options."""
    from safetensors.numpy import save_file

    def write(shapes: dict[str, tuple[int, ...]] = SMALL, **options: Any) -> Path:
        folder = tmp_path / "small"
        folder.mkdir(exist_ok=True)
        save_file({name: np.ones(shape, np.float16) for name, shape in shapes.items()}, folder / lora.WEIGHTS)
        (folder / lora.CONFIG).write_text(json.dumps(PLAIN | options), encoding="utf-8")
        return folder

    return write


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"use_rslora": True}, "use_rslora"),
        ({"use_dora": True}, "use_dora"),
        ({"alpha_pattern": {"q_proj": 3}}, "alpha_pattern"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"bias": "all"}, "bias"),
        ({"init_lora_weights": "pissa"}, "init_lora_weights"),
        ({"peft_type": "IA3"}, "not a LoRA"),
        ({"lora_alpha": None}, "lora_alpha"),
    ],
)
def test_an_adapter_that_would_be_merged_wrongly_is_refused(
    save: Callable[..., Path], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ModelError, match=words):
        lora.read(save(**options))


def test_an_adapter_with_tensors_that_match_nothing_is_refused(save: Callable[..., Path]) -> None:
    shapes = SMALL | {"base_model.model.lm_head.lora_A.weight": (2, 576)}
    with pytest.raises(ModelError, match="lm_head"):
        lora.read(save(shapes))
    half = dict(list(SMALL.items())[:1])
    with pytest.raises(ModelError, match="incomplete"):
        lora.read(save(half))


@pytest.mark.parametrize(("width", "layer"), [(64, "layers.9"), (576, "layers.0")])
def test_an_adapter_for_another_model_is_refused_and_leaves_nothing(
    tiny: Manifest, save: Callable[..., Path], width: int, layer: str
) -> None:
    shapes = {key.replace("layers.0", layer): shape for key, shape in narrow(width).items()}
    with pytest.raises(ModelError, match="trained for another model"):
        assemble.assemble(tiny, save(shapes))
    assert [file.name for file in paths.models_folder().iterdir()] == ["verified.json"]


def test_a_damaged_adapter_is_refused(tiny: Manifest, save: Callable[..., Path]) -> None:
    folder = save()
    (folder / lora.WEIGHTS).write_bytes((folder / lora.WEIGHTS).read_bytes()[:100])
    with pytest.raises(ModelError, match="damaged"):
        lora.read(folder)
    shipped = replace(tiny, adapter=str(folder), adapter_sha256="0")
    with pytest.raises(ModelError, match=r"damaged \(its hash differs\)"):
        assemble.assemble(shipped)


def test_a_folder_that_cannot_be_written_is_one_sentence(tiny: Manifest, home: Path) -> None:
    home.write_text("a file where the data folder should be")
    with pytest.raises(ModelError, match="could not be written"):
        assemble.assemble(tiny)


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a Unix thing")
def test_a_disk_that_fills_up_leaves_nothing_behind(home: Path) -> None:
    """The child may write 20 MB to one file: the system refuses the rest in the middle of the work."""
    limited = (
        "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, 20 << 20)); "
        "runpy.run_module('agent_core.models.assemble', run_name='__main__')"
    )
    environment = os.environ | {"DESKHAND_HOME": str(home), "PYTHONPATH": str(paths.assets_folder().parent)}
    ended = subprocess.run(
        [sys.executable, "-c", limited], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "could not be written" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert [file.name for file in (home / "models").iterdir()] == ["verified.json"]
