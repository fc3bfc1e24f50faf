"""Tells the words of code apart, text after text, in a process that ``lexer`` starts: ``python -m ingot_chassis.lexer_process``.

Lexers are regular expressions, some of which need hours for a line made for it, and nothing in the process that runs
one can end it. Here the system ends the process, some time after the text had its own.
"""

import resource
import signal
import sys
import time
from functools import cache, lru_cache
from typing import Any, BinaryIO

import msgspec
from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]

from ingot_chassis.lexer import LENGTH_BYTES, Answer, Question

MOST_MEMORY = 1 << 30
"""Bytes of addresses."""
MOST_NAMES = 1000
"""Of files whose language is remembered: people give them, so there is no end of them."""
MORE_SECONDS = 0.5
"""CPU time for what was not foreseen: between two tokens a lexer may load another one, for a language inside its own."""


def main() -> None:
    """Answer questions on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes at once
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while question := _read(questions):
        answer = msgspec.json.encode(_answer(question))
        answers.write(len(answer).to_bytes(LENGTH_BYTES) + answer)
        answers.flush()


def _read(stream: BinaryIO) -> Question | None:
    size = stream.read(LENGTH_BYTES)
    return msgspec.json.decode(stream.read(int.from_bytes(size)), type=Question) if size else None


def _answer(question: Question) -> Answer:
    tokens, begun = None, time.process_time()
    try:
        lexer = _lexer(
            question
        )  # the first of a language is dear, and whoever brings it shall not pay for it
        if lexer is not None:
            begun = time.process_time()
            signal.setitimer(
                signal.ITIMER_PROF, question.seconds + MORE_SECONDS
            )  # whose signal ends the process
            tokens = _tokens(lexer, question.text, begun + question.seconds)
    except Exception:  # noqa: BLE001 - of hundreds of lexers any may fail in any way
        tokens = None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Answer(tokens, time.process_time() - begun)


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
    """To look it up among all languages takes as long as to read ten lines."""
    return find_lexer_class_for_filename(name)


@cache
def _kind(token: Any) -> str:
    while token not in STANDARD_TYPES:
        token = token.parent
    return str(STANDARD_TYPES[token])


if __name__ == "__main__":
    main()
