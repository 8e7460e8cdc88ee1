"""The child process that holds a GGUF in llama.cpp and answers prompts.

It is a process of its own because native code can crash, and because the reading of a prompt must be stoppable.
It ends when its standard input does, so it never outlives its parent. Messages are JSON, one object a line.
In: {"ask": n, "prompt": text, "max_new_tokens": n, "temperature": t, "seed": s} and {"stop": n}. Instead of a prompt's
text an ask may hold its "tokens", and "adapter": the GGUF of a LoRA that is put on for it and those that follow.
Out: {"event": "ready" | "text" | "done" | "problem", ...}.
"""

from __future__ import annotations

import argparse
import codecs
import ctypes
import json
import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from agent_core.step import CHATML_STOP

BATCH = 512  # tokens read at once; measured no faster beyond
ABORTED = 2  # llama_decode's word for "the abort callback said so"
PR_SET_PDEATHSIG = 1


class Problem(Exception):
    """What went wrong, as the fields of a "problem" event."""

    def __init__(self, what: str, **details: int) -> None:
        super().__init__(what)
        self.fields = {"what": what, **details}


class Halted(Exception):
    """The parent asked to stop this answer."""


class Inbox:
    """What the parent sends, read by a thread of its own so that a stop is heard while llama.cpp computes."""

    def __init__(self, source: BinaryIO) -> None:
        self.stopped = 0  # every ask up to this number is to be stopped
        self._asks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(source,), daemon=True, name="inbox").start()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            yield self._asks.get()

    def _read(self, source: BinaryIO) -> None:
        for line in source:
            message = json.loads(line)
            if "stop" in message:
                self.stopped = max(self.stopped, int(message["stop"]))
            else:
                self._asks.put(message)
        os._exit(0)  # the parent is gone; nothing here is worth saving


class Engine:
    """One model and one context. `held` are the tokens whose keys and values lie in the context's memory."""

    def __init__(self, path: Path, context: int, threads: int, inbox: Inbox) -> None:
        import llama_cpp.llama_cpp as native

        self._native, self._inbox, self._ask = native, inbox, 0
        native.llama_backend_init()
        params = native.llama_model_default_params()
        params.load_mode = native.LLAMA_LOAD_MODE_MMAP
        self._model = native.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            raise Problem("load")
        settings = native.llama_context_default_params()
        settings.n_ctx = context
        settings.n_batch = settings.n_ubatch = BATCH
        settings.n_threads = settings.n_threads_batch = threads
        # llama.cpp calls this between the nodes of its graph; it costs about 1 % and stops within milliseconds.
        self._abort = native.ggml_abort_callback(lambda _: self._halted())
        settings.abort_callback = self._abort
        self._context = native.llama_init_from_model(self._model, settings)
        if not self._context:
            raise Problem("memory")
        self._memory = native.llama_get_memory(self._context)
        self._vocab = native.llama_model_get_vocab(self._model)
        self._words = native.llama_vocab_n_tokens(self._vocab)
        self._batch = (native.llama_token * BATCH)()
        self.context = int(native.llama_n_ctx(self._context))
        self.held: list[int] = []
        self._end = self.tokens(CHATML_STOP)
        self._worn = ""
        self._adapter: Any = None

    def tokens(self, text: str) -> list[int]:
        """The text's tokens, special ones recognised; a model that wants a leading BOS gets exactly one."""
        native, raw = self._native, text.encode("utf-8")
        room = len(raw) + 8
        found = (native.llama_token * room)()
        count = native.llama_tokenize(self._vocab, raw, len(raw), found, room, False, True)
        tokens = [int(token) for token in found[:count]]
        bos = native.llama_vocab_bos(self._vocab)
        if native.llama_vocab_get_add_bos(self._vocab) and tokens[:1] != [bos]:
            tokens.insert(0, bos)
        return tokens

    def piece(self, token: int) -> bytes:
        """The token's bytes, which may end inside a character."""
        room = 256
        buffer = ctypes.create_string_buffer(room)
        count = self._native.llama_token_to_piece(self._vocab, token, buffer, room, 0, True)
        return buffer.raw[: max(count, 0)]

    def ends(self, token: int) -> bool:
        """True for the tokens that close an answer: the model's own, and ChatML's end of turn."""
        return bool(self._native.llama_vocab_is_eog(self._vocab, token)) or [token] == self._end

    def wear(self, file: str) -> None:
        """Puts an adapter on in place of the last one; an empty name takes it off. What was read is forgotten then."""
        if file == self._worn:
            return
        native, one = self._native, self._native.llama_adapter_lora_p_ctypes * 1
        adapter = native.llama_adapter_lora_init(self._model, os.fsencode(file)) if file else None
        if file and not adapter:
            raise Problem("adapter")
        count = 1 if adapter else 0
        native.llama_set_adapters_lora(self._context, one(adapter), count, (ctypes.c_float * 1)(1.0))
        if self._adapter:
            native.llama_adapter_lora_free(self._adapter)
        self._worn, self._adapter = file, adapter
        native.llama_memory_clear(self._memory, False)
        self.held.clear()

    def begin(self, ask: int, tokens: list[int]) -> int:
        """Reads the prompt except what is still held of the last one; returns how many tokens were held."""
        self._ask = ask
        kept = 0
        for old, new in zip(self.held, tokens[:-1], strict=False):  # the last token is always read: it gives the logits
            if old != new:
                break
            kept += 1
        if not self._forget(kept):
            kept = 0
            self._native.llama_memory_clear(self._memory, False)
            self.held.clear()
        self.read(tokens[kept:])
        return kept

    def read(self, tokens: list[int]) -> None:
        """Adds tokens to the context. Raises Halted on a stop, keeping whole batches that were read."""
        for start in range(0, len(tokens), BATCH):
            part = tokens[start : start + BATCH]
            self._batch[: len(part)] = part
            code = self._native.llama_decode(self._context, self._native.llama_batch_get_one(self._batch, len(part)))
            if code != 0:
                self._forget(len(self.held))
                if code == ABORTED or self._halted():
                    raise Halted
                raise Problem("decode", code=code)
            self.held += part
        if self._halted():
            raise Halted

    def logits(self) -> npt.NDArray[np.float64]:
        """The scores of every next token, after the last one read."""
        pointer = self._native.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(pointer, shape=(self._words,)).astype(np.float64)

    def _forget(self, kept: int) -> bool:
        """Drops all but the first `kept` tokens; False where the model's memory cannot drop a part."""
        del self.held[kept:]
        return bool(self._native.llama_memory_seq_rm(self._memory, 0, kept, -1))

    def _halted(self) -> bool:
        return self._inbox.stopped >= self._ask


