"""The chat window: status line and mode on top, the turns of the run, the last screenshot, the task at the bottom.

It knows nothing of threads: it is told states, progress and turns, and says what the person wants in signals.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QScrollArea, QToolButton, QVBoxLayout, QWidget

from agent_core.actions import target_of
from agent_core.safety.policy import Mode
from agent_core.settings import Settings
from agent_core.step import Status, Turn
from app import modes, pictures, theme, words
from app.modes import ModeMenu
from app.rating import RatingCard
from app.screenshot_window import ScreenshotWindow
from app.states import State, after
from app.tab_order import follow_sight
from app.task_input import TaskInput
from app.text import button, label, one_line, tool
from app.turn_card import TurnCard, said_card, teaching_card

SIZE = QSize(420, 680)
THUMBNAIL = QSize(388, 150)


class TaskWindow(QWidget):
    """One window, one run at a time."""

    sent = Signal(str)
    added = Signal(str)  # to the task of the run that is paused, which goes on with it
    paused = Signal(bool)
    stopped = Signal()
    mode_chosen = Signal(str)
    history_opened = Signal()
    settings_opened = Signal()
    closing = Signal()
    rated = Signal(bool)

    def __init__(self, settings: Settings) -> None:
        super().__init__(None)
        self.setObjectName("window")
        self.setWindowTitle(words.say("task.title"))
        self.setWindowIcon(pictures.program_icon())
        self.resize(SIZE)
        self.setMinimumSize(400, 480)
        self._state = State.IDLE
        self._shown_shot: ScreenshotWindow | None = None
        self._keeps = False
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self._top())
        rows.addWidget(self._middle(), 1)
        rows.addWidget(self._bottom(settings.ui.send_with_enter))
        self._add(teaching_card(self._take_example))
        self.use(settings)
        self.show_mode(modes.named(settings.safety.mode), modes.named(settings.safety.mode))
        self.show_state(State.IDLE)

    # -- what it is told -------------------------------------------------------------------------------------------

    def begin(self, task: str, recording: bool) -> None:
        """A run starts: the cards of the last one make room for it."""
        self._clear()
        self._add(said_card(words.say("task.you"), task))
        self.live.setText(words.say("stage.starting"))
        self.live.show()
        self.recording.setVisible(recording)
        self.input.clear()
        self.picture.hide()
        self.caption.hide()

    def progress(self, text: str) -> None:
        """The words that move while a turn is under way."""
        self.live.setText(one_line(text, 300))

    def add_turn(self, turn: Turn) -> None:
        card = TurnCard(turn)
        card.opened.connect(self._open_screenshot)
        self._add(card)
        at = next((p for s in turn.steps if (p := target_of(s.action)) is not None), None)
        self.picture.setPixmap(pictures.thumbnail(turn.screenshot, at, THUMBNAIL))
        self.picture.show()
        self.caption.show()

    def end(self, status: Status, sentence: str) -> None:
        """The last cards: how the run ended, in a sentence, and of one that was kept whether its task was done."""
        self.live.hide()
        kept = not self.recording.isHidden()
        self.recording.hide()
        self._offer_keeping()  # the next run is kept or not as the settings say
        role = {State.IDLE: "allowed", State.ERROR: "refused"}.get(after(status), "asking")
        self._add(said_card(words.say(f"status.{status.value}"), sentence, role))
        if kept:
            self._add(RatingCard(self.rated))

    def show_state(self, state: State) -> None:
        self._state = state
        self.dot.setPixmap(pictures.icon(state).pixmap(QSize(18, 18)))
        self.status.setText(words.say(f"state.{state.value}"))
        self.dot.setAccessibleName(self.status.text())
        busy, shut = state.busy, state.busy and state is not State.PAUSED
        self.send_button.setText(words.say("task.add" if busy else "task.send"))
        for each, seen in ((self.send_button, not shut), (self.pause_button, busy), (self.stop_button, busy)):
            each.setVisible(seen)
        self.keep.setVisible(not busy)  # whether a run is kept is settled before it begins
        self.pause_button.setText(words.say("task.resume" if state is State.PAUSED else "task.pause"))
        self.input.setReadOnly(shut)
        rest = "_busy" if shut else "_paused" if busy else ""
        self.input.setPlaceholderText(words.say(f"task.placeholder{rest}"))
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, busy)
        handle = self.windowHandle()
        if handle is not None:  # while a run acts, a click in here must not take the keyboard from the program in use
            handle.setFlag(Qt.WindowType.WindowDoesNotAcceptFocus, shut)
        self._name_send()

    def show_mode(self, now: Mode, chosen: Mode) -> None:
        """The mode that holds now, and the one in the settings, which holds from the next run on."""
        self.mode.setText(f"{modes.say(now)}  ▾")
        self.mode.setToolTip(words.say("mode.tip") if now == chosen else self._next(chosen))
        self.mode.setAccessibleName(words.say("mode.now", mode=modes.say(now)))
        self.mode_menu.tick(chosen)
        self.next_mode.setText(self._next(chosen))
        self.next_mode.setVisible(now != chosen)

    def use(self, settings: Settings) -> None:
        """Takes over changed settings."""
        self.input.send_with_enter = settings.ui.send_with_enter
        self._keeps = settings.privacy.consent == "yes"
        self._offer_keeping()

    def move_to_edge(self) -> None:
        """The first place: at the right edge of the screen."""
        area = QGuiApplication.primaryScreen().availableGeometry()
        self.move(area.right() - SIZE.width() - 4 * theme.MARGIN, area.top() + 2 * theme.MARGIN)

    def show_without_focus(self) -> None:
        """Shows the window on top and leaves the keyboard where it is."""
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, True)
        self.show()
        self.raise_()
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, False)

    def complain(self, sentence: str) -> None:
        """A sentence about something that did not work outside a run."""
        self._add(said_card(words.say("state.error"), sentence, "refused"))

    def remark(self, sentence: str) -> None:
        """Something the person should know that stops nothing."""
        self._add(said_card(words.say("run.notice"), sentence, "asking"))

    # -- Qt's events -----------------------------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()
        self.closing.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.show_state(self._state)

    # -- building --------------------------------------------------------------------------------------------------

    def _top(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("bar")
        row = QHBoxLayout(bar)
        row.setContentsMargins(theme.MARGIN, theme.GRID, theme.GRID, theme.GRID)
        row.setSpacing(theme.GRID // 2)
        self.dot = QLabel()
        self.status = label(role="state", wrap=False)
        self.recording = label("●", "refused", wrap=False)
        self.recording.setToolTip(words.say("recording"))
        self.recording.setAccessibleName(words.say("recording"))
        self.recording.hide()
        self.mode = QToolButton()
        self.mode.setProperty("role", "chip")
        self.mode_menu = ModeMenu(self.mode)
        self.mode_menu.chosen.connect(self.mode_chosen)
        self.mode.clicked.connect(self._open_modes)
        self.history_button = tool("☰", words.say("task.history"))
        self.settings_button = tool("⚙", words.say("task.settings"))
        self.history_button.clicked.connect(self.history_opened)
        self.settings_button.clicked.connect(self.settings_opened)
        for said in (self.dot, self.status, self.recording):
            row.addWidget(said)
        row.addStretch(1)
        for pressed in (self.mode, self.history_button, self.settings_button):
            row.addWidget(pressed)
        return bar

    def _middle(self) -> QScrollArea:
        page = QWidget()
        page.setObjectName("page")
        self.cards = QVBoxLayout(page)
        self.cards.setContentsMargins(theme.MARGIN, 12, theme.MARGIN, 12)
        self.cards.setSpacing(theme.CARD_GAP)
        self.live = label(role="secondary")
        self.live.hide()
        self.cards.addWidget(self.live)
        self.cards.addStretch(1)
        self.turns = QScrollArea()
        self.turns.setWidgetResizable(True)
        self.turns.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.turns.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.turns.setWidget(page)
        self.turns.verticalScrollBar().rangeChanged.connect(self._to_end)
        return self.turns

    def _bottom(self, send_with_enter: bool) -> QFrame:
        foot = QFrame()
        foot.setObjectName("foot")
        rows = QVBoxLayout(foot)
        rows.setContentsMargins(theme.MARGIN, theme.GRID, theme.MARGIN, 12)
        rows.setSpacing(theme.GRID)
        self.next_mode = label(role="secondary")
        self.next_mode.hide()
        self.picture = QLabel()
        self.picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.picture.hide()
        self.caption = label(words.say("shot.caption"), "secondary")
        self.picture.setAccessibleName(self.caption.text())
        self.caption.hide()
        self.input = TaskInput(send_with_enter)
        self.input.sent.connect(self._send)
        self.input.textChanged.connect(self._name_send)
        self.send_button = button(words.say("task.send"), "main")
        self.pause_button = button(words.say("task.pause"))
        self.stop_button = button(words.say("task.stop"), "stop")
        self.send_button.clicked.connect(self._send)
        self.pause_button.clicked.connect(self._pause)
        self.stop_button.clicked.connect(self.stopped)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        self.keep = QCheckBox(words.say("task.keep"))
        row.addWidget(self.keep)
        row.addStretch(1)
        for each in (self.pause_button, self.stop_button, self.send_button):
            row.addWidget(each)
        for part in (self.picture, self.caption, self.next_mode, self.input):
            rows.addWidget(part)
        rows.addLayout(row)
        return foot

    # -- small things ----------------------------------------------------------------------------------------------

    def _add(self, card: QWidget) -> None:
        self.cards.insertWidget(self.cards.indexOf(self.live), card)
        follow_sight(self)

    def _clear(self) -> None:
        while (item := self.cards.itemAt(0)) is not None and item.widget() is not self.live:
            self.cards.takeAt(0)
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()

    def _to_end(self) -> None:
        """Keeps the newest in sight when the cards have grown."""
        bar = self.turns.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _send(self) -> None:
        text = self.input.toPlainText().strip()
        if text and not self._state.busy:
            self.sent.emit(text)
        elif text and self._state is State.PAUSED:
            self.input.clear()
            self._add(said_card(words.say("task.you_add"), text))
            self.added.emit(text)
            self.paused.emit(False)

    def _pause(self) -> None:
        self.paused.emit(self._state is not State.PAUSED)

    def _name_send(self) -> None:
        self.send_button.setEnabled(bool(self.input.toPlainText().strip()))

    def _offer_keeping(self) -> None:
        self.keep.setEnabled(self._keeps)
        self.keep.setChecked(self._keeps)
        self.keep.setToolTip(words.say("task.keep_tip" if self._keeps else "task.keep_off"))

    def _open_modes(self) -> None:
        self.mode_menu.popup(self.mode.mapToGlobal(self.mode.rect().bottomLeft()))

    def _next(self, mode: Mode) -> str:
        return words.say("mode.next", mode=modes.say(mode))

    def _take_example(self) -> None:
        self.input.setPlainText(words.say("task.example"))
        self.input.setFocus()

    def _open_screenshot(self, turn: Turn) -> None:
        self._shown_shot = ScreenshotWindow(turn)
        self._shown_shot.show()
