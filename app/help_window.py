"""The pages of help from `assets/help`, in the language of the windows. It opens no links and loads nothing."""

from __future__ import annotations

from PySide6.QtGui import QTextBlockFormat, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QListWidget, QTextBrowser, QWidget

from agent_core import paths
from app import theme, words

PAGES = ("guide", "keyboard", "what-deskhand-asks", "use-ui-tars")


class HelpWindow(QWidget):
    """A list of pages and the one that is read. It begins with `page`."""

    def __init__(self, page: str = "guide", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("window")
        self.setWindowTitle(words.say("help.title"))
        self.resize(820, 680)
        self.list = QListWidget()
        self.list.setAccessibleName(words.say("help.title"))
        self.list.addItems([words.say(f"help.{each}") for each in PAGES])
        self.list.setFixedWidth(180)
        self.page = QTextBrowser()
        self.page.setOpenLinks(False)
        self.page.setOpenExternalLinks(False)
        self.page.document().setDocumentMargin(theme.MARGIN)
        rows = QHBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self.list)
        rows.addWidget(self.page, 1)
        self.list.currentRowChanged.connect(self._show)
        self.list.setCurrentRow(PAGES.index(page))

    def _show(self, row: int) -> None:
        self.page.setAccessibleName(words.say(f"help.{PAGES[row]}"))
        self.page.setMarkdown(page_text(PAGES[row], words.language()))
        self._space_paragraphs()
        self.page.moveCursor(QTextCursor.MoveOperation.Start)

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


def page_text(page: str, language: str) -> str:
    """The page in Markdown; a sentence where the file is missing."""
    file = paths.assets_folder() / "help" / (f"{page}.zh.md" if language == "zh" else f"{page}.md")
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return words.say("help.missing", file=file.name)
