"""Import of GGUF files that are on the computer already, and the command around models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from gguf import GGUFWriter

from agent_core import paths
from agent_core.errors import ModelError
from agent_core.models import manifest as manifests
from agent_core.models.importing import header, import_model

ROOT = Path(__file__).parents[2]


def written(path: Path, architecture: str, file_type: int = 15, context: int = 0, eyes: bool = False) -> Path:
    """A GGUF with a header and no weights."""
    writer = GGUFWriter(path, architecture)
    writer.add_name("A model")
    writer.add_file_type(file_type)
    if context:
        writer.add_context_length(context)
    if eyes:
        writer.add_bool("clip.has_vision_encoder", True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agent_core.models", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)


def test_a_header_is_read(tmp_path: Path) -> None:
    told = header(written(tmp_path / "a.gguf", "qwen2vl", context=128_000))
    assert (told.architecture, told.name, told.quantisation, told.context) == (
        "qwen2vl", "A model", "Q4_K_M", 128_000,
    )  # fmt: skip
    assert not told.sees
    assert header(written(tmp_path / "b.gguf", "clip", file_type=1, eyes=True)).sees


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model at all, but long enough to be read", None])
def test_what_is_no_gguf_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "a.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ModelError, match="not a usable GGUF"):
        header(file)


def test_an_imported_version_takes_over_what_is_known(tmp_path: Path) -> None:
    file = written(tmp_path / "UI-TARS-1.5-7B.Q8_0.gguf", "qwen2vl", context=8192)
    eyes = written(tmp_path / "UI-TARS-1.5-7B.mmproj-f16.gguf", "clip", eyes=True)
    made = import_model(file, "ui-tars-1.5-7b")
    assert made.source == paths.models_folder() / "ui-tars-1.5-7b.q8_0.toml"
    found, known = manifests.find("ui-tars-1.5-7b.q8_0"), manifests.find("ui-tars-1.5-7b")
    assert (found.base_path(), found.mmproj_path()) == (file, eyes)
    assert found.screen() == known.screen()
    assert (found.dialect, found.context, found.repository) == ("uitars", 8192, "")
    manifests.verify(found.base_path(), found.sha256)
    with pytest.raises(ModelError, match="already"):
        import_model(file, "ui-tars-1.5-7b")


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    text = written(tmp_path / "text.gguf", "llama")
    seer = written(tmp_path / "seer.gguf", "qwen2vl")
    with pytest.raises(ModelError, match=r"only reads.*there is none beside"):
        import_model(seer, "qwen2.5-vl-7b")
    eyes = written(tmp_path / "mmproj.gguf", "clip", eyes=True)
    with pytest.raises(ModelError, match="is of the kind llama"):
        import_model(text, "qwen2.5-vl-7b")
    with pytest.raises(ModelError, match="is of the kind qwen2vl, but qwen3-vl-8b is qwen3vl"):
        import_model(seer, "qwen3-vl-8b")
    with pytest.raises(ModelError, match="only a model's eyes"):
        import_model(eyes, "qwen2.5-vl-7b")
    with pytest.raises(ModelError, match="is not a file with a model's eyes"):
        import_model(seer, "qwen2.5-vl-7b", mmproj=text)
    with pytest.raises(ModelError, match="cannot be a model's name"):
        import_model(seer, "qwen2.5-vl-7b", name="../a")
    with pytest.raises(ModelError, match="no manifest for the model 'nobody'"):
        import_model(seer, "nobody")
    assert not list(paths.models_folder().glob("*.toml"))


def test_the_command(tmp_path: Path) -> None:
    listed = run("list")
    assert "fara-7b: qwen_vl, 6.1 GB from bartowski/microsoft_Fara-7B-GGUF, not here" in listed.stdout
    assert "bundled: elements, llama_cpp" in listed.stdout
    refused = run("download", "bundled")
    assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
    assert "import its files" in refused.stderr
    file = written(tmp_path / "Small.gguf", "llama", context=2048)
    done = run("import", str(file), "--like", "bundled")
    assert done.stdout.startswith("small is ready")
    assert manifests.find("small").base_path() == file


def test_a_servers_key_goes_into_the_keyring_alone(tmp_path: Path) -> None:
    kept = tmp_path / "keyring.json"
    ring = {"PYTHON_KEYRING_BACKEND": "tests.file_keyring.FileKeyring", "TEST_KEYRING_FILE": str(kept)}
    command = [sys.executable, "-m", "agent_core.models", "key", "http://gpu-box:8000/v1/"]
    for typed, found in (("sk-secret\n", {"deskhand/http://gpu-box:8000/v1": "sk-secret"}), ("\n", {})):
        done = subprocess.run(
            command,
            input=typed,
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, **ring},
            timeout=60,
            check=False,
        )
        assert (done.returncode, "sk-secret" in done.stdout + done.stderr) == (0, False)
        assert json.loads(kept.read_text()) == found
    nowhere = {**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    refused = subprocess.run(
        command, input="k\n", capture_output=True, text=True, cwd=ROOT, env=nowhere, timeout=60, check=False
    )
    assert refused.returncode == 1
    assert "no keyring to keep the key in" in refused.stderr
