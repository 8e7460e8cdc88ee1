"""A page of help from `assets/help`, in the language of the windows. It opens no links and loads nothing."""

from __future__ import annotations

from PySide6.QtGui import QTextBlockFormat, QTextCursor
from PySide6.QtWidgets import QTextBrowser, QVBoxLayout, QWidget

from agent_core import paths
from app import theme, words

PAGE = "what-deskhand-asks"


class HelpWindow(QWidget):
    """One page, read only."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("settings.help"))
        self.resize(640, 680)
        self.page = QTextBrowser()
        self.page.setOpenLinks(False)
        self.page.setOpenExternalLinks(False)
        self.page.setAccessibleName(words.say("settings.help"))
        self.page.document().setDocumentMargin(theme.MARGIN)
        self.page.setMarkdown(page_text(words.language()))
        self._space_paragraphs()
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.addWidget(self.page)

    def _space_paragraphs(self) -> None:
        """Markdown comes without room between its paragraphs; those in tables need none."""
        cursor = QTextCursor(self.page.document())
        room = QTextBlockFormat()
        room.setBottomMargin(theme.GRID)
        while not cursor.atEnd():
            if cursor.currentTable() is None:
                cursor.mergeBlockFormat(room)
            if not cursor.movePosition(QTextCursor.MoveOperation.NextBlock):
                break
        cursor.mergeBlockFormat(room)


def page_text(language: str) -> str:
    """The page in Markdown; a sentence where the file is missing."""
    file = paths.assets_folder() / "help" / (f"{PAGE}.zh.md" if language == "zh" else f"{PAGE}.md")
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return words.say("help.missing", file=file.name)
