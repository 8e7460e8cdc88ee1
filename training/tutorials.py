"""How-to texts, as people write them for people, to rows for continual training.

    python -m training.tutorials HOWTOS --out runs/tutorials.jsonl
    python -m training.ct --data runs/tutorials.jsonl --out runs/ct

A folder of HTML and Markdown is cut into sections at its headings; what tells no steps at a screen is left out, secrets
are covered, and near copies are found by MinHash (Broder 1997) with locality-sensitive hashing, as UI-TARS (2501.12326,
section 4.3) does with its tutorials. The same folder gives the same file, whatever order the disk lists it in.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from datasketch import MinHash, MinHashLSH
from markdown_it import MarkdownIt

from agent_core.redaction import redact
from training.runs import write_text

KINDS = (".html", ".htm", ".md", ".markdown")
HEADINGS = ("h1", "h2", "h3", "h4")
LINES = ("p", "li", "td", "dd", "dt", "figcaption", "blockquote")
NOISE = ("script", "style", "nav", "footer", "aside", "form", "noscript", "template", "svg", "pre")
MIN_WORDS, MAX_WORDS = 25, 1200
MIN_STEPS, MIN_SHARE = 2, 0.3  # lines that tell a step, and their share of all lines
ALIKE = 0.8  # Jaccard similarity of sets of five words from which on two texts are copies
PERMUTATIONS, SHINGLE = 128, 5
STEP = re.compile(
    r"\b(?:(?:double-|right-)?click|tap|press|select|choose|open|type|enter|drag|scroll|tick|untick|check|uncheck|"
    r"go to|switch to|turn (?:on|off)|enable|disable|close|save|expand|hover|paste|copy)\b",
    re.IGNORECASE,
)
AT_SCREEN = re.compile(
    r"\b(?:button|menu|window|dialog|tab|icon|field|box|list|link|toolbar|taskbar|desktop|settings|screen|cursor|mouse|"
    r"key|folder|file|page|browser|panel|pane|option|ctrl|alt|shift|app)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the headings above it, and the lines below it; `source` is the file, relative to the folder."""

    source: str
    title: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join((self.title, *self.lines)) if self.title else "\n".join(self.lines)

    @property
    def words(self) -> list[str]:
        return re.findall(r"\w+", self.text.lower())


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the rows and prints what was kept and left out; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m training.tutorials", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="folder of .html and .md files, read with all that lies in it")
    parser.add_argument("--out", type=Path, default=Path("runs/tutorials.jsonl"), help="JSONL file for `training.ct`")
    args = parser.parse_args(argv)
    if not args.folder.is_dir():
        print(f"There is no folder {args.folder}: name one that holds HTML or Markdown files.", file=sys.stderr)
        return 1
    rows, counts = collect(args.folder)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write_text(args.out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    print(f"{len(rows)} texts: {args.out}")
    print("\n".join(f"{count:6} {what}" for what, count in sorted(counts.items())))
    return 0


def collect(folder: Path) -> tuple[list[dict[str, str]], Counter[str]]:
    """The rows, `text`, `source` and `sha256`, and how many files and sections came to what."""
    counts: Counter[str] = Counter()
    kept: list[Section] = []
    for file in sorted(path for path in folder.rglob("*") if path.suffix.lower() in KINDS and path.is_file()):
        counts["files"] += 1
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            counts["files that cannot be read as UTF-8"] += 1
            continue
        for section in sections(text, file.suffix.lower(), file.relative_to(folder).as_posix()):
            counts["sections"] += 1
            if reason := left_out(section):
                counts[f"left out: {reason}"] += 1
            else:
                kept.append(section)
    rows = []
    for section in distinct(kept):
        text = redact(section.text)
        rows.append({"text": text, "source": section.source, "sha256": hashlib.sha256(text.encode()).hexdigest()})
    counts["left out: a copy"] += len(kept) - len(rows)
    return rows, counts


def sections(text: str, kind: str, source: str = "") -> Iterator[Section]:
    """The sections of a document in its order; a title names the headings that it lies under."""
    html = MarkdownIt("commonmark").enable("table").render(text) if kind.startswith(".m") else text
    soup = BeautifulSoup(html, "html.parser")
    for noise in soup.find_all(NOISE):
        noise.decompose()
    above: dict[int, str] = {}
    lines: list[str] = []
    for tag in (soup.find("main") or soup.find("article") or soup).find_all([*HEADINGS, *LINES]):
        if tag.name in HEADINGS:
            if lines:
                yield Section(source, ": ".join(above.values()), tuple(lines))
                lines = []
            level = int(tag.name[1])
            above = {depth: title for depth, title in above.items() if depth < level}
            above[level] = flat(tag)
        elif not tag.find(LINES):  # the innermost one holds the words
            line = flat(tag)
            number = place_of(tag)
            lines += [f"{number}. {line}" if number else line] if line else []
    if lines:
        yield Section(source, ": ".join(above.values()), tuple(lines))


def place_of(tag: Tag) -> int:
    """The number of an item of an ordered list; 0 for anything else."""
    item = tag if tag.name == "li" else tag.find_parent("li")
    if item is None or item.parent is None or item.parent.name != "ol":
        return 0
    if tag is not item and item.find(LINES) is not tag:
        return 0  # a second paragraph of the same item
    return 1 + len(item.find_previous_siblings("li"))


def flat(tag: Tag) -> str:
    return " ".join(tag.get_text(" ").split())


def left_out(section: Section) -> str:
    """Why a section teaches nothing about screens; empty if it does."""
    count = len(section.words)
    if count < MIN_WORDS:
        return "too short"
    if count > MAX_WORDS:
        return "too long"
    steps = [line for line in section.lines if STEP.search(line) and AT_SCREEN.search(line)]
    if len(steps) < MIN_STEPS or len(steps) < MIN_SHARE * len(section.lines):
        return "no steps at a screen"
    return ""


def distinct(found: Sequence[Section]) -> list[Section]:
    """The sections without near copies: of each set of copies the first in the order of their sources."""
    index = MinHashLSH(threshold=ALIKE, num_perm=PERMUTATIONS)
    kept: list[Section] = []
    sets: list[set[str]] = []
    for number, section in enumerate(found):
        words = section.words
        shingles = {" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1))}
        sets.append(shingles)
        sketch = MinHash(num_perm=PERMUTATIONS, seed=1)
        sketch.update_batch([shingle.encode() for shingle in sorted(shingles)])
        # The index proposes; the sets themselves decide, so that no text is lost to an unlucky hash.
        if any(jaccard(shingles, sets[other]) >= ALIKE for other in index.query(sketch)):
            continue
        index.insert(number, sketch)
        kept.append(section)
    return kept


def jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)


if __name__ == "__main__":
    sys.exit(main())
