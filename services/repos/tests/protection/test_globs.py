"""Patterns of names of branches and tags."""

import time

import pytest

from ingot_repos.protection.rules import globs


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("main", ["main"], ["Main", "main2", "amain", "ma", ""]),
        ("release/*", ["release/1", "release/"], ["release", "release/1/2", "xrelease/1"]),
        ("release/**", ["release/1", "release/1/2"], ["release"]),
        ("**", ["a", "a/b", ""], []),
        ("v?.?", ["v1.2"], ["v1.", "v1.23", "v/.1"]),
        ("v[0-9]*", ["v1", "v1.2"], ["v", "vx", "v1/2"]),
        ("[!a-c]x", ["dx"], ["ax", "cx", "/x"]),
        ("{main,release/*}", ["main", "release/1"], ["release", "{main"]),
        ("{a,b}{1,2}", ["a1", "a2", "b1", "b2"], ["a", "1", "ab"]),
        (r"a\*b", ["a*b"], ["axb"]),
        (r"\{a,b\}", ["{a,b}"], ["a"]),
        ("*-stable", ["1-stable", "-stable"], ["1/2-stable", "stable"]),
        ("feature/**/x", ["feature/a/x", "feature/a/b/x"], ["feature/x"]),
        ("", [""], ["a"]),
    ],
)
def test_a_pattern_stands_for_its_names_alone(pattern, matching, others):
    assert [globs.matches(pattern, name) for name in matching] == [True] * len(matching)
    assert [globs.matches(pattern, name) for name in others] == [False] * len(others)


@pytest.mark.parametrize("pattern", ["[", "[a", "{a", "a{b,c", "{" + "a," * 50 + "}", "{a,b}" * 6])
def test_a_pattern_that_cannot_be_read_is_refused(pattern):
    with pytest.raises(globs.InvalidPattern):
        globs.matches(pattern, "a")


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        ("main", 1),
        ("docs/**", 2),
        ("*.md", 5),
        ("{a,b}/*x", 6),
        ("v[0-9]", 3),
        ("*[ab]", 4),
        ("*{a,b,c}**d", 15),
    ],
)
def test_the_work_of_a_pattern_is_all_that_follows_its_first_star(pattern, steps):
    assert globs.steps(pattern) == steps


def test_no_pattern_takes_long():
    began = time.process_time()
    for pattern in ("*a" * 120, "**a" * 80, "?*" * 120, "{a*,b*}" * 5 + "*a" * 100):
        globs.matches(pattern, "a" * 255)
    assert time.process_time() - began < 2