def choose(logits: npt.NDArray[np.float64], temperature: float, rng: np.random.Generator) -> tuple[int, float]:
    """A token and its log-probability under the distribution it was drawn from (temperature 0: greedy, under 1)."""
    scores = logits / temperature if temperature > 0 else logits
    scores = scores - scores.max()
    weights = np.exp(scores)
    total = weights.sum()
    if temperature > 0:
        token = min(int(np.searchsorted(np.cumsum(weights), rng.random() * total)), len(scores) - 1)
    else:
        token = int(scores.argmax())
    return token, float(scores[token] - np.log(total))


class Answer:
    """One answer in the making: what was sampled, and the text of it sent so far."""

    def __init__(self, ask: dict[str, Any], engine: Engine, out: BinaryIO) -> None:
        self._ask, self._engine, self._out = ask, engine, out
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ids: list[int] = []
        self._logprobs: list[float] = []
        self._read = self._kept = 0

    def make(self) -> None:
        """Sends "text" events and then one "done", or one "problem"."""
        reason = "stopped"
        try:
            reason = self._generate()
        except Halted:
            pass
        except Problem as problem:
            send(self._out, event="problem", ask=self._ask["ask"], **problem.fields)
            return
        self._tell(self._decoder.decode(b"", final=True))
        send(
            self._out,
            event="done",
            ask=self._ask["ask"],
            stop_reason=reason,
            token_ids=self._ids,
            logprobs=self._logprobs,
            prompt_tokens=self._read,
            reused_tokens=self._kept,
        )

    def _generate(self) -> str:
        ask, engine = self._ask, self._engine
        engine.wear(ask.get("adapter", ""))
        tokens = ask.get("tokens") or engine.tokens(ask["prompt"])
        self._read = len(tokens)
        room = engine.context - int(ask["max_new_tokens"])
        if len(tokens) > room:
            raise Problem("too_long", prompt_tokens=len(tokens), room=room)
        self._kept = engine.begin(ask["ask"], tokens)
        rng = np.random.default_rng(ask["seed"])
        for _ in range(int(ask["max_new_tokens"])):
            token, logprob = choose(engine.logits(), ask["temperature"], rng)
            self._ids.append(token)
            self._logprobs.append(logprob)
            if engine.ends(token):
                return "stop"
            self._tell(self._decoder.decode(engine.piece(token)))
            engine.read([token])
        return "length"

    def _tell(self, text: str) -> None:
        if text:
            send(self._out, event="text", ask=self._ask["ask"], text=text)


def send(out: BinaryIO, **message: Any) -> None:
    """One event to the parent."""
    out.write(json.dumps(message).encode("ascii") + b"\n")
    out.flush()


def _own_stdout() -> BinaryIO:
    """The pipe to the parent, taken away from native code: whatever that prints goes to standard error."""
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return pipe


def main() -> int:
    """Loads the model, says "ready", then answers until the parent is gone."""
    parser = argparse.ArgumentParser(prog="llama_child")
    parser.add_argument("file", type=Path)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches us too; the parent decides
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    out = _own_stdout()
    inbox = Inbox(sys.stdin.buffer)
    logging.getLogger("llama-cpp-python").setLevel(logging.WARNING)
    started = time.perf_counter()
    try:
        engine = Engine(args.file, args.context, args.threads, inbox)
    except Problem as problem:
        send(out, event="problem", ask=0, **problem.fields)
        return 1
    send(out, event="ready", context=engine.context, load_ms=(time.perf_counter() - started) * 1000)
    for ask in inbox:
        Answer(ask, engine, out).make()
    return 0


if __name__ == "__main__":
    sys.exit(main())
