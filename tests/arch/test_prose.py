"""Pages, docstrings and comments keep the mechanical rules of style. Old exceptions may only become fewer."""

import pytest

from .prose import allowances, counts, markdown, python, violations
from .sources import tracked

LONG = "One two three four five six seven eight nine ten, " * 2
CURE = "python tests/arch/prose.py FOLDER prints them, --lower writes smaller counts into prose.txt"


@pytest.fixture(scope="module")
def present():
    """The counts of all folders."""
    return counts(violations(tracked()))


def test_no_folder_has_more_findings_than_before(present):
    assert len(present) + len(allowances()) > 0
    assert not present - allowances(), CURE


def test_the_table_is_lowered_with_the_findings(present):
    assert not allowances() - present, CURE


@pytest.mark.parametrize(
    ("page", "rules"),
    [
        ("It waits in vain.", ["banned-word"]),
        (LONG + "eleven.", ["long-sentence"]),
        (LONG + "`eleven`.", ["long-sentence"]),
        ("x " * 60, ["long-line", "long-sentence"]),
        ("Short.\nBut: " + LONG + "eleven.", ["long-line", "long-sentence"]),
        ("| a cell that waits anew | " + "x. " * 40 + " |", ["banned-word"]),
        ("- A list,\n- anew\n\n```sh\nanew\n```", ["banned-word"]),
        ("- [link](http://" + "x" * 120 + ")", []),
        ("Words in `anew` and\n<!--\nanew\n-->\ncomments are not counted.", []),
        ("What a page says.", []),
        (
            (
                "**Bold ends here.** One two three four five six seven eight nine ten on port 22. Eleven is "
                "one more."
            ),
            [],
        ),
    ],
)
def test_a_page_that_breaks_a_rule_is_found(page, rules):
    assert sorted(rule for _, rule, _ in markdown(page)) == sorted(rules)


@pytest.mark.parametrize(
    ("source", "rules"),
    [
        ('"""What it is."""', ["first-word"]),
        ('class A:\n    """Whether it is."""\n    b = 1\n    """Who calls."""', ["first-word", "first-word"]),
        ('def a():\n    """Return it anew."""', ["banned-word"]),
        (f'def a():\n    """{LONG}\n\n    eleven."""', []),
        (f'def a():\n    """{LONG}\n    eleven."""', ["long-sentence"]),
        ("a = 1  # nobody\n# so\n# that it is\n", ["banned-word", "banned-word"]),
        ("a = '" + "x " * 60 + "'", ["long-line"]),
        ('def a():\n    """Return it::\n\n        anew\n    """', []),
        ("a = 'anew'  # noqa: anew", []),
        ('"""Whatever it is."""', []),
    ],
)
def test_a_module_that_breaks_a_rule_is_found(source, rules):
    assert sorted(rule for _, rule, _ in python(source)) == sorted(rules)
