"""Patterns of branch and tag names: ``release/*``, ``v[0-9]*``, ``{main,next}``.

``*`` and ``?`` match characters other than a slash, ``**`` matches any characters. ``[a-z]`` and ``[!a-z]``
match one character in or outside a set. ``{a,b}`` matches one of the words. A backslash escapes the next
character. The time is proportional to the length of the pattern times the length of the name.
"""

from collections.abc import Callable
from functools import lru_cache

import msgspec

MOST_WORDS = 50
"""Limit of patterns after the expansion of braces."""


class InvalidPattern(ValueError):
    """The pattern has an open bracket or brace, or its braces have too many words."""


class Token(msgspec.Struct, frozen=True):
    """A matcher of one character, or of any number of characters if it ``repeats``.

    ``steps`` is the work of one comparison.
    """

    fits: Callable[[str], bool]
    repeats: bool = False
    steps: int = 1


def matches(pattern: str, name: str) -> bool:
    """Return whether the pattern matches the name. Raises InvalidPattern."""
    return any(_fits(tokens, name) for tokens in compile_pattern(pattern))


@lru_cache(maxsize=1000)
def compile_pattern(pattern: str) -> tuple[tuple[Token, ...], ...]:
    """Compile the pattern to tokens, once per combination of words in braces. Raises InvalidPattern."""
    return tuple(_tokens(one) for one in _without_braces(pattern))


@lru_cache(maxsize=1000)
def steps(pattern: str) -> int:
    """Return the maximum number of comparisons per character of a name. Raises InvalidPattern."""
    return sum(_steps(tokens) for tokens in compile_pattern(pattern))


def is_plain(pattern: str) -> bool:
    """Return whether the pattern has no special characters, so it matches only itself."""
    return not any(char in pattern for char in "*?[]{}\\")


def _without_braces(pattern: str) -> list[str]:
    """Expand braces into a list of patterns. Nested braces are not supported."""
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
    """Return the position of the next unescaped ``char``, or -1."""
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
    """Return a matcher for characters and ranges of ``text``. A leading ``!`` or ``^`` negates it."""
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
    """Return whether the tokens match the name. All possible positions are followed in parallel."""
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
    """Return the most comparisons per character: one token before the first star, all tokens after it."""
    star = next((number for number, token in enumerate(tokens) if token.repeats), len(tokens))
    return max(1 + sum(token.steps for token in tokens[star:]), *(token.steps for token in tokens[:star]), 1)


def _skip(tokens: tuple[Token, ...], positions: set[int]) -> set[int]:
    """Return the positions and all later positions that are reachable by skipping repeated tokens."""
    reached: set[int] = set()
    for start in positions:
        position = start
        while position not in reached:  # visit each position once, also after many stars in a row
            reached.add(position)
            if position < len(tokens) and tokens[position].repeats:
                position += 1
    return reached
