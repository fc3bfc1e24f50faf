"""Variables in files that a new repository copies from its template."""

import re
from collections.abc import Callable, Mapping, Sequence

from ingot_git.process.errors import OutputTooLarge
from ingot_repos.protection.rules import globs

MOST_LENGTH = 4096
"""Limit of characters of a variable's value, so a small template cannot become a huge repository."""
LONGEST_PATTERN = 255
MOST_STEPS = 30_000_000
"""Limit of comparisons of characters with patterns: a few seconds of CPU time."""
_NAME = re.compile(r"\$\{?([A-Z_]{3,60})\b\}?")
_WORDS = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])")


def filler(values: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that replaces ``$NAME`` and ``${NAME}`` by their values.

    A suffix selects another form: ``_SNAKE``, ``_KEBAB``, ``_CAMEL``, ``_PASCAL``, ``_LOWER``, ``_UPPER``,
    ``_TITLE``. Unknown names are not replaced.
    """
    forms = {name: text[:MOST_LENGTH] for name, text in values.items()}
    for name, text in list(forms.items()):
        forms |= {f"{name}_{form}": shape(text) for form, shape in _FORMS.items()}
    return lambda text: _NAME.sub(lambda match: forms.get(match[1], match[0]), text)


def filled_paths(patterns: Sequence[str], paths: Sequence[str]) -> set[str]:
    """Return the paths that match a pattern of the template.

    Invalid and very long patterns match nothing. Raises OutputTooLarge if the comparison would take too long.
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
