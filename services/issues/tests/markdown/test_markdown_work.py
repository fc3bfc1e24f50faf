"""Limits of markdown, for expensive forms of each construct of the dialect and of pairs of them.

Each form of each construct runs in part, and one form of each in the largest size. The seed is today's date.
``INGOT_MARKDOWN=whole`` runs all of them, and that many more pairs. ``INGOT_MARKDOWN_SEED`` repeats the
choice of a day.
"""

import os
import random
import sys
import time
from datetime import UTC, datetime
from itertools import chain

import pytest

from ingot_chassis.lexer import LEXER
from ingot_contracts.testing.worst_markdown import CONSTRUCTS, LARGEST, WORST, interleaved, within
from ingot_issues.markdown.rules.html_cache import LARGEST_SHARE, HtmlCache
from ingot_issues.markdown.rules.rendering import (
    HIGHLIGHT_SECONDS,
    MOST_HTML,
    MOST_NODES,
    PARSER,
    Budget,
    LinkContext,
    RenderedText,
    plain_text,
    rendered,
)
from ingot_issues.markdown.rules.work import TooMuchWork, Work

CONTEXT = LinkContext("http://forge.example.org/", "http://forge.example.org/ann/app/")
WHOLE = os.environ.get("INGOT_MARKDOWN") == "whole"
SEED = os.environ.get("INGOT_MARKDOWN_SEED") or datetime.now(UTC).date().isoformat()
PAIRS, PAIRS_OF_SOAK = 30, 3_000
PART = LARGEST // 16
FORMS = [(name, place) for name, forms in CONSTRUCTS.items() for place in range(len(forms))]
LINES, LINES_OF_CHARACTER = 80, 40
"""Lines of Python that run for a unit of work, and for a character, at most."""
DEARER = 25
"""Times what plain text of the same size costs, at most: 6 were measured."""
PLAIN = ("word and another word of text\n" * LARGEST)[:LARGEST]


def of_the_day(number: int) -> list[tuple[str, int]]:
    """One form of each construct; a number chooses others."""
    choice = random.Random(f"{SEED} {number}")
    return [(name, choice.randrange(len(forms))) for name, forms in CONSTRUCTS.items()]


def checked(text: str) -> RenderedText:
    """The rendering of a text, which stays within each bound."""
    assert len(text) <= LARGEST
    budget = Budget()
    rendering = rendered(text, CONTEXT, None, budget)
    assert len(rendering.html.encode()) <= MOST_HTML
    assert rendering.html.count("<") <= MOST_NODES
    assert rendering.reason or budget.work.left >= 0
    if rendering.reason:
        assert rendering.reason in rendering.html
        assert "<pre>" in rendering.html
    return rendering


def seconds_of(text: str) -> float:
    """CPU time of this process for it."""
    begun = time.process_time()
    checked(text)
    return time.process_time() - begun


def assert_cheap(text: str) -> None:
    """In CPU time, against plain text in the same moment."""
    for _ in range(3):  # another look when something else disturbed it
        plain, seconds = seconds_of(PLAIN), seconds_of(text)
        if seconds < DEARER * plain:
            return
    pytest.fail(f"{seconds:.2f} s, and {plain:.2f} s for plain text")


def test_each_rule_of_the_parser_has_forms():
    rules = {f"{part}.{name}" for part, names in PARSER.get_active_rules().items() for name in names}
    assert rules == {*CONSTRUCTS}
    assert all(CONSTRUCTS.values())


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_each_form_of_a_construct_stays_within_the_bounds(name):
    for form in CONSTRUCTS[name]:
        checked(form(PART))


@pytest.mark.parametrize(("name", "place"), FORMS if WHOLE else of_the_day(0))
def test_a_form_of_the_largest_size_costs_as_plain_text_does(name, place):
    assert_cheap(CONSTRUCTS[name][place](LARGEST))


@pytest.mark.parametrize("name", WORST)
def test_the_worst_texts_cost_as_plain_text_does(name):
    assert_cheap(WORST[name](LARGEST))


@pytest.mark.parametrize("number", range(PAIRS_OF_SOAK if WHOLE else PAIRS))
def test_pairs_of_constructs_stay_within_the_bounds(number):
    choice = random.Random(f"{SEED} pair {number}")
    (one, place), (other, other_place) = choice.sample(FORMS, 2)
    combine = choice.choice([interleaved, within])
    text = combine(CONSTRUCTS[one][place], CONSTRUCTS[other][other_place])
    checked(text(LARGEST if WHOLE else PART))
    if WHOLE:
        assert_cheap(text(LARGEST))


def lines_of(text: str) -> int:
    """Return how many lines of Python run for parsing, including repeated ones of loops."""
    count = 0

    def watch(*_: object) -> object:
        nonlocal count
        count += 1
        return watch

    sys.settrace(watch)
    try:
        plain_text(text, Work(10**9))
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_the_work_of_each_construct_is_counted(name):
    """Whatever a rule does shows in the count: what is not counted has no bound."""
    for place, form in enumerate(CONSTRUCTS[name]):
        text, work = form(1_000), Work(10**9)
        plain_text(text, work)
        assert lines_of(text) < LINES * (10**9 - work.left) + LINES_OF_CHARACTER * len(text) + 5_000, place


def test_the_count_depends_on_the_text_alone():
    counts = set()
    for _ in range(3):
        work = Work()
        plain_text(WORST["brackets"](2_000), work)
        counts.add(work.left)
    assert len(counts) == 1


def test_parsing_stops_where_the_work_ends():
    work = Work(1_000)
    with pytest.raises(TooMuchWork):
        PARSER.parse("*a* " * 10_000, {"work": work})
    assert -100 < work.left < 0


def test_a_text_of_which_nothing_is_special_is_rendered_in_the_largest_size():
    """Prose, a list of links, a table, and code, each of 128 KiB."""
    prose = "The *quick* fox jumps over `code`, and [a link](http://a.b/c) follows.\nAnother line.\n\n"
    links = (
        "- [project/name](https://example.org/project/name) - "
        "A description of what it does, in a few words.\n"
    )
    table = (
        "| a | b |\n|---|---|\n" + "| a name of it | what it does, for people, in some more words |\n" * 3_000
    )
    code = "```\n" + "some code(of, a, file)\n" * 20 + "```\n\nand words about it\n\n"
    for text in (prose * 2_000, links * 2_000, table, code * 500):
        assert checked(text[:LARGEST]).reason == ""


def test_many_different_texts_do_not_defeat_the_cache():
    """The largest HTML is kept, so a page is rendered once, whatever is on it."""
    cache = HtmlCache(MOST_HTML * (LARGEST_SHARE + 1))
    for number, form in enumerate(chain(WORST.values(), (forms[0] for forms in CONSTRUCTS.values()))):
        html = checked(form(PART)).html
        cache.put(html, f"{number}")
        assert cache.get(f"{number}") == html


def test_highlighting_has_a_time_of_its_own(monkeypatch):
    seconds, inner = [], LEXER.tokens

    def tokens(code: str, **options: object) -> object:
        answer = inner(code, **options)
        seconds.append(answer.seconds)
        return answer

    monkeypatch.setattr(LEXER, "tokens", tokens)
    checked(WORST["code in many languages"](LARGEST))
    *others, _last = filter(None, seconds)
    assert sum(others) < HIGHLIGHT_SECONDS
    assert len(seconds) > len(others) + 1, "the blocks after them had no time"
