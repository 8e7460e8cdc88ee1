"""Writes a run as one HTML file that opens anywhere, offline: what was seen, thought, decided and done, step by step.

Everything is inside the file: pictures as data URLs (each once), style, script. The page asks the network for nothing,
and its policy forbids it to; only the script whose hash the policy names may run. Texts of a run are escaped, and
characters that turn the reading direction are made visible, so that a command reads as what it is. Without script the
steps stand below each other.
"""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from PIL import Image

from agent_core.errors import StoreError
from agent_core.step import Run, Screenshot, Status, Turn
from agent_core.traces.discretion import Discretion, default_redactor
from agent_core.traces.frames import Frame, Pictures, frames_of_kept, frames_of_turns
from agent_core.traces.images import Pixels
from agent_core.traces.markup import duration, mode_words, shown
from agent_core.traces.outside import Outside
from agent_core.traces.reads import Traces
from agent_core.traces.replay_page import SCRIPT, STYLE
from agent_core.traces.slides import slide, thumb

_WEBP_QUALITY = 86  # small text stays sharp; a 1280 x 800 desktop takes about 40 kB


def write_replay(run_id: str, out: Path, traces: Traces | None = None) -> Path:
    """Writes the page of a kept run. Raises StoreError when there is no such run or the page cannot be written."""
    traces = traces or Traces()
    outside = Outside(traces, run_id)
    kept = outside.kept
    frames, pictures = frames_of_kept(outside)
    return _write(out, _page(kept.run, kept.status, kept.text, frames, pictures, kept=True))


def replay_of(
    run: Run, turns: Sequence[Turn], status: Status, out: Path, text: str = "", never_keep: Sequence[str] = ()
) -> Path:
    """Writes the page of a run that is only in memory, redacted as if it were kept. Raises StoreError.

    `text` is the sentence about its end; `never_keep` are words of titles of windows of which nothing is shown.
    """
    keeping = Discretion(default_redactor(), never_keep)
    frames_of_turns(turns, keeping)  # what is typed later is secret in earlier turns too
    keeping.begin_again()
    frames, pictures = frames_of_turns(turns, keeping)
    shown = replace(run, task=keeping.text(run.task))
    return _write(out, _page(shown, status, keeping.text(text), frames, pictures, kept=bool(run.consent)))


def _page(
    run: Run,
    status: Status,
    text: str,
    frames: Sequence[Frame],
    pictures: Pictures,
    kept: bool,
) -> str:
    allowed_script = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{allowed_script}'"
    ids = {key: f"p{index}" for index, key in enumerate(sorted(pictures))}
    slides = "".join(slide(f, n, len(frames), ids, pictures) for n, f in enumerate(frames, start=1))
    strip = "".join(thumb(f, n, ids, pictures) for n, f in enumerate(frames, start=1))
    if not frames:
        slides = '<p class="empty">This run ended before its first step.</p>'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{shown(run.task)} - Deskhand</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"{_definitions(ids, pictures)}{_header(run, status, text, frames, kept)}<main>{slides}</main>\n"
        f"{_footer(strip) if frames else ''}<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _definitions(ids: dict[str, str], pictures: Pictures) -> str:
    """Every picture once; the slides and the strip refer to it."""
    images = "".join(
        f'<image id="{ids[key]}" width="{p.width}" height="{p.height}" href="{_data_url(p)}"/>\n'
        for key, p in sorted(pictures.items())
    )
    return f'<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>\n{images}</defs></svg>\n'


def _header(run: Run, status: Status, text: str, frames: Sequence[Frame], kept: bool) -> str:
    look = {
        Status.FINISHED: ("allow", "&#10003;"),
        Status.RUNNING: ("ask", "&#8226;"),
        Status.STOPPED: ("ask", "&#9632;"),
    }
    css, icon = look.get(status, ("deny", "&#10007;"))
    total = sum(ms for frame in frames for _, ms in frame.spent_ms)
    steps = sum(frame.step is not None for frame in frames)
    facts = [
        time.strftime("%Y-%m-%d %H:%M", time.localtime(run.started)) if run.started else "",
        f"{steps} step{'' if steps == 1 else 's'}",
        duration(total) if total else "",
        shown(run.model),
        shown(mode_words(run.mode)),
        "" if kept else "not kept: this page is its only record",
    ]
    ending = f' <bdi dir="auto">{shown(text)}</bdi>' if text else ""
    return (
        f'<header><h1 dir="auto">{shown(run.task)}</h1>\n'
        f'<p class="ending"><span class="word {css}">{icon} {status.value.capitalize()}</span>{ending}</p>\n'
        f"<p>{' &#183; '.join(fact for fact in facts if fact)}</p></header>\n"
    )


def _footer(strip: str) -> str:
    return (
        '<footer><div class="tools"><button id="back">Back</button><button id="next">Next</button>'
        '<button id="after" aria-pressed="false">Show the screen after it</button>'
        "<span><kbd>&#8592;</kbd> <kbd>&#8594;</kbd> steps &#160; <kbd>Home</kbd> <kbd>End</kbd> first, last &#160; "
        f'<kbd>A</kbd> after</span></div>\n<nav class="strip" aria-label="Steps">{strip}</nav></footer>\n'
    )


def _data_url(picture: Pixels | Screenshot) -> str:
    out = BytesIO()
    image = Image.frombytes("RGB", (picture.width, picture.height), picture.rgb)
    image.save(out, "WEBP", quality=_WEBP_QUALITY, method=2)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode()


def _write(out: Path, page: str) -> Path:
    """The whole page or nothing."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=out.parent, prefix=out.name)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(page)
        Path(temporary).replace(out)
    except OSError as error:
        raise StoreError(
            f"The replay could not be written to {out}: {error.strerror or error}. Choose another place for it."
        ) from error
    return out
