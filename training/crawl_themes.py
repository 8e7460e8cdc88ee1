"""How generated pages look: colours, fonts, corners and density, drawn from a seed. Each theme is one style sheet.

The looks are those of common design systems without being any of them, so that a model learns widgets and not one
site's taste. Nothing moves and no caret blinks: a picture of a page depends on nothing but its text and its theme.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

PALETTES: dict[str, tuple[str, str, str, str, str]] = {  # ground, panel, ink, accent, ink on accent
    "paper": ("#ffffff", "#f4f5f7", "#1c2430", "#1f6feb", "#ffffff"),
    "slate": ("#1e2430", "#2a3242", "#e8ecf2", "#5ea1ff", "#0b1220"),
    "sand": ("#faf6ee", "#fffdf8", "#3b3226", "#a0561f", "#ffffff"),
    "forest": ("#f1f6f1", "#ffffff", "#16281b", "#1d7a3f", "#ffffff"),
    "night": ("#0d0f14", "#181c24", "#d7dbe3", "#b48cff", "#12081f"),
    "rose": ("#fff5f7", "#ffffff", "#3a1722", "#c2255c", "#ffffff"),
    "plain": ("#ffffff", "#ffffff", "#000000", "#0000ee", "#ffffff"),
    "steel": ("#e6e9ed", "#f8f9fa", "#212529", "#495057", "#ffffff"),
}
FONTS = ("'DejaVu Sans'", "'DejaVu Serif'", "'DejaVu Sans Mono'", "'Liberation Sans'", "'Noto Sans CJK SC'")
_MARK = "width:{mark}px;height:{mark}px;"
_DRAWN_TICKS = """
input[type=checkbox],input[type=radio]{{appearance:none;{mark}border:2px solid {accent};background:{panel};
 margin:3px 6px 3px 0;vertical-align:middle;border-radius:{tick_radius}px}}
input[type=radio]{{border-radius:50%}}
input[type=checkbox]:checked,input[type=radio]:checked{{background:{accent};box-shadow:inset 0 0 0 3px {panel}}}
"""


@dataclass(frozen=True, slots=True)
class Theme:
    """One look. Sizes in CSS pixels."""

    palette: str
    font: str
    size: int
    radius: int
    padding: int
    lined: bool
    own_ticks: bool
    filled: bool

    @property
    def is_dark(self) -> bool:
        return self.palette in ("slate", "night")

    def css(self) -> str:
        """The style sheet."""
        ground, panel, ink, accent, on_accent = PALETTES[self.palette]
        edge = f"1px solid {'#4a5468' if self.is_dark else '#b9c0ca'}"
        ticks = ""
        if self.own_ticks:
            tick = {"mark": _MARK.format(mark=self.size + 2), "accent": accent, "panel": panel}
            ticks = _DRAWN_TICKS.format(tick_radius=min(self.radius, 4), **tick)
        button = f"background:{accent};color:{on_accent};border:1px solid {accent}"
        if not self.filled:
            button = f"background:{panel};color:{accent};border:1px solid {accent}"
        return f"""
*{{caret-color:transparent!important;animation:none!important;transition:none!important;box-sizing:border-box}}
html{{color-scheme:{"dark" if self.is_dark else "light"}}}
body{{margin:0;background:{ground};color:{ink};font:{self.size}px {self.font},sans-serif;line-height:1.45}}
header{{display:flex;gap:18px;align-items:center;padding:{self.padding}px 18px;background:{panel};border-bottom:{edge}}}
header h1{{font-size:1.25em;margin:0}} h2{{font-size:1.1em;margin:0 0 8px}}
main{{display:flex;flex-wrap:wrap;gap:14px;padding:14px 18px}}
section{{background:{panel};padding:{self.padding + 6}px;border-radius:{self.radius}px;min-width:260px;flex:1 1 300px;
 {f"border:{edge}" if self.lined else ""}}}
a{{color:{accent}}} p{{margin:6px 0}} ul{{margin:6px 0;padding-left:20px}}
button{{{button};border-radius:{self.radius}px;padding:{self.padding}px {self.padding * 2}px;font:inherit;
 margin:4px 6px 4px 0}}
button.quiet{{background:transparent;color:{ink};border:{edge}}} button:disabled{{opacity:.45}}
input[type=text],input[type=password],input[type=number],textarea,select{{font:inherit;color:{ink};background:{ground};
 border:{edge};border-radius:{self.radius}px;padding:{max(2, self.padding - 2)}px 8px;width:100%;max-width:330px}}
label.above{{display:block;margin-top:8px}} label.tick{{display:block}}
[role=tablist]{{display:flex;border-bottom:{edge};margin-bottom:8px}}
[role=tab]{{padding:6px 14px;cursor:pointer}} [role=tab][aria-selected=true]{{font-weight:bold;
 border-bottom:3px solid {accent}}}
[role=switch]{{display:inline-block;width:40px;height:22px;border-radius:11px;background:#8a929e;position:relative;
 padding:0;border:0;vertical-align:middle;margin-right:8px}}
[role=switch]::after{{content:"";position:absolute;left:3px;top:3px;width:16px;height:16px;border-radius:8px;background:#fff}}
[role=switch][aria-checked=true]{{background:{accent}}} [role=switch][aria-checked=true]::after{{left:21px}}
[role=menu]{{position:absolute;background:{panel};border:{edge};padding:4px 0;z-index:5}}
[role=menuitem]{{padding:5px 22px}} [hidden]{{display:none!important}}
[role=option]{{padding:4px 10px}} [role=option][aria-selected=true]{{background:{accent};color:{on_accent}}}
table{{border-collapse:collapse;width:100%}} td,th{{text-align:left;padding:5px 8px;border-bottom:{edge}}}
dialog{{background:{panel};color:{ink};border:{edge};border-radius:{self.radius}px;padding:18px}}
.note{{padding:8px 18px;background:{accent};color:{on_accent}}}
{ticks}"""


def drawn_theme(rng: Random) -> Theme:
    """A theme at random."""
    return Theme(
        palette=rng.choice(sorted(PALETTES)),
        font=rng.choice(FONTS),
        size=rng.randint(13, 20),
        radius=rng.choice((0, 3, 6, 14)),
        padding=rng.randint(4, 10),
        lined=rng.random() < 0.6,
        own_ticks=rng.random() < 0.5,
        filled=rng.random() < 0.6,
    )
