"""Readers for programs whose arguments are a language: find, jq, ps, sed, tar, test. Each returns why to ask, or None.

They know the harmless part of each language and ask about all else.
"""

from __future__ import annotations

import re

from agent_core.safety.shell_options import Asked, first_place, may_become_option, sorted_out
from agent_core.safety.shell_places import speaks_of_secrets, why_asked, why_text_asked
from agent_core.safety.shell_words import Word, listed
from agent_core.step import Tier


def why_find_asked(arguments: list[Word], folder: str | None) -> Asked | None:
    """find with tests and printing alone; it shows names, wherever it looks."""
    takes_text = {"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype"}
    takes_text |= {
        "-type",
        "-size",
        "-mtime",
        "-mmin",
        "-atime",
        "-amin",
        "-ctime",
        "-cmin",
        "-perm",
        "-user",
        "-group",
    }
    takes_text |= {"-maxdepth", "-mindepth", "-printf", "-newermt", "-links", "-inum", "-xtype"}
    alone = {"-H", "-L", "-P", "!", "(", ")", "-not", "-o", "-or", "-a", "-and", "-print", "-print0", "-ls", "-empty"}
    alone |= {"-xdev", "-mount", "-daystart", "-depth", "-prune", "-readable", "-writable", "-executable", "-true"}
    alone |= {"-quit", "-nouser", "-nogroup", "-newer", "-false"}
    rest = iter(arguments)
    for word in rest:
        if word.text in takes_text:
            value = next(rest, Word("", ""))
            if reason := why_text_asked(value):
                return Tier.R3, reason
            if speaks_of_secrets(value.text):
                return Tier.R2, f"{value.text} may hold something secret."
        elif word.text.startswith("-") and word.text not in alone:
            return Tier.R3, f"find {word.text} is not known to only read."
        elif word.text not in alone and (word.globs or (reason := why_asked(word, True, folder))):
            return Tier.R2, reason if not word.globs else f"{word.text} may stand for an option of find."
    return None


_JQ_TOKEN = re.compile(
    r'"[^"\\]*"|\.\.|\.[A-Za-z_][A-Za-z0-9_]*|\.|[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)?|[\[\]{}()|,:;?+\-*/%<>=!]|\s+'
)
_JQ_WORDS = listed(
    "keys keys_unsorted length map map_values select type sort sort_by group_by unique unique_by to_entries "
    "from_entries with_entries has contains inside test startswith endswith tostring tonumber not and or if "
    "then else elif end true false null first last add any all flatten reverse min max min_by max_by range join split "
    "ascii_downcase ascii_upcase values empty recurse paths leaf_paths index ltrimstr rtrimstr floor ceil abs "
    "round tojson del"
)


def why_jq_asked(arguments: list[Word], folder: str | None) -> Asked | None:
    """jq with a filter of known words: no variables, no environment, no modules, no text with code in it."""
    given = sorted_out(
        arguments,
        "rcSesMaCj",
        frozenset({"--raw-output", "--compact-output", "--sort-keys", "--exit-status", "--slurp", "--tab"}),
    )
    if isinstance(given, str):
        return Tier.R3, f"jq {given} is not known to only read."
    if not given.operands or may_become_option(arguments):
        return Tier.R3, "jq needs a filter that can be read for certain."
    place, text = 0, given.operands[0].text
    while place < len(text):
        token = _JQ_TOKEN.match(text, place)
        if token is None or (token[0][0].isalpha() and token[0] not in _JQ_WORDS):
            return Tier.R3, "This jq filter does more than pick out values."
        place = token.end()
    return first_place(given.operands[1:], False, folder)


_PS_COLUMNS = listed("pid ppid pgid sid user uid comm cmd args stat state tty tt time etime pcpu pmem rss vsz")
_PS_COLUMNS |= listed("ni pri nlwp start lstart start_time %cpu %mem thcount psr wchan")
_PS_LONG = re.compile(
    r"--sort=[-+]?(%cpu|%mem|pcpu|pmem|rss|vsz|pid|ppid|time|start_time|user|comm)|--no-headers|--forest"
)
# Whole uses of ps. It takes what it cannot read a second time as BSD options, where an `e` anywhere shows every
# program's environment: so no two of these may be mixed, and a user's name has no `e`.
_PS_USE = re.compile(
    r"|[axuwf]+|-e|-f|-ef|-eF|-ely?|-A|-x|-f?p [\d,]+|-C [\w.-]+|-f?u [a-df-z0-9_-]+"
    r"|(?:-e |-A |-ax? |ax |-p [\d,]+ )?-?o (?P<columns>\S+)"
    r"|(?:-e|-A|-ax|ax)o (?P<more>\S+)",
    re.ASCII,
)


def why_ps_asked(arguments: list[Word], folder: str | None) -> Asked | None:
    """ps in its everyday forms; the others can show the environment of every program."""
    use = _PS_USE.fullmatch(" ".join(w.text for w in arguments if not _PS_LONG.fullmatch(w.text)))
    columns = (use["columns"] or use["more"] or "") if use else ""
    if use is None or not _PS_COLUMNS.issuperset(filter(None, columns.split(","))):
        return Tier.R3, "This use of ps can show what programs were told in secret."
    return None


def why_tar_asked(arguments: list[Word], folder: str | None) -> Asked | None:
    """tar listing one archive on this computer (a name with a colon would be another)."""
    texts = [word.text for word in arguments]
    lists = len(texts) == 2 and re.fullmatch(r"-?[tvzjJ]*f", texts[0]) and "t" in texts[0] and ":" not in texts[1]
    if not lists or texts[1].startswith("-") or arguments[1].globs:
        return Tier.R3, "tar does more than list one archive here."
    return first_place(arguments[1:], False, folder)


def why_sed_asked(arguments: list[Word], folder: str | None) -> Asked | None:
    """sed -n 'A,Bp': prints lines. Everything else in sed's language can write or run programs."""
    texts = [word.text for word in arguments]
    if len(texts) < 3 or texts[0] != "-n" or not re.fullmatch(r"\d+(,(\d+|\$))?p", texts[1], re.ASCII):
        return Tier.R3, "sed does more than print lines by their numbers."
    if any(text.startswith("-") for text in texts[2:]) or may_become_option(arguments[2:]):
        return Tier.R3, "sed with further options does more than print lines."
    return first_place(arguments[2:], False, folder)


def why_test_asked(arguments: list[Word], folder: str | None) -> Asked | None:
    """test with one question about one file; its other forms evaluate subscripts."""
    if len(arguments) != 2 or not re.fullmatch("-[efdrwxsLh]", arguments[0].text) or "[" in arguments[1].text:
        return Tier.R3, "test does more than ask about one file."
    return first_place(arguments[1:], True, folder)


def why_systemctl_asked(arguments: list[Word], folder: str | None) -> Asked | None:
    """systemctl asking for the state of units, without its pager."""
    texts = [word.text for word in arguments]
    names = [text for text in texts if re.fullmatch(r"[\w@.:-]+", text, re.ASCII) and not text.startswith("-")]
    options = {text for text in texts if text.startswith("-")}
    short = names[:1] in (["is-active"], ["is-enabled"])
    long = names[:1] in (["status"], ["list-units"]) and "--no-pager" in options
    known = {"--no-pager", "--user", "--all", "--failed", "--type=service"}
    if not (short or long) or not options <= known or len(names) + len(options) != len(texts):
        return Tier.R4, "systemctl can change how the computer runs, or start a pager."
    return None
