"""Tokenizes source code in a process that ``lexer`` starts: ``python -m ingot_chassis.lexer_process``.

Lexers are regular expressions. A malicious line can keep some of them busy for hours, and Python cannot
interrupt them. Here the kernel kills the process soon after the text has used its CPU time.
"""

import time
from functools import cache, lru_cache
from typing import Any

import msgspec
from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]

from ingot_chassis.cpu_process import answer_questions, deadline
from ingot_chassis.lexer import Answer, Question

MOST_NAMES = 1000
"""Maximum number of cached languages of file names. Users choose the names, so any number may occur."""
MORE_SECONDS = 0.1
"""Extra seconds of CPU: between two tokens a lexer may load another lexer, for an embedded language."""


def _answer(content: bytes) -> bytes:
    question = msgspec.json.decode(content, type=Question)
    tokens, begun = None, time.process_time()
    try:
        # The first text of a language is slow: loading its lexer does not count as time of the text.
        if (lexer := _lexer(question)) is not None:
            with deadline(question.seconds + MORE_SECONDS):
                tokens = _tokens(lexer, question.text, time.process_time() + question.seconds)
    except Exception:  # noqa: BLE001 - of hundreds of lexers any may fail in any way
        tokens = None
    return msgspec.json.encode(Answer(tokens, time.process_time() - begun))


def _lexer(question: Question) -> Any:
    if not question.file_name:
        return get_lexer_by_name(question.language)
    lexer_class = _class_for_file(question.file_name)
    return lexer_class and lexer_class(stripnl=False, ensurenl=False)


def _tokens(lexer: Any, text: str, end: float) -> list[tuple[str, str]] | None:
    tokens: list[tuple[str, str]] = []
    for token, part in lexer.get_tokens(text):
        if time.process_time() > end:
            return None
        kind = _kind(token)
        if tokens and tokens[-1][0] == kind:
            tokens[-1] = (kind, tokens[-1][1] + part)
        else:
            tokens.append((kind, part))
    return tokens


@lru_cache(maxsize=MOST_NAMES)
def _class_for_file(name: str) -> Any:
    """Return the lexer class for a file name from a cache; None for an unknown type.

    Finding it among all languages takes as long as tokenizing ten lines.
    """
    return find_lexer_class_for_filename(name)


@cache
def _kind(token: Any) -> str:
    while token not in STANDARD_TYPES:
        token = token.parent
    return str(STANDARD_TYPES[token])


if __name__ == "__main__":
    answer_questions(_answer)
