"""Fills the names of a new repository into files that were copied from its template."""

import re
from collections.abc import Callable, Mapping, Sequence

from ingot_repos.core import globs
from ingot_repos.git.errors import OutputTooLarge

MOST_LENGTH = 4096
"""Of a text that is filled in, so that a small template does not become a huge repository."""
LONGEST_PATTERN = 255
MOST_STEPS = 30_000_000
"""Comparisons of characters with patterns: some seconds."""
_NAME = re.compile(r"\$\{?([A-Z_]{3,60})\b\}?")
_WORDS = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])")


def filler(values: Mapping[str, str]) -> Callable[[str], str]:
    """What replaces ``$NAME`` and ``${NAME}`` by the value of that name.

    With an ending the name has another form: ``_SNAKE``, ``_KEBAB``, ``_CAMEL``, ``_PASCAL``, ``_LOWER``, ``_UPPER``,
    ``_TITLE``. What is no name of a value stays.
    """
    forms = {name: text[:MOST_LENGTH] for name, text in values.items()}
    for name, text in list(forms.items()):
        forms |= {f"{name}_{form}": shape(text) for form, shape in _FORMS.items()}
    return lambda text: _NAME.sub(lambda match: forms.get(match[1], match[0]), text)


def filled_paths(patterns: Sequence[str], paths: Sequence[str]) -> set[str]:
    """The paths for which one of the patterns of a template stands. One that cannot be read, or is very long, stands for none.

    Raises OutputTooLarge when they take too long to compare.
    """
    readable = [pattern for pattern in patterns if len(pattern) <= LONGEST_PATTERN and _is_readable(pattern)]
    if sum(map(globs.steps, readable)) * sum(map(len, paths)) > MOST_STEPS:
        raise OutputTooLarge("the template has too many patterns for its files")
    return {path for pattern in readable for path in paths if globs.matches(pattern, path)}


def _is_readable(pattern: str) -> bool:
    try:
        globs.compile_pattern(pattern)
    except globs.InvalidPattern:
        return False
    return True


def _words(text: str) -> list[str]:
    return [word for word in _WORDS.split(text) if word]


_FORMS: dict[str, Callable[[str], str]] = {
    "SNAKE": lambda text: "_".join(_words(text)).lower(),
    "KEBAB": lambda text: "-".join(_words(text)).lower(),
    "CAMEL": lambda text: _lower_first("".join(word.capitalize() for word in _words(text))),
    "PASCAL": lambda text: "".join(word.capitalize() for word in _words(text)),
    "LOWER": str.lower,
    "UPPER": str.upper,
    "TITLE": str.title,
}


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
