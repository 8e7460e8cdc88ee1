"""The settings form, made from the declarations in `agent_core/settings.py`: a field more there is a row more here.

A search hides what it does not mean. Exported files hold all settings and no secrets; what is imported stands in the
form until it is saved, but for the consent, which is each person's own word.
"""

from __future__ import annotations

from dataclasses import Field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from agent_core import settings as settings_file
from agent_core.errors import SettingsError
from agent_core.settings import Settings
from app import hotkey_keys, setting_inputs, theme, words
from app.tab_order import follow_sight
from app.text import button, label, one_line

CONSENT = "privacy.consent"
FILE = "deskhand-settings.toml"


class SettingsWindow(QWidget):
    """`saved` gives the changed settings; nothing but an export is written here."""

    saved = Signal(object)  # Settings
    help_opened = Signal()

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("settings.title"))
        self.resize(560, 680)
        self._settings = settings
        self.inputs: dict[str, QWidget] = {}
        self.rows: dict[str, _Row] = {}
        self.headings: dict[str, QWidget] = {}
        self.search = QLineEdit()
        self.search.setPlaceholderText(words.say("settings.search"))
        self.search.setAccessibleName(words.say("settings.search"))
        setting_inputs.can_be_cleared(self.search)
        self.search.textChanged.connect(self._find)
        found = QHBoxLayout()
        found.setContentsMargins(theme.MARGIN, 12, theme.MARGIN, theme.GRID)
        found.addWidget(self.search)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 12)
        outer.setSpacing(0)
        outer.addLayout(found)
        outer.addWidget(self._form(), 1)
        outer.addLayout(self._foot())
        self._check_keys()
        follow_sight(self)

    @staticmethod
    def names(settings: Settings) -> list[str]:
        """Every setting as group.name, in the order of the form."""
        return [f"{group.name}.{f.name}" for group in fields(settings) for f in fields(getattr(settings, group.name))]

    def chosen(self) -> Settings:
        """The settings as the form stands."""
        groups = {}
        for group in fields(self._settings):
            values = getattr(self._settings, group.name)
            groups[group.name] = replace(
                values,
                **{f.name: setting_inputs.value_of(self.inputs[f"{group.name}.{f.name}"]) for f in fields(values)},
            )
        return replace(self._settings, **groups)

    def export_to(self, file: str) -> None:
        """Writes the form as it stands into a file of the person's choice."""
        try:
            settings_file.save(self.chosen(), Path(file))
        except SettingsError as error:
            self._say(str(error), "refused")
        else:
            self._say(words.say("settings.exported", file=file))

    def import_from(self, file: str) -> None:
        """Shows the settings of a file in the form."""
        try:
            read = settings_file.read(Path(file))
        except SettingsError as error:
            self._say(str(error), "refused")
            return
        for name, made in self.inputs.items():
            group, field = name.split(".")
            if name != CONSENT:
                setting_inputs.put(made, getattr(getattr(read, group), field))
        self._say(words.say("settings.imported"))

    # -- building --------------------------------------------------------------------------------------------------

    def _form(self) -> QScrollArea:
        page = QWidget()
        page.setObjectName("page")
        rows = QVBoxLayout(page)
        rows.setContentsMargins(theme.MARGIN, theme.GRID, theme.MARGIN, theme.MARGIN)
        rows.setSpacing(12)
        for group in fields(self._settings):
            self.headings[group.name] = label(words.say(f"settings.group.{group.name}"), "heading")
            rows.addWidget(self.headings[group.name])
            if group.name == "safety":
                rows.addWidget(self._help_button(), 0, Qt.AlignmentFlag.AlignLeft)
            values = getattr(self._settings, group.name)
            hints = get_type_hints(type(values))
            for field in fields(values):
                self._add_row(rows, f"{group.name}.{field.name}", field, hints[field.name], getattr(values, field.name))
        self.nothing = label(words.say("settings.nothing"), "secondary")
        self.nothing.hide()
        rows.addWidget(self.nothing)
        rows.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab goes on to what is in it, and scrolls there
        scroll.setWidget(page)
        return scroll

    def _add_row(self, rows: QVBoxLayout, name: str, field: Field[Any], kind: type[Any], value: Any) -> None:
        made = setting_inputs.make(name, kind, value, field)
        group = words.say(f"settings.group.{name.split('.')[0]}")
        self.inputs[name] = made
        self.rows[name] = _Row(made, words.setting(name, field.metadata["help"]), group)
        if isinstance(made, QKeySequenceEdit):
            made.keySequenceChanged.connect(self._check_keys)
        rows.addWidget(self.rows[name])

    def _help_button(self) -> QPushButton:
        self.help_button = button(words.say("settings.help"))
        self.help_button.clicked.connect(self.help_opened)
        return self.help_button

    def _foot(self) -> QVBoxLayout:
        self.note = label(words.say("settings.note"), "secondary")
        self.import_button = button(words.say("settings.import"))
        self.export_button = button(words.say("settings.export"))
        self.cancel_button = button(words.say("settings.cancel"))
        self.save_button = button(words.say("settings.save"), "main")
        self.import_button.clicked.connect(self._choose_import)
        self.export_button.clicked.connect(self._choose_export)
        self.cancel_button.clicked.connect(self.close)
        self.save_button.clicked.connect(self._save)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        row.addWidget(self.import_button)
        row.addWidget(self.export_button)
        row.addStretch(1)
        row.addWidget(self.cancel_button)
        row.addWidget(self.save_button)
        foot = QVBoxLayout()
        foot.setContentsMargins(theme.MARGIN, theme.GRID, theme.MARGIN, 0)
        foot.setSpacing(theme.GRID)
        foot.addWidget(self.note)
        foot.addLayout(row)
        return foot

    # -- small things ----------------------------------------------------------------------------------------------

    def _find(self, text: str) -> None:
        """Shows the rows that hold every word, and the groups that still have a row."""
        wanted = text.lower().split()
        for row in self.rows.values():
            row.setVisible(all(word in row.holds for word in wanted))
        kept = {name.split(".")[0] for name, row in self.rows.items() if not row.isHidden()}
        for group, heading in self.headings.items():
            heading.setVisible(group in kept)
        self.help_button.setVisible("safety" in kept)
        self.nothing.setVisible(not kept)

    def _check_keys(self) -> None:
        """Says beside the keys what is in their way. What another program has taken is only a warning."""
        chosen = {name: setting_inputs.value_of(self.inputs[name]) for name in setting_inputs.KEYS}
        troubles = hotkey_keys.troubles(chosen)
        for name in chosen:
            trouble = troubles.get(name)
            self.rows[name].warn(words.say(f"keys.{trouble}") if trouble else "")
        self.save_button.setEnabled(all(trouble == "taken" for trouble in troubles.values()))
        self.save_button.setToolTip("" if self.save_button.isEnabled() else words.say("keys.first"))

    def _choose_import(self) -> None:
        self._file_dialog(QFileDialog.AcceptMode.AcceptOpen).fileSelected.connect(self.import_from)

    def _choose_export(self) -> None:
        dialog = self._file_dialog(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(FILE)
        dialog.fileSelected.connect(self.export_to)

    def _file_dialog(self, mode: QFileDialog.AcceptMode) -> QFileDialog:
        saving = mode is QFileDialog.AcceptMode.AcceptSave
        dialog = QFileDialog(self, words.say("settings.export" if saving else "settings.import"), str(Path.home()))
        dialog.setAcceptMode(mode)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile if saving else QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilter(words.say("settings.files"))
        dialog.setDefaultSuffix("toml")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()
        return dialog

    def _say(self, sentence: str, role: str = "secondary") -> None:
        self.note.setProperty("role", role)
        self.note.style().polish(self.note)
        self.note.setText(one_line(sentence, 400))

    def _save(self) -> None:
        self.saved.emit(self.chosen())
        self.close()


class _Row(QWidget):
    """One setting: what it is for, its input, and a warning where there is one."""

    def __init__(self, made: QWidget, help_text: str, group: str) -> None:
        super().__init__()
        offered = [made.itemText(n) for n in range(made.count())] if isinstance(made, QComboBox) else []
        self.holds = " ".join([group, help_text, *offered]).lower()
        self._warning = label(role="refused")
        self._warning.hide()
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        if isinstance(made, QCheckBox):
            beside = QHBoxLayout()
            beside.setSpacing(theme.GRID)
            beside.addWidget(made, 0, Qt.AlignmentFlag.AlignTop)
            beside.addWidget(_Words(help_text, made), 1)
            rows.addLayout(beside)
        else:
            said = label(help_text, "secondary")
            said.setBuddy(made)  # of a combo box screen readers say the name only by its label
            rows.addWidget(said)
            rows.addWidget(made)
        rows.addWidget(self._warning)

    @property
    def warning(self) -> str:
        return self._warning.text()

    def warn(self, sentence: str) -> None:
        self._warning.setText(sentence)
        self._warning.setVisible(bool(sentence))


class _Words(QLabel):
    """The words of a check box, which wrap beside it and are as good to click as the box."""

    def __init__(self, text: str, check: QCheckBox) -> None:
        super().__init__(text)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self._check = check

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._check.toggle()
        super().mouseReleaseEvent(event)
