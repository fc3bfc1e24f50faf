"""The properties of a file by the `.editorconfig` files of a commit (EditorConfig specification 0.17).

Pushers write these files and patterns. So they are read from trees, never from the machine's disk. The
parser's input is bounded, and patterns are matched by RE2 in linear time.
"""

import io
from collections import OrderedDict
from collections.abc import Iterator

import pygit2
import re2
from editorconfig.exceptions import ParsingError
from editorconfig.fnmatch import translate
from editorconfig.handler import EditorConfigHandler
from editorconfig.ini import EditorConfigParser
from pygit2.enums import FileMode

from ingot_git.history.commits import find_commit
from ingot_git.process.errors import ObjectNotFound, OutputTooLarge

NAME = ".editorconfig"
MAX_BYTES = 128 * 1024
PROPERTIES = (
    "charset",
    "end_of_line",
    "indent_size",
    "indent_style",
    "insert_final_newline",
    "tab_width",
    "trim_trailing_whitespace",
)
_KEYS = frozenset((*PROPERTIES, "root"))
_LONGEST_OPTION = 255
_LONGEST_SECTION = 1024  # as in the specification
_MOST_BRACES = 32
# Digits of a number in a path: sections are shorter, and Python rejects more than 4,300 digits.
_LONGEST_NUMBER = 1000
_NO_MATCH = "[\0]"  # replaces a rejected section: its options must not join the previous section


def editor_settings(repo: pygit2.Repository, commit: str, path: str) -> dict[str, str]:
    """Return the properties of a file at a commit (full id), except unset properties.

    The file need not exist.

    Raises:
        ObjectNotFound: the commit does not exist, or ``path`` is not a path. Or the folders of the path have
            no `.editorconfig`.
        OutputTooLarge: the `.editorconfig` files have more than 128 KiB together.
    """
    segments = path.split("/")
    if any(segment in ("", ".", "..") or "\0" in segment for segment in segments):
        raise ObjectNotFound("not a path")
    files = list(_files(find_commit(repo, commit).tree, segments[:-1]))
    if not files:
        raise ObjectNotFound(f"there is no {NAME}")
    handler = EditorConfigHandler(f"/{path}")
    for depth, text in reversed(files):
        parser = _Parser("/" + "/".join(segments[depth:]))
        parser.read(text)
        handler.options = OrderedDict({**parser.options, **handler.options})
        if parser.root_file:
            break
    for key, value in list(handler.options.items()):
        if key not in PROPERTIES or value.lower() == "unset":
            del handler.options[key]
    handler.preprocess_values()
    return dict(handler.options)


def _files(root: pygit2.Tree, folders: list[str]) -> Iterator[tuple[int, str]]:
    """Yield depth and text of each `.editorconfig` from the root downwards. Raises OutputTooLarge."""
    left = MAX_BYTES
    tree: pygit2.Object = root
    for depth, folder in enumerate([*folders, ""]):
        if not isinstance(tree, pygit2.Tree):
            return
        if NAME in tree and isinstance(entry := tree / NAME, pygit2.Blob) and entry.filemode != FileMode.LINK:
            left -= entry.size
            if left < 0:
                raise OutputTooLarge(f"{NAME} is too large")
            yield depth, entry.data.decode("utf-8", "replace")
        if folder not in tree:
            return
        tree = tree / folder


class _Parser(EditorConfigParser):
    """Parses one `.editorconfig` for a path that is relative to its folder and begins with `/`."""

    def read(self, text: str) -> None:
        lines = (_bounded(line) for line in text.removeprefix("\ufeff").split("\n"))
        try:
            self._read(io.StringIO("\n".join(filter(None, lines)) + "\n"), NAME)  # type: ignore[arg-type]
        except ParsingError:
            return  # raised at the end of a file with invalid lines; valid lines were read

    def matches_filename(self, _config_filename: str, glob: str) -> bool:
        glob = glob.replace("\\#", "#").replace("\\;", ";")
        pattern, ranges = translate(f"/{glob.removeprefix('/')}" if "/" in glob else f"**/{glob}")
        try:
            match = re2.fullmatch(pattern.removesuffix(r"\Z"), self.filename)
        except re2.error:
            return False
        if match is None:
            return False
        numbers = zip(match.groups(), ranges, strict=True)
        return all(
            number is None
            or (number[0] != "0" and len(number) <= _LONGEST_NUMBER and low <= int(number) <= high)
            for number, (low, high) in numbers
        )


def _bounded(line: str) -> str:
    """Return a line if it is a section or a short known property. Otherwise return an empty line.

    A section that is too long is replaced by a section that matches no file.
    """
    line = line.strip()
    if line.startswith("["):
        return line if len(line) <= _LONGEST_SECTION and line.count("{") <= _MOST_BRACES else _NO_MATCH
    key = line.partition("=")[0].partition(":")[0].strip().lower()
    return line if key in _KEYS and len(line) <= _LONGEST_OPTION else ""
