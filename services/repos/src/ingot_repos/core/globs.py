"""Patterns of names of branches and tags: ``release/*``, ``v[0-9]*``, ``{main,next}``.

``*`` and ``?`` stand for characters other than a slash, ``**`` for any, ``[a-z]`` and ``[!a-z]`` for one of a set,
``{a,b}`` for one of the words; a backslash takes the meaning from what follows. The time is in proportion to the
lengths of pattern and name, whatever they are.
"""

from collections.abc import Callable
from functools import lru_cache

import msgspec

MOST_WORDS = 50
"""Patterns that one pattern with braces stands for."""


class InvalidPattern(ValueError):
    """The pattern has an open bracket or brace, or too many words in braces."""


class Token(msgspec.Struct, frozen=True):
    """One character of a name that ``fits``; with ``repeats`` any number of them, also none. ``steps`` is its work."""

    fits: Callable[[str], bool]
    repeats: bool = False
    steps: int = 1


def matches(pattern: str, name: str) -> bool:
    """Whether the pattern stands for the name. Raises InvalidPattern."""
    return any(_fits(tokens, name) for tokens in compile_pattern(pattern))


@lru_cache(maxsize=1000)
def compile_pattern(pattern: str) -> tuple[tuple[Token, ...], ...]:
    """The pattern without braces, once for each of their words. Raises InvalidPattern."""
    return tuple(_tokens(one) for one in _without_braces(pattern))


@lru_cache(maxsize=1000)
def steps(pattern: str) -> int:
    """How many comparisons each character of a name takes at most. Raises InvalidPattern."""
    return sum(_steps(tokens) for tokens in compile_pattern(pattern))


def is_plain(pattern: str) -> bool:
    """Whether the pattern is a name that stands for itself."""
    return not any(char in pattern for char in "*?[]{}\\")


def _without_braces(pattern: str) -> list[str]:
    """The patterns that a pattern with braces stands for; braces within braces are not read."""
    start = _find(pattern, "{", 0)
    if start < 0:
        return [pattern]
    end = _find(pattern, "}", start)
    if end < 0:
        raise InvalidPattern("a brace is not closed")
    rest = _without_braces(pattern[end + 1 :])
    words = pattern[start + 1 : end].split(",")
    if len(words) * len(rest) > MOST_WORDS:
        raise InvalidPattern(f"the braces stand for more than {MOST_WORDS} patterns")
    return [pattern[:start] + word + tail for word in words for tail in rest]


def _find(pattern: str, char: str, start: int) -> int:
    """Where the character stands without a backslash before it; -1: nowhere."""
    position = start
    while position < len(pattern):
        if pattern[position] == "\\":
            position += 1
        elif pattern[position] == char:
            return position
        position += 1
    return -1


def _tokens(pattern: str) -> tuple[Token, ...]:
    tokens: list[Token] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        match char:
            case "*" if pattern.startswith("*", position):
                position += 1
                tokens.append(Token(lambda _: True, repeats=True))
            case "*":
                tokens.append(Token(lambda other: other != "/", repeats=True))
            case "?":
                tokens.append(Token(lambda other: other != "/"))
            case "[":
                end = pattern.find("]", position + 1)
                if end < 0:
                    raise InvalidPattern("a bracket is not closed")
                tokens.append(Token(_set(pattern[position:end]), steps=end - position))
                position = end + 1
            case "\\" if position < len(pattern):
                tokens.append(Token(pattern[position].__eq__))
                position += 1
            case _:
                tokens.append(Token(char.__eq__))
    return tuple(tokens)


def _set(text: str) -> Callable[[str], bool]:
    """One of the characters and ranges of ``text``; with ``!`` or ``^`` before them, none of them."""
    negated = text[0] in "!^"
    text = text[negated:]
    ranges: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        if text[position + 1 : position + 2] == "-" and position + 2 < len(text):
            ranges.append((text[position], text[position + 2]))
            position += 3
        else:
            ranges.append((text[position], text[position]))
            position += 1
    return lambda other: other != "/" and any(low <= other <= high for low, high in ranges) != negated


def _fits(tokens: tuple[Token, ...], name: str) -> bool:
    """Every position in the pattern that the name may have reached is followed at once."""
    positions = _skip(tokens, {0})
    for char in name:
        following = set()
        for position in positions:
            if position < len(tokens) and tokens[position].fits(char):
                following.add(position if tokens[position].repeats else position + 1)
        positions = _skip(tokens, following)
        if not positions:
            return False
    return len(tokens) in positions


def _steps(tokens: tuple[Token, ...]) -> int:
    """Up to the first star one position is followed, then all of them, and the end, at once."""
    star = next((number for number, token in enumerate(tokens) if token.repeats), len(tokens))
    return max(1 + sum(token.steps for token in tokens[star:]), *(token.steps for token in tokens[:star]), 1)


def _skip(tokens: tuple[Token, ...], positions: set[int]) -> set[int]:
    """The positions, and those behind tokens that may stand for nothing."""
    reached: set[int] = set()
    for start in positions:
        position = start
        while position not in reached:  # once for each position, however many stars stand in a row
            reached.add(position)
            if position < len(tokens) and tokens[position].repeats:
                position += 1
    return reached
