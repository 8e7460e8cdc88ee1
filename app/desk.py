"""Where the signals of the agent's thread meet the windows: one object in the UI thread that knows who does what when.

While a run acts the task window is out of the way and the strip stays in sight; the window comes back when the run ends
or when the person opens it. It is never hidden to nowhere: without a tray, closing it in an idle program quits.
"""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication

from agent_core import settings as settings_file
from agent_core.actions import Action, target_of
from agent_core.errors import SettingsError, TaskError
from agent_core.loop import Progress, check_task
from agent_core.settings import Settings
from agent_core.step import Run, Screenshot, Status
from app import modes, states, theme, words
from app.agent_thread import Agent, Ending, Job
from app.aside import AWAY_MS, Aside
from app.asked import Asked
from app.other_windows import OtherWindows
from app.overlay import Overlay
from app.panel import on_screen
from app.past_tasks import PastTasks
from app.question import Approval, Call
from app.remembered import Remembered
from app.states import Stage, State
from app.strip import Strip
from app.task_window import TaskWindow
from app.trace_window import Replay
from app.tray import Tray

TICK_MS = 200


class Desk(QObject):
    """The whole program but its start: made with an agent whose thread is not running yet."""

    quit = Signal()
    settings_changed = Signal(object, object)  # Settings before and now

    def __init__(self, agent: Agent, settings: Settings, replay: Replay, tray: Tray) -> None:
        super().__init__()
        self.agent, self.settings, self.tray = agent, settings, tray
        self._replay = replay
        self.remembered = Remembered()
        self.window = TaskWindow(settings)
        self._aside, self._past = Aside(self.window, agent, self), PastTasks(self.window, self)
        self.strip = Strip()
        self.asked = Asked()
        self.overlay = Overlay()
        self.others = OtherWindows()
        self.state = State.IDLE
        self.mode = modes.named(settings.safety.mode)  # what holds now: the run's while one is under way
        self._stage = Stage()
        self._stopping = self._taken = False
        self._job = Job("", settings)
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.timeout.connect(self._say_progress)
        self._connect()
        self._show_mode()
        if not self.remembered.put_back("task", self.window):
            self.window.move_to_edge()
        self.window.input.setPlainText(self.remembered.get("draft"))

    def open(self, in_tray: bool = False) -> None:
        """Starts the agent's thread and shows the task window, unless it may wait in a tray that is there."""
        self.agent.open(self.settings)
        if not (in_tray and self.tray.present):
            self.show_window()

    def close(self) -> None:
        """Stops everything. What was typed and where the window was is kept."""
        self.remembered.keep_place("task", self.window)
        self.remembered.set("draft", self.window.input.toPlainText())
        self.asked.withdraw()
        self.agent.close()
        self.tray.close()
        for window in (self.window, self.strip, self.overlay, self.others):
            window.hide()

    # -- what the person wants ---------------------------------------------------------------------------------------

    def show_window(self) -> None:
        self.window.show()
        self.window.setWindowState(self.window.windowState() & ~Qt.WindowState.WindowMinimized)
        self.window.raise_()
        if not self.state.busy or self.state is State.PAUSED:
            self.window.activateWindow()
            self.window.input.setFocus()

    def rung(self, task: str) -> None:
        """A second start: come to the front, with its task as a draft."""
        if task and not self.state.busy:
            self.window.input.setPlainText(task)
        self.show_window()

    def start(self, task: str) -> None:
        """Starts a run, after asking once whether runs may be kept."""
        if self.state.busy:
            return
        try:
            self._job = Job(check_task(task), self.settings)
        except TaskError as error:
            self.window.complain(str(error))
            return
        if self.settings.privacy.consent == "unasked":
            self.others.consent().answered.connect(self._consented)
        else:
            self._begin()

    def stop(self) -> None:
        if not self.state.busy or self._stopping:
            return
        self._stopping = True
        self.agent.stop()
        self.asked.withdraw()
        self._say_progress()

    def pause(self, wanted: bool) -> None:
        if self.state.busy and not self._stopping:
            self._taken = False
            self._aside.pause(wanted)
            self._show(State.PAUSED if wanted else State.RUNNING)
            self._say_progress()

    def toggle_pause(self) -> None:
        self.pause(self.state is not State.PAUSED)

    def choose_mode(self, mode: str) -> None:
        """From the next run on; a stricter mode holds for the run under way as well."""
        self.save(replace(self.settings, safety=replace(self.settings.safety, mode=mode)))

    def closing(self) -> None:
        """The task window's close button: into the tray, or onto the strip, or the end; never to nowhere."""
        if self.tray.present or self.state.busy:
            self.window.hide()
        else:
            self.quit.emit()

    def _tray_lost(self) -> None:
        """What was hidden into the tray comes out when the tray goes away."""
        if not self.state.busy and not self.window.isVisible():
            self.window.show_without_focus()

    def show_settings(self) -> None:
        self.others.settings(self.settings).saved.connect(self.save)

    def show_history(self) -> None:
        self.others.history(self._replay, self.settings.privacy.consent == "yes")

    def crashed(self, file: str) -> None:
        self.others.crash(file)

    # -- what the agent says -----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._stopping = self._taken = False
        self.settings = settings_file.with_adapter_of_file(self.settings)
        keep = self.window.keep.isChecked()
        self._job = replace(self._job, settings=self.settings, consent="settings" if keep else "")
        self._stage = Stage()
        self.remembered.set("draft", "")
        self._show(State.RUNNING)
        self.window.begin(self._job.task, keep)
        self._tick.start()
        self.window.hide()
        self.strip.show_in_corner()
        self._say_progress()
        QTimer.singleShot(AWAY_MS, self._hand_in)

    def _hand_in(self) -> None:
        if self._stopping:
            self._ended(Ending(Status.STOPPED, words.say("run.stopped_early")))
            return
        self.asked.devices_only = self._job.settings.safety.only_real_input
        self.agent.start(self._job)

    def _prepared(self, fraction: float) -> None:
        text = words.say("stage.preparing", percent=round(fraction * 100))
        self.window.progress(text)
        self.strip.say(self.state, text)

    def _began(self, run: Run) -> None:
        self.window.recording.setVisible(bool(run.consent))

    def _progressed(self, progress: Progress) -> None:
        self._stage.move_to(progress)
        paused = self.agent.paused.is_set() and progress.stage != "asking"
        self._show(State.PAUSED if paused else states.while_running(progress))
        self._say_progress()

    def _asked(self, question: Approval) -> None:
        self._show(State.WAITING)
        self.asked.ask(question)

    def _called(self, call: Call) -> None:
        self._show(State.WAITING)
        self.asked.put(call)

    def _taken_over(self) -> None:
        """The person moved the mouse, and the run waits until they say that it may go on."""
        if self.state.busy and not self._stopping:
            self._taken = True
            self._show(State.PAUSED)
            self._say_progress()

    def _acts(self, action: Action, shot: Screenshot) -> None:
        if (place := on_screen(shot, target_of(action))) is not None:
            self.overlay.show_at(place)

    def _ended(self, end: Ending) -> None:
        self._tick.stop()
        self.asked.withdraw()
        self.overlay.hide()
        self.strip.hide()
        self.window.end(end.status, end.sentence)
        self._show(states.after(end.status))
        self.mode = modes.named(self.settings.safety.mode)
        self._show_mode()
        self.window.show_without_focus()  # the keyboard stays where the person is
        if end.crash:
            self.crashed(end.crash)

    # -- small things ------------------------------------------------------------------------------------------------

    def _show(self, state: State) -> None:
        self.state = state
        self.tray.show_state(state)
        self.window.show_state(state)

    def _say_progress(self) -> None:
        text = states.in_words(self.state, self._stage, self._stopping, self._taken)
        self.window.progress(text)
        self.strip.say(self.state, text)

    def _show_mode(self) -> None:
        for shown in (self.window, self.tray):
            shown.show_mode(self.mode, modes.named(self.settings.safety.mode))
        self.strip.show_mode(self.mode)

    def _consented(self, word: str) -> None:
        if word != "unasked":
            self.save(replace(self.settings, privacy=replace(self.settings.privacy, consent=word)))
        self._begin()

    def save(self, changed: Settings) -> None:
        changed = settings_file.with_adapter_of_file(changed, self.settings)
        looks = (changed.ui.theme, changed.ui.language) != (self.settings.ui.theme, self.settings.ui.language)
        before, self.settings = self.settings, changed
        self.window.use(changed)
        chosen = modes.named(changed.safety.mode)
        if not self.state.busy or modes.is_stricter(chosen, self.mode):
            self.mode = chosen
            self.agent.stricter(chosen)
        self._show_mode()
        words.choose(changed.ui.language)
        if looks and isinstance(app := QApplication.instance(), QApplication):
            theme.apply(app, changed.ui.theme)
        try:
            settings_file.save(changed)
        except SettingsError as error:
            self.window.complain(str(error))
        self.settings_changed.emit(before, changed)

    def _connect(self) -> None:
        agent, window, tray = self.agent, self.window, self.tray
        agent.prepared.connect(self._prepared)
        agent.noticed.connect(window.remark)
        agent.began.connect(self._began)
        agent.progressed.connect(self._progressed)
        agent.turned.connect(window.add_turn)
        agent.approval_asked.connect(self._asked)
        agent.called.connect(self._called)
        agent.acts.connect(self._acts)
        agent.took_over.connect(self._taken_over)
        agent.ended.connect(self._ended)
        window.sent.connect(self.start)
        window.added.connect(agent.add)
        window.closing.connect(self.closing)
        window.rated.connect(agent.rate)
        self.strip.opened.connect(self.show_window)
        for pauser in (window, self.strip):
            pauser.paused.connect(self.pause)
        for stopper in (window, self.strip, self.asked, tray):
            stopper.stopped.connect(self.stop)
        tray.opened.connect(self.show_window)
        tray.pause_toggled.connect(self.toggle_pause)
        for opener in (window, tray):
            opener.history_opened.connect(self.show_history)
            opener.settings_opened.connect(self.show_settings)
            opener.mode_chosen.connect(self.choose_mode)
        self.others.open_from(tray)
        tray.quit_chosen.connect(self.quit)
        tray.lost.connect(self._tray_lost)
