"""Files that are dragged over the window."""

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent

COPY, LEFT, NONE = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def dragged(*paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def test_a_dragged_file_is_named_until_it_leaves(window, tmp_path):
    data = dragged(tmp_path / "a.sqlite")
    window.dragEnterEvent(QDragEnterEvent(QPoint(9, 9), COPY, data, LEFT, NONE))
    assert window.drop_hint.isVisible()
    assert window.drop_hint.text() == "Drop to open a.sqlite"
    window.dragLeaveEvent(QDragLeaveEvent())
    assert not window.drop_hint.isVisible()


def test_of_several_files_one_is_opened_and_the_others_are_counted(window, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(window, "open", opened.append)
    data = dragged(tmp_path / "a.sqlite", tmp_path / "b.sqlite")
    window.dragEnterEvent(QDragEnterEvent(QPoint(9, 9), COPY, data, LEFT, NONE))
    window.dropEvent(QDropEvent(QPointF(9, 9), COPY, data, LEFT, NONE))
    assert opened == [tmp_path / "a.sqlite"]
    assert not window.drop_hint.isVisible()
    assert window.notice.label.text() == "Opening a.sqlite. One trace at a time: the other file is left."


def test_a_drop_is_a_copy_whatever_the_source_proposes(window, tmp_path, monkeypatch):
    monkeypatch.setattr(window, "open", lambda _: None)
    data = dragged(tmp_path / "a.sqlite")
    both = COPY | Qt.DropAction.MoveAction
    for event, handler in (
        (QDragEnterEvent(QPoint(9, 9), both, data, LEFT, NONE), window.dragEnterEvent),
        (QDropEvent(QPointF(9, 9), both, data, LEFT, NONE), window.dropEvent),
    ):
        event.setDropAction(Qt.DropAction.MoveAction)
        handler(event)
        assert event.isAccepted()
        assert event.dropAction() == COPY
