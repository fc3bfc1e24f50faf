"""Tokens of code from another process: in the time that a caller gives, whatever a text does to a lexer."""

import os
import resource
import signal
from threading import Thread

import pytest

from ingot_chassis import lexer_process
from ingot_chassis.lexer import Lexer, LexerBusy

PYTHON = "def f(): pass\n"
HOSTILE = "a" + " " * 32_700 + "b\n"
"""As INI it takes one match of minutes."""
SECONDS = 0.2


@pytest.fixture
def lexer():
    lexer = Lexer()
    yield lexer
    lexer.close()


def of_children() -> float:
    """Seconds of CPU of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("place", [{"language": "python"}, {"file_name": "setup.py"}])
def test_the_words_of_a_language_are_told_apart(lexer, place):
    answer = lexer.tokens(PYTHON, **place, seconds=10)
    assert answer.tokens[:3] == [("k", "def"), ("w", " "), ("nf", "f")]
    assert "".join(text for _, text in answer.tokens) == PYTHON


@pytest.mark.parametrize(
    ("text", "place", "seconds"),
    [
        (PYTHON, {"language": "no-such-language"}, 10),
        (PYTHON, {"file_name": "README"}, 10),
        (PYTHON, {"language": "python"}, 0),
        ("\ud800", {"language": "no-such-language"}, 10),
    ],
)
def test_some_texts_have_no_tokens(lexer, text, place, seconds):
    assert lexer.tokens(text, **place, seconds=seconds).tokens is None


def test_half_a_character_is_no_failure(lexer):
    assert lexer.tokens("\ud800", language="python", seconds=10).tokens is not None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ini", HOSTILE),
        ("a.mako", "<%def" + "\n" * 32_700),
        ("a.py", "x = 1\n" * 1_000_000),  # many short ones
    ],
)
def test_a_text_costs_no_more_than_its_time(lexer, name, text):
    lexer.tokens(PYTHON, file_name=name, seconds=10)
    before = of_children()
    assert lexer.tokens(text, file_name=name, seconds=SECONDS).tokens is None
    assert lexer.tokens(PYTHON, file_name="a.py", seconds=10).tokens
    lexer.close()
    assert of_children() - before < 10


def test_of_names_of_files_few_are_remembered():
    for number in range(2 * lexer_process.MOST_NAMES):
        lexer_process._class_for_file(f"{number}")
    assert lexer_process._class_for_file.cache_info().currsize == lexer_process.MOST_NAMES


def test_a_process_that_ended_is_started_again(lexer):
    assert lexer.tokens(PYTHON, language="python", seconds=10).tokens
    os.kill(lexer._process.pid, signal.SIGKILL)
    lexer._process.wait()
    assert lexer.tokens(PYTHON, language="python", seconds=10).tokens


def test_it_learns_no_setting_of_the_service(lexer, monkeypatch):
    monkeypatch.setenv("INGOT_SEALING_KEY", "secret")
    lexer.tokens(PYTHON, language="python", seconds=10)
    with open(f"/proc/{lexer._process.pid}/environ", "rb") as environment:  # noqa: PTH123
        assert b"secret" not in environment.read()


def test_a_text_does_not_wait_for_others_for_ever(lexer, monkeypatch):
    monkeypatch.setattr("ingot_chassis.lexer.WAIT_SECONDS", 0.01)
    slow = Thread(target=lexer.tokens, args=(HOSTILE,), kwargs={"language": "ini", "seconds": 1})
    slow.start()
    with pytest.raises(LexerBusy):
        _ask_until_it_ends(slow, lexer)
    slow.join()


def _ask_until_it_ends(thread, lexer):
    while thread.is_alive():
        lexer.tokens(PYTHON, language="python", seconds=10)
