"""The words of Qt's own parts, its file dialogs and the menus of text fields, in the language of the windows."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QTranslator
from PySide6.QtWidgets import QApplication

from app import words


def install(app: QApplication) -> QTranslator | None:
    """To be called once, when the language is chosen. None where Qt speaks English already or has no Chinese here."""
    if words.language() == "en":
        return None
    translator = QTranslator(app)
    if not translator.load("qtbase_zh_CN", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
        return None
    app.installTranslator(translator)
    return translator
