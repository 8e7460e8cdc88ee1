"""Policies that act: exact ids and log-probabilities, new weights, and a server that changes adapters as it serves."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
from PIL import Image
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from agent_core.errors import ModelError
from agent_core.models.scripted import Scripted
from agent_core.models.transformers_vlm import Asked, Sight, TransformersModel
from agent_core.step import Message, Prompt, Screenshot, Transform
from tests.training.small import END, IMAGE, START, STOP, stirred, vision_model
from tests.training.tiny_runs import model_folder
from training import adapters
from training.batches import Vision, batch_of
from training.pictures import patches_of
from training.policy import ActorCritic, load_base, lora
from training.rows import Picture, SampledTurn, rows_of
from training.serving import Ask, ModelActor, TransformersActor
from training.serving_http import ServerActor

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT asks transformers by an old name

PROMPTS = [Prompt((Message("user", text),)) for text in ("Press OK.", "Enter Name Anna, then press Save.", "Go")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy's adapter that does something."""
    model, _ = load_base(base)
    policy = stirred(ActorCritic(model, lora(model, 4, 8)))
    folder = tmp_path_factory.mktemp("adapter")
    adapters.save(policy.model, "policy", folder)
    return folder


def logprobs_of(model: Any, prompt: tuple[int, ...], reply: tuple[int, ...]) -> list[float]:
    """By one plain pass over prompt and reply."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + reply])).logits[0].double()
    every = torch.log_softmax(logits, dim=-1)
    return [float(every[len(prompt) - 1 + n, token]) for n, token in enumerate(reply)]


# -- in this process ---------------------------------------------------------------------------------------------------


def test_replies_of_a_padded_batch_carry_the_log_probabilities_of_a_plain_pass(base: Path) -> None:
    model = TransformersModel.from_folder(base, max_new_tokens=12)
    asked = [Asked(model.prompt_ids(prompt), seed) for seed, prompt in enumerate(PROMPTS)]
    for one, reply in zip(asked, model.sample(asked), strict=True):
        assert reply.prompt_tokens == len(one.ids)
        assert reply.stop_reason in ("stop", "length")
        assert reply.logprobs == pytest.approx(logprobs_of(model.model, one.ids, reply.token_ids), abs=1e-4)


def test_a_reply_depends_on_its_seed(base: Path) -> None:
    model = TransformersModel.from_folder(base, max_new_tokens=12)
    ids = model.prompt_ids(PROMPTS[0])
    first, second, again = (model.sample([Asked(ids, seed)])[0].token_ids for seed in (1, 2, 1))
    assert first == again != second


def test_rows_that_end_early_leave_the_others_as_they_were(base: Path) -> None:
    model = TransformersModel.from_folder(base, max_new_tokens=40)
    asked = [Asked(model.prompt_ids(PROMPTS[0]), seed) for seed in range(40)]
    replies = model.sample(asked)
    ended = [reply for reply in replies if reply.stop_reason == "stop"]
    assert ended, "with 259 tokens about one reply in seven ends within 40"
    assert all(reply.token_ids[-1] == model.tokenizer.convert_tokens_to_ids("<|im_end|>") for reply in ended)
    whole = next(reply for reply in replies if len(reply.token_ids) == 40)
    ids = asked[replies.index(whole)].ids
    assert whole.logprobs == pytest.approx(logprobs_of(model.model, ids, whole.token_ids), abs=1e-4)


def test_the_model_protocol_answers_one_prompt_and_stops(base: Path) -> None:
    model = TransformersModel.from_folder(base, max_new_tokens=6, temperature=0.0)
    heard: list[str] = []
    reply = model.reply(PROMPTS[0], Event(), heard.append)
    assert "".join(heard) == reply.text
    assert model.reply(PROMPTS[0], Event()).token_ids == reply.token_ids  # greedy
    stop = Event()
    stop.set()
    assert model.reply(PROMPTS[0], stop).stop_reason == "stopped"
    with pytest.raises(ModelError, match="temperature 1"):
        TransformersModel(model.model, model.tokenizer, temperature=0.7)
    with pytest.raises(ModelError, match="cannot be loaded"):
        TransformersModel.from_folder(base / "nowhere")


def test_an_adapter_is_merged_exactly_and_taken_away_without_a_trace(base: Path, adapter: Path) -> None:
    actor = TransformersActor.of_folder(base, 6)
    asks = [Ask(prompt, 3) for prompt in PROMPTS]
    plain = actor.act(asks)
    actor.load(adapter, 5)
    changed = actor.act(asks)
    assert {answer.version for answer in changed} == {5}
    assert [a.reply.token_ids for a in plain] != [a.reply.token_ids for a in changed]
    with_peft = TransformersModel.from_folder(base, adapter).model
    for answer in changed:
        wanted = logprobs_of(with_peft, answer.prompt_ids, answer.reply.token_ids)
        assert answer.reply.logprobs == pytest.approx(wanted, abs=1e-4)
    actor.load(None, 6)
    assert [a.reply.logprobs for a in actor.act(asks)] == [a.reply.logprobs for a in plain]  # to the last bit


def test_a_model_that_tells_no_log_probabilities_is_refused() -> None:
    actor = ModelActor(lambda adapter: Scripted(["wait()"]), lambda text: [1, 2])
    with pytest.raises(ModelError, match="does not tell token ids"):
        actor.act([Ask(PROMPTS[0], 0)])


def test_a_model_of_the_app_acts(base: Path) -> None:
    encode = TransformersModel.from_folder(base).tokenizer.encode
    actor = ModelActor(lambda adapter: TransformersModel.from_folder(base, adapter, max_new_tokens=4), encode)
    [answer] = actor.act([Ask(PROMPTS[0], 0)])
    assert len(answer.reply.token_ids) == len(answer.reply.logprobs) > 0
    assert answer.prompt_ids == tuple(encode(PROMPTS[0].chatml()))
    other = ModelActor(lambda adapter: TransformersModel.from_folder(base, max_new_tokens=4), lambda text: [1])
    with pytest.raises(ModelError, match="give the actor the tokenizer of the model"):
        other.act([Ask(PROMPTS[0], 0)])


# -- on a server -------------------------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """Speaks what vLLM speaks about completions and adapters; the weights are those of a TransformersModel."""

    daemon_threads = True

    def __init__(self, base: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.base = base
        self.models = {"base": TransformersModel.from_folder(base, max_new_tokens=8)}
        self.log: list[str] = []
        self.tells_ids = True
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.guard:
            match self.path:
                case "/v1/load_lora_adapter":
                    folder = Path(body["lora_path"])
                    self.server.models[body["lora_name"]] = TransformersModel.from_folder(self.server.base, folder)
                    self.server.log.append(f"load {body['lora_name']}")
                    self.say("Success", "text/plain")
                case "/v1/unload_lora_adapter":
                    del self.server.models[body["lora_name"]]
                    self.server.log.append(f"unload {body['lora_name']}")
                    self.say("Success", "text/plain")
                case "/v1/completions":
                    self.complete(body)

    def complete(self, body: dict[str, Any]) -> None:
        model = self.server.models.get(body["model"])
        if model is None:
            self.say(json.dumps({"error": {"message": "no such model"}}), status=404)
            return
        assert (body["temperature"], body["top_p"], body["top_k"]) == (1.0, 1.0, -1)
        model.max_new_tokens = body["max_tokens"]
        [reply] = model.sample([Asked(tuple(body["prompt"]), body["seed"])])
        choice: dict[str, Any] = {"text": reply.text, "logprobs": {"token_logprobs": list(reply.logprobs)}}
        if self.server.tells_ids and body["return_token_ids"]:
            choice["token_ids"] = list(reply.token_ids)
        self.say(json.dumps({"choices": [choice]}))

    def say(self, text: str, kind: str = "application/json", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def server(base: Path) -> Iterator[Server]:
    with Server(base) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def remote(server: Server, base: Path, tmp_path: Path) -> Iterator[ServerActor]:
    tokenizer = server.models["base"].tokenizer
    actor = ServerActor(
        server.url, "base", encode=tokenizer.encode, decode=tokenizer.decode,
        stop_id=tokenizer.convert_tokens_to_ids("<|im_end|>"), folder=tmp_path / "served", max_new_tokens=8,
    )  # fmt: skip
    yield actor
    actor.close()


def test_a_server_answers_as_the_weights_in_this_process_do(remote: ServerActor, base: Path, adapter: Path) -> None:
    here = TransformersActor.of_folder(base, 8)
    asks = [Ask(prompt, 11) for prompt in PROMPTS]
    for folder, version in ((None, 0), (adapter, 1)):
        here.load(folder, version)
        remote.load(folder, version)
        for ours, theirs in zip(here.act(asks), remote.act(asks), strict=True):
            assert theirs.reply.token_ids == ours.reply.token_ids
            assert theirs.reply.logprobs == pytest.approx(ours.reply.logprobs, abs=1e-4)
            assert (theirs.prompt_ids, theirs.version, theirs.reply.text) == (
                ours.prompt_ids,
                version,
                ours.reply.text,
            )


def test_versions_that_nobody_asks_any_more_are_unloaded(remote: ServerActor, server: Server, adapter: Path) -> None:
    for version in range(1, 5):
        remote.load(adapter, version)
        assert remote.act([Ask(PROMPTS[0], 1)])[0].version == version
    assert server.log == [
        "load policy-1", "load policy-2", "load policy-3", "unload policy-1", "load policy-4", "unload policy-2",
    ]  # fmt: skip
    assert sorted(server.models) == ["base", "policy-3", "policy-4"]


def test_a_server_that_tells_too_little_or_refuses_is_told_in_a_sentence(remote: ServerActor, server: Server) -> None:
    server.tells_ids = False
    with pytest.raises(ModelError, match="return_token_ids"):
        remote.act([Ask(PROMPTS[0], 1)])
    server.models.clear()
    with pytest.raises(ModelError, match="no such model"):
        remote.act([Ask(PROMPTS[0], 1)])


def test_a_server_that_is_not_there_is_told_in_a_sentence(tmp_path: Path) -> None:
    actor = ServerActor(
        "http://127.0.0.1:9/v1", "base", encode=lambda text: [1], decode=str, stop_id=1, folder=tmp_path
    )
    with pytest.raises(ModelError, match="does not answer"):
        actor.act([Ask(PROMPTS[0], 1)])
    actor.close()


# -- with pictures -----------------------------------------------------------------------------------------------------


def seeing() -> TransformersModel:
    """A tiny Qwen2.5-VL with a tokenizer of bytes and its own names at the model's places."""
    names = {"<|image_pad|>": IMAGE, "<|vision_start|>": START, "<|vision_end|>": END, "<|im_end|>": STOP}
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<|pad|>": 0, "<|im_start|>": 1, **{letter: n for n, letter in enumerate(letters, 2)}, **names}
    bytewise = Tokenizer(models.BPE(vocabulary, []))
    bytewise.add_special_tokens([AddedToken(name, normalized=False) for name in ("<|pad|>", "<|im_start|>", *names)])
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytewise, pad_token="<|pad|>", eos_token="<|im_end|>")

    def patches(shot: Screenshot) -> tuple[torch.Tensor, tuple[int, int, int]]:
        image = Image.frombytes("RGB", (shot.width, shot.height), shot.rgb)
        return patches_of(image), (1, shot.height // 14, shot.width // 14)

    return TransformersModel(vision_model().eval(), tokenizer, sight=Sight(patches), max_new_tokens=20)


def shot(width: int, height: int, grey: int) -> Screenshot:
    return Screenshot(bytes([grey, 40, 90]) * (width * height), width, height, Transform("", 0, 0, width, height))


def test_pictures_of_different_sizes_are_seen_in_one_batch_as_they_are_in_training() -> None:
    model = seeing()
    prompts = [
        Prompt((Message("user", "<image>Click.", (shot(56, 84, 200),)),)),
        Prompt((Message("user", "Before <image> and now <image>", (shot(56, 56, 10), shot(84, 56, 90))),)),
    ]
    asked = [model.asked(prompt, seed) for seed, prompt in enumerate(prompts)]
    assert [one.ids.count(IMAGE) for one in asked] == [6, 4 + 6]
    policy = ActorCritic(vision_model().eval(), lora(model.model, 4, 8))
    for one, reply in zip(asked, model.sample(asked), strict=True):
        names = {f"{n}": patches for n, (patches, _) in enumerate(one.pictures)}
        pictures = tuple(Picture(f"{n}", grid) for n, (_, grid) in enumerate(one.pictures))
        turn = SampledTurn(one.ids, reply.token_ids, reply.logprobs, pictures)
        [row] = rows_of([turn], image_token=IMAGE)
        batch = batch_of([row], Vision(IMAGE, lambda picture, names=names: names[picture.sha256]))  # type: ignore[misc]
        with torch.no_grad():
            ours = policy.logprobs(batch)[batch.mask].tolist()
        assert reply.logprobs == pytest.approx(ours, abs=1e-4)


def test_pictures_without_a_place_or_eyes_are_refused(base: Path) -> None:
    with pytest.raises(ModelError, match="reads text only"):
        TransformersModel.from_folder(base).asked(Prompt((Message("user", "<image>", (shot(56, 56, 1),)),)), 0)
    with pytest.raises(ModelError, match="more pictures than places"):
        seeing().asked(Prompt((Message("user", "<image>", (shot(56, 56, 1), shot(56, 56, 2))),)), 0)
