"""Generated and vendored files. Pages of changes fold them."""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

MOST_RULES = 200
"""Maximum number of rules of one attributes file. Later rules are ignored."""
_ATTRIBUTES = ("linguist-generated", "linguist-vendored")
_FALSE = ("false", "0")
_NAMES = frozenset(
    (
        "Cargo.lock",
        "Gemfile.lock",
        "Pipfile.lock",
        "composer.lock",
        "flake.lock",
        "go.sum",
        "package-lock.json",
        "pnpm-lock.yaml",
        "poetry.lock",
        "uv.lock",
        "yarn.lock",
    )
)
_FOLDERS = frozenset({"node_modules", "third_party", "vendor"})
_ENDINGS = (".min.js", ".min.css", ".js.map", ".css.map", ".pb.go", "_pb2.py", "_pb2.pyi")
Folds = Callable[[str], bool]


def folding(attributes: str) -> Folds:
    """Return a function that is true for paths of generated or vendored files.

    ``attributes`` is the file ``.gitattributes`` in the root folder (gitattributes(5)). Its quoted patterns
    are ignored. For each attribute the last rule for a path wins.
    """
    rules: list[tuple[list[str], dict[str, bool | None]]] = []
    for line in attributes.splitlines():
        pattern, *words = line.split()[:20] or [""]
        values = dict(value for word in words if (value := _value(word)) is not None)
        # A pattern with a slash at its end is for folders, which have no attributes.
        is_read = pattern and not pattern.startswith(("#", '"', "!")) and not pattern.endswith("/")
        if values and is_read and len(rules) < MOST_RULES:
            rules.append((_segments(pattern), values))

    def folds(path: str) -> bool:
        segments, decided = path.split("/"), dict[str, bool | None]()
        for pattern, values in rules:
            if _matches(pattern, segments):
                decided |= values
        set_values = [value for value in decided.values() if value is not None]
        if set_values:
            return any(set_values)
        is_usual = segments[-1] in _NAMES or path.endswith(_ENDINGS)
        return is_usual or not _FOLDERS.isdisjoint(segments[:-1])

    return folds


def _value(word: str) -> tuple[str, bool | None] | None:
    """Return an attribute and its value, which is None for a reset attribute.

    Return None for words about other attributes.
    """
    name, _, value = word.lstrip("-!").partition("=")
    if name not in _ATTRIBUTES:
        return None
    return name, None if word[0] == "!" else word[0] != "-" and value not in _FALSE


def _segments(pattern: str) -> list[str]:
    """Return the segments for fnmatch. A pattern without a folder matches names in all folders."""
    own = pattern.removeprefix("/").split("/")
    # At the end ``**`` stands for what is inside, so for one segment at least.
    end = ["*"] if own[-1] == "**" else []
    return ([] if "/" in pattern else ["**"]) + [_for_fnmatch(one) for one in own] + end


def _for_fnmatch(segment: str) -> str:
    """Convert git's escapes and negations to the syntax of Python's fnmatch."""
    return re.sub(r"\\(.)", r"[\1]", segment).replace("[^", "[!")


def _matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """True if the pattern matches the path. ``**`` matches any number of segments.

    The time grows with the product of both lengths.
    """
    reached = {0}
    for segment in pattern:
        if segment == "**":
            reached = set(range(min(reached), len(path) + 1))
        else:
            reached = {
                place + 1 for place in reached if place < len(path) and fnmatchcase(path[place], segment)
            }
        if not reached:
            return False
    return len(path) in reached
