"""The text model: what is saved by keeping what was read, and what the shipped quantisation costs.

The peer is llama-cpp-python's own `Llama` with an empty memory. Processor time: of the child for ours, of this process
for the peer.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path
from threading import Event

from agent_core.actions import Type
from agent_core.dialects.elements import Elements
from agent_core.errors import ModelError
from agent_core.models import manifest as manifests
from agent_core.models.assemble import assemble
from agent_core.models.llama_cpp import LlamaCpp
from agent_core.models.manifest import Manifest
from agent_core.screen.elements import ElementReader
from agent_core.step import Element, Message, Prompt, Reply, Screenshot, Transform, Turn
from tests.benches.frames import HEIGHT, WIDTH, two_frames
from tests.benches.measure import Result, beside, cpu_seconds

TIMES = 3
NEW_TOKENS = 32  # about what one step's reply takes
TASK = "Add a line about coffee to the notes and save them."


def prefix_reuse() -> Result:
    """The second step's reply of a conversation that grows, against reading all of it again."""
    reader, dialect = ElementReader(), Elements()
    before, after = (_shot(reader.read(shot)) for shot in two_frames())
    first = dialect.render(TASK, [], before)
    line = Type("Buy coffee and milk for Monday\n")
    reply = dialect.write("I type the line.", [line], before)
    second = Prompt((*first.messages, Message("assistant", reply), *dialect.render(TASK, [], after).messages))
    turn = Turn(1, before, first, Reply(reply), dialect.parse(reply, before))
    own = dialect.render(TASK, [turn], after)
    manifest = manifests.find("bundled")
    file = assemble(manifest).path
    model = LlamaCpp(file, context=manifest.context, max_new_tokens=NEW_TOKENS)
    stock = Stock(file, manifest)
    reused: list[Reply] = []

    def ours() -> float:
        model.reply(first, Event())
        began = _cpu_of(model.pid)
        reused.append(model.reply(second, Event()))
        return _cpu_of(model.pid) - began

    try:
        taken = beside(ours, lambda: stock.reply_seconds(second, NEW_TOKENS), TIMES)
    finally:
        model.close()
    pairs = zip(stock.tokens(first), stock.tokens(own), strict=False)
    kept = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    detail = (
        f"{taken.ours:.2f} s with {reused[-1].reused_tokens} of {reused[-1].prompt_tokens} tokens kept, "
        f"{taken.peer:.2f} s from the start; processor time, {NEW_TOKENS} new tokens. The elements dialect says the "
        f"newest screen only, and keeps {kept} of {len(stock.tokens(own))}"
    )
    return Result("prefix_reuse", taken.ratio, 1.5, "llama_cpp.Llama, memory cleared, same file", detail)


def quantised_against_base() -> Result:
    """Reading a prompt with the assembled file, against the file that the base's package brings."""
    elements = ElementReader().read(two_frames()[0])
    prompt = Elements().render(TASK, [], _shot(elements))
    manifest = manifests.find("bundled")
    served, base = Stock(assemble(manifest).path, manifest), Stock(manifest.base_path(), manifest)
    taken = beside(lambda: served.reply_seconds(prompt, 1), lambda: base.reply_seconds(prompt, 1), TIMES)
    detail = (
        f"{taken.ours:.2f} s {manifest.quantisation}, {taken.peer:.2f} s the base's own; processor time, "
        f"{len(served.tokens(prompt))} tokens read"
    )
    return Result("quantised_against_base", taken.ratio, 1.0, manifest.base_path().name, detail)


class Stock:
    """llama-cpp-python as it comes, with the settings of the manifest."""

    def __init__(self, file: Path, manifest: Manifest) -> None:
        try:
            from llama_cpp import Llama
        except ImportError as error:
            raise ModelError("The peer is not installed: pip install llama-cpp-python.") from error
        cores = os.cpu_count() or 1
        self._llama = Llama(
            str(file), n_ctx=manifest.context, n_threads=cores, n_threads_batch=cores, n_batch=512, verbose=False
        )

    def reply_seconds(self, prompt: Prompt, tokens: int) -> float:
        """The processor time of a greedy reply of at most `tokens`, with nothing kept from before."""
        self._llama.reset()
        return cpu_seconds(lambda: self._llama(prompt.chatml(), max_tokens=tokens, temperature=0.0))

    def tokens(self, prompt: Prompt) -> list[int]:
        """The prompt as the model reads it."""
        return list(self._llama.tokenize(prompt.chatml().encode(), special=True))


def _shot(elements: tuple[Element, ...]) -> Screenshot:
    """A frame of which only the elements matter."""
    return Screenshot(b"", WIDTH, HEIGHT, Transform("1", 0, 0, WIDTH, HEIGHT), "notes.txt - Mousepad", elements)


def _cpu_of(pid: int | None) -> float:
    """The processor time that a process has taken so far, in seconds."""
    if sys.platform != "linux" or pid is None:
        raise ModelError("The time of another process is read from /proc, which only Linux has.")
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
