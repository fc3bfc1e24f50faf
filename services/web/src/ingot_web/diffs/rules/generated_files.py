"""Generated and vendored files, which pages of changes fold."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

MOST_RULES = 200
"""Of one file of attributes; later ones are ignored."""
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

    ``attributes`` is the file ``.gitattributes`` in the root folder. Its last rule for a path counts.
    """
    rules: list[tuple[list[str], bool]] = []
    for line in attributes.splitlines():
        pattern, *words = line.split()[:20] or [""]
        values = [value for word in words if (value := _value(word)) is not None]
        if values and not pattern.startswith(("#", '"', "!")) and len(rules) < MOST_RULES:
            rules.append((_segments(pattern), any(values)))

    def folds(path: str) -> bool:
        segments = path.split("/")
        for pattern, value in reversed(rules):
            if _matches(pattern, segments):
                return value
        is_usual = segments[-1] in _NAMES or path.endswith(_ENDINGS)
        return is_usual or not _FOLDERS.isdisjoint(segments[:-1])

    return folds


def _value(word: str) -> bool | None:
    """Return the value of an attribute; None for another attribute."""
    name, _, value = word.lstrip("-!").partition("=")
    return (word[0] not in "-!" and value not in _FALSE) if name in _ATTRIBUTES else None


def _segments(pattern: str) -> list[str]:
    """Return the segments of a pattern; a pattern without a folder is for names in all folders."""
    segments = pattern.strip("/").split("/")
    return segments if "/" in pattern.rstrip("/") else ["**", *segments]


def _matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Compare segments; ``**`` stands for any number of them. Linear in the product of both lengths."""
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
