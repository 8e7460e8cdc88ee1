"""git commands that only look, with the options known to keep it so.

git is trusted to run what the repository's own configuration names (a file system monitor, a converter for diffs):
such a configuration comes with an unpacked archive, never with a clone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent_core.safety.shell_options import Asked, Given, first_place, may_become_option, sorted_out
from agent_core.safety.shell_places import why_text_asked
from agent_core.safety.shell_words import Word
from agent_core.step import Tier


@dataclass(frozen=True, slots=True)
class Looks:
    """A subcommand that looks: its options as in shell_rules, and how many names it takes before it does more."""

    letters: str = ""
    long: frozenset[str] = frozenset()
    most: int = 1000


def _long(names: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in names.split())


_SHOWS = _long(
    "abbrev-commit after all author before branches cached color date decorate diff-filter first-parent follow format "
    "graph grep ignore-all-space ignore-blank-lines ignore-space-change max-count merges minimal name-only name-status "
    "no-color no-decorate no-ext-diff no-merges no-patch no-renames no-textconv numstat oneline patch pretty relative "
    "remotes reverse shortstat since skip staged stat summary tags topo-order unified until word-diff"
)
_LOG = Looks("0123456789pn:sigS:G:L:U:wbz", _SHOWS)
_DIFF = Looks("0123456789pswbzU:S:G:", _SHOWS - _long("follow"))
_SUBCOMMANDS: dict[str, Looks] = {
    "blame": Looks("L:wseltMC", _long("date porcelain show-email")),
    "branch": Looks("arv", _long("all color list no-color remotes show-current sort verbose contains merged"), most=0),
    "cat-file": Looks("pts"),
    "count-objects": Looks("vH"),
    "describe": Looks("", _long("tags always dirty abbrev all long")),
    "diff": _DIFF,
    "grep": Looks(
        "niwclLEFPvhHqA:B:C:e:", _long("count line-number ignore-case name-only files-with-matches word-regexp heading")
    ),
    "log": _LOG,
    "ls-files": Looks("modstucz", _long("others modified deleted exclude-standard cached stage unmerged")),
    "ls-tree": Looks("rdtlz", _long("name-only long full-tree")),
    "merge-base": Looks("a", _long("all is-ancestor fork-point")),
    "reflog": Looks("n:0123456789", _long("oneline max-count date"), most=0),
    "remote": Looks("v", _long("verbose"), most=0),
    "rev-list": Looks("n:0123456789", _long("count all max-count since until no-merges oneline")),
    "rev-parse": Looks(
        "", _long("show-toplevel abbrev-ref short is-inside-work-tree git-dir verify symbolic-full-name")
    ),
    "shortlog": Looks("sne", _long("summary numbered email since until no-merges")),
    "show": _LOG,
    "stash": Looks("", frozenset(), most=1),
    "status": Looks("sbu::vz", _long("short branch porcelain long untracked-files ignored show-stash ahead-behind")),
    "tag": Looks("ln::", _long("list sort contains merged points-at"), most=0),
    "version": Looks(),
    "worktree": Looks("", frozenset(), most=1),
}


def why_git_asked(arguments: list[Word], folder: str | None) -> Asked | None:
    """Why to ask about `git` with these arguments, None if it only looks at the repository."""
    rest = list(arguments)
    if rest and rest[0].text == "--no-pager":
        rest = rest[1:]
    if not rest or (looks := _SUBCOMMANDS.get(rest[0].text)) is None:
        subcommand = rest[0].text if rest else ""
        return Tier.R3, f"git {subcommand} is not known to only look.".replace("  ", " ")
    subcommand = rest[0].text
    given = sorted_out(rest[1:], looks.letters, looks.long)
    if isinstance(given, str):
        return Tier.R3, f"git {subcommand} {given} is not known to only look."
    if may_become_option(rest):
        return Tier.R2, "A file named like an option could slip in through this glob."
    if _signed(given) or not _few_enough(subcommand, looks, given):
        return Tier.R3, f"git {subcommand} with these words does more than look."
    if reason := next(filter(None, map(why_text_asked, given.values)), ""):
        return Tier.R3, reason
    # What looks like a path may be a revision; both are judged as paths, and a pattern for grep is neither.
    skipped = 1 if subcommand == "grep" and "e" not in given.options else 0
    return first_place(given.operands[skipped:], False, folder)


def _signed(given: Given) -> bool:
    """Whether a format asks for signatures, for which git starts another program."""
    return any(re.search(r"%G|signature|trailers", word.text) for word in given.values)


def _few_enough(subcommand: str, looks: Looks, given: Given) -> bool:
    operands = [word.text for word in given.operands]
    if subcommand in ("stash", "worktree"):
        return operands == ["list"]
    if subcommand == "tag" and given.options[:1] in (("l",), ("--list",)):
        return True
    return len(operands) <= looks.most
