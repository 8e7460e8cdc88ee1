"""The form under "This step was wrong": what should have been done, as the reply that the model should have given.

What is kept is a label of kind `correction` (the whole reply, in the run's own dialect) and, if the person says that
the run went wrong from there on, one of kind `wrong_step`. Curation reads both.
"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from agent_core.actions import (
    Action,
    CallUser,
    Click,
    DoubleClick,
    Finished,
    Hotkey,
    Point,
    RightClick,
    Scroll,
    Terminal,
    Type,
)
from agent_core.dialects import dialect
from agent_core.errors import InputError
from agent_core.keys import chord
from agent_core.step import Screenshot, Transform
from app import theme, words
from app.text import button, label

NOTHING = "nothing"
PLACED = ("click", "double_click", "right_click", "scroll")
WRITTEN = {
    "type": "better.text",
    "hotkey": "better.keys",
    "terminal": "better.command",
    "finished": "better.answer",
    "call_user": "better.question",
}
CHOICES = (NOTHING, *PLACED, *WRITTEN)
DIRECTIONS = ("down", "up", "left", "right")


class CorrectionForm(QFrame):
    """`kept` carries the reply (empty: it is only known to be wrong) and whether the run went wrong from here on.

    `aimed` says that the place was changed, and carries it or None.
    """

    kept = Signal(str, bool)
    aimed = Signal(object)  # Point or None
    cancelled = Signal()

    def __init__(self, spoken: str, actions: int, parent: QWidget | None = None) -> None:
        """`spoken` is the name of the run's dialect; `actions` says how many the reply held."""
        super().__init__(parent)
        self.setObjectName("card")
        self._spoken = spoken
        rows = QVBoxLayout(self)
        rows.setContentsMargins(12, theme.GRID, 12, theme.GRID)
        rows.setSpacing(theme.GRID)
        rows.addWidget(label(words.say("better.title"), "heading"))
        self._build_fields(rows)
        if actions > 1:
            rows.addWidget(label(words.say("better.whole", count=actions), "secondary"))
        self.complaint = label("", "refused")
        self.complaint.hide()
        rows.addWidget(self.complaint)
        self.keep_button = button(words.say("better.keep"), "main")
        self.cancel_button = button(words.say("better.cancel"))
        self.keep_button.clicked.connect(self._keep)
        self.cancel_button.clicked.connect(self.cancelled)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.cancel_button)
        row.addWidget(self.keep_button)
        rows.addLayout(row)
        self._chosen()

    def aim(self, place: Point) -> None:
        """The person pointed at a place in the picture."""
        if not self.aims:
            self.kind.setCurrentIndex(CHOICES.index("click"))
        self.across.setValue(place.x * 100)
        self.down.setValue(place.y * 100)

    @property
    def aims(self) -> bool:
        """Whether the chosen action is at a place."""
        return self.kind.currentData() in PLACED

    def action(self) -> Action | None:
        """What should have been done; None while something is missing. Raises InputError for keys there are none of."""
        at, text = Point(self.across.value() / 100, self.down.value() / 100), self.text.text()
        match self.kind.currentData():
            case "click":
                return Click(at)
            case "double_click":
                return DoubleClick(at)
            case "right_click":
                return RightClick(at)
            case "scroll":
                return Scroll(self.way.currentData(), at)
            case "type" if text:
                return Type(text)
            case "hotkey" if text.strip():
                chord([text])  # only asks whether there are such keys: models write ctrl, not Control_L
                return Hotkey(tuple(text.lower().replace("+", " ").split()))
            case "terminal" if text.strip():
                return Terminal(text.strip())
            case "finished":
                return Finished(text)
            case "call_user" if text.strip():
                return CallUser(text.strip())
        return None

    def _build_fields(self, rows: QVBoxLayout) -> None:
        self.kind = QComboBox()
        self.kind.setAccessibleName(words.say("better.kind"))
        for name in CHOICES:
            self.kind.addItem(words.say(f"better.kind.{name}"), name)
        rows.addWidget(self.kind)
        self.place_note = label(words.say("better.place"), "secondary")
        self.across, self.down = _percent("better.across"), _percent("better.down")
        self.place = QWidget()
        grid = QGridLayout(self.place)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(1, 1)
        for at, (spin, name) in enumerate(((self.across, "better.across"), (self.down, "better.down"))):
            grid.addWidget(spin, at, 0)
            grid.addWidget(label(words.say(name), "secondary", wrap=False), at, 1)
            spin.valueChanged.connect(self._aimed)
        self.way = QComboBox()
        self.way.setAccessibleName(words.say("better.way"))
        for name in DIRECTIONS:
            self.way.addItem(words.say(f"better.way.{name}"), name)
        self.text = QLineEdit()
        self.text.setMaxLength(4000)
        self.why = QLineEdit()
        self.why.setMaxLength(400)
        self.why.setPlaceholderText(words.say("better.why"))
        self.why.setAccessibleName(words.say("better.why"))
        self.from_here = QCheckBox(words.say("better.from_here"))
        self.from_here.setChecked(True)
        for each in (self.place_note, self.place, self.way, self.text, self.why, self.from_here):
            rows.addWidget(each)
        self.kind.currentIndexChanged.connect(self._chosen)

    def _chosen(self) -> None:
        kind = self.kind.currentData()
        self.place_note.setVisible(self.aims)
        self.place.setVisible(self.aims)
        self.way.setVisible(kind == "scroll")
        self.text.setVisible(kind in WRITTEN)
        self.why.setVisible(kind != NOTHING)
        if kind in WRITTEN:
            self.text.setPlaceholderText(words.say(WRITTEN[kind]))
            self.text.setAccessibleName(words.say(WRITTEN[kind]))
        self.complaint.hide()
        self._aimed()

    def _aimed(self) -> None:
        self.aimed.emit(Point(self.across.value() / 100, self.down.value() / 100) if self.aims else None)

    def _keep(self) -> None:
        if self.kind.currentData() == NOTHING:
            self.kept.emit("", self.from_here.isChecked())
            return
        try:
            action = self.action()
        except InputError as error:
            self._complain(str(error))
            return
        if action is None:
            self._complain(words.say("better.missing"))
            return
        self.kept.emit(reply_of(self._spoken, self.why.text().strip(), action), self.from_here.isChecked())

    def _complain(self, sentence: str) -> None:
        self.complaint.setText(sentence)
        self.complaint.show()


def reply_of(spoken: str, thought: str, action: Action) -> str:
    """The reply with this one action, as a model of the dialect `spoken` writes it."""
    blank = Screenshot(b"", 1000, 1000, Transform("", 0, 0, 1000, 1000))  # places are written in thousandths
    return dialect(spoken).write(thought, [action], blank)


def _percent(name: str) -> QDoubleSpinBox:
    spin = QDoubleSpinBox()
    spin.setRange(0, 100)
    spin.setDecimals(1)
    spin.setSuffix(" %")
    spin.setValue(50)
    spin.setAccessibleName(words.say(name))
    return spin
