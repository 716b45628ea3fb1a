"""The definitions of all numbers, read from docs/definitions.md: its entries by key, as text and as HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

FILE = "definitions.md"
_MARK = "def-"
"""The prefix of anchors, which keeps them apart from others on a page that includes the document."""
_KEYS = re.compile(r"(?:`[^`]+`(?:, )?)+")
_KEYS_AND_TITLE = re.compile(rf"({_KEYS.pattern}) (\*\*[^*]+\*\*)")
_RULE = re.compile(r"\|[-| ]+\|")


@dataclass(frozen=True, slots=True)
class Entry:
    """A paragraph or a table row that defines something.

    Attributes
    ----------
    keys : tuple of str
        The names that it defines; one that ends in ``*`` covers all names that begin so.
    text : str
        The paragraph or row, Markdown.
    section : str
        The heading above it.
    """

    keys: tuple[str, ...]
    text: str
    section: str

    @property
    def anchor(self) -> str:
        """The entry's anchor in `html`."""
        return _MARK + self.keys[0].rstrip("*").rstrip("._")

    @property
    def title(self) -> str:
        """The displayed title: the bold words of a paragraph, the second cell of a row."""
        if self.text.startswith("|"):
            return _unmarked(_cells(self.text)[1])
        bold = re.search(r"\*\*([^*]+)\*\*", self.text)
        return bold[1] if bold else ""

    @property
    def plain(self) -> str:
        """The entry in one line, without Markdown."""
        cells = _cells(self.text) if self.text.startswith("|") else [_title_first(self.text)]
        return ": ".join(_unmarked(cell) for cell in cells if cell)


@cache
def document() -> str:
    """Return the document, Markdown.

    Raises
    ------
    FileNotFoundError
        If it is missing from this installation.
    """
    package = files("viewer")
    for folder in (package / "resources", package / ".." / "docs"):
        if (file := folder / FILE).is_file():
            return file.read_text("utf-8")
    raise FileNotFoundError(f"{FILE} is missing from this installation")


@cache
def entries() -> tuple[Entry, ...]:
    """Return every entry, in the order of the document."""
    result, section = [], ""
    for block in _blocks():
        if block.startswith("#"):
            section = block.lstrip("# ")
        elif keys := _keys(_cells(block)[0] if block.startswith("|") else block):
            result.append(Entry(keys, block, section))
    return tuple(result)


def find(name: str) -> Entry | None:
    """Return the entry of a key, None if the document has none.

    A name with dots (``stalls.share``, ``report.gpus.idle_ns``) is looked up as a whole first, then without
    its first part, and so on down to its last part.
    """
    exact, begins = _index()
    parts = name.split(".")
    for tail in (".".join(parts[first:]) for first in range(len(parts))):
        if tail in exact:
            return exact[tail]
        if (known := next((entry for start, entry in begins if tail.startswith(start)), None)) is not None:
            return known
    return None


def search(name: str) -> tuple[Entry, ...]:
    """Return the entry of a key, else entries with that title, else those whose title or keys contain it."""
    if (entry := find(name) or find(slug(name))) is not None:
        return (entry,)
    wanted = name.casefold()
    if shown := tuple(e for e in entries() if wanted in e.title.casefold().split(", ")):
        return shown
    return tuple(e for e in entries() if wanted in e.title.casefold() or any(wanted in k for k in e.keys))


def slug(title: str) -> str:
    """Return a title in the form of keys: "stalls-by-cause" for "Stalls by cause"."""
    return re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")


def section_anchor(heading: str) -> str:
    """Return the anchor of a heading in `html`."""
    return f"{_MARK}section-{slug(heading)}"


@cache
def html(below: int = 0) -> str:
    """Return the document as HTML, with an anchor at every entry and heading.

    Parameters
    ----------
    below : int
        The level of the heading above the document; its own headings begin one level below.
    """
    made: list[str] = []
    in_table = False
    for block in _blocks():
        is_row = block.startswith("|")
        if is_row and not in_table:
            made.append("<table cellspacing='0' cellpadding='4'>")
        elif in_table and not is_row:
            made.append("</table>")
        starts, in_table = is_row and not in_table, is_row
        if is_row:
            made.append(_row(block, "th" if starts else "td"))
        elif block.startswith("#"):
            level, text = below + block.index(" "), block.lstrip("# ")
            made.append(f"<h{level}>{_anchor(section_anchor(text))}{_inline(text)}</h{level}>")
        else:
            keys = _keys(block)
            anchor = _anchor(Entry(keys, "", "").anchor) if keys else ""
            made.append(f"<p>{anchor}{_inline(_title_first(block))}</p>")
    return "\n".join([*made, *(["</table>"] if in_table else [])])


@cache
def _index() -> tuple[dict[str, Entry], list[tuple[str, Entry]]]:
    """Return the entries by their complete keys, and by the prefixes of keys, longest prefix first."""
    exact: dict[str, Entry] = {}
    begins: list[tuple[str, Entry]] = []
    for entry in entries():
        for key in entry.keys:
            if key.endswith("*"):
                begins.append((key[:-1], entry))
            else:
                exact[key] = entry
    return exact, sorted(begins, key=lambda pair: -len(pair[0]))


def _blocks() -> list[str]:
    """Return headings, paragraphs (each one line) and table rows, without the lines below table headers."""
    blocks: list[str] = []
    for piece in re.split(r"\n\s*\n", document()):
        lines = piece.strip().split("\n")
        if lines[0].startswith(("|", "#")):
            blocks += [line for line in lines if not _RULE.fullmatch(line)]
        else:
            blocks.append(" ".join(line.strip() for line in lines))
    return blocks


def _title_first(text: str) -> str:
    """Return an entry with its title before its keys: readers look for the title."""
    return _KEYS_AND_TITLE.sub(r"\2 [\1]", text, count=1)


def _keys(text: str) -> tuple[str, ...]:
    match = _KEYS.match(text)
    return tuple(re.findall(r"`([^`]+)`", match[0])) if match else ()


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def _row(block: str, tag: str) -> str:
    cells = _cells(block)
    keys = _keys(cells[0]) if tag == "td" else ()
    anchor = _anchor(Entry(keys, "", "").anchor) if keys else ""
    made = "".join(
        f"<{tag} align='left'>{'' if column else anchor}{_inline(cell)}</{tag}>"
        for column, cell in enumerate(cells)
    )
    return f"<tr>{made}</tr>"


def _anchor(name: str) -> str:
    return f'<a id="{escape(name)}" name="{escape(name)}"></a>'


def _inline(text: str) -> str:
    marked = escape(text, quote=False)
    for pattern, tag in ((r"`([^`]+)`", "code"), (r"\*\*([^*]+)\*\*", "b"), (r"(?<!\w)\*([^*]+)\*", "i")):
        marked = re.sub(pattern, rf"<{tag}>\1</{tag}>", marked)
    return marked


def _unmarked(text: str) -> str:
    return re.sub(r"`([^`]+)`|\*\*([^*]+)\*\*|(?<!\w)\*([^*]+)\*", lambda m: m[1] or m[2] or m[3], text)
