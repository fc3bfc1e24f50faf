"""Generated and vendored files of a diff."""

import pytest

from ingot_web.diffs.rules.generated_files import MOST_RULES, folding
from ingot_web.diffs.rules.parsing import parse

from .test_changes import added


@pytest.mark.parametrize(
    ("attributes", "path", "is_folded"),
    [
        ("", "src/a.py", False),
        ("", "package-lock.json", True),
        ("", "web/node_modules/x/index.js", True),
        ("", "node_modules", False),
        ("*.gen.py linguist-generated", "a/b/x.gen.py", True),
        ("*.gen.py linguist-generated=true", "x.gen.py", True),
        ("*.gen.py text eol=lf", "x.gen.py", False),
        ("api/*.py linguist-generated", "api/x.py", True),
        ("api/*.py linguist-generated", "api/deep/x.py", False),
        ("/api/** linguist-vendored", "api/deep/x.py", True),
        ("docs/**/*.html linguist-generated", "docs/x.html", True),
        ("docs/**/*.html linguist-generated", "docs/a/b/x.html", True),
        ("vendor/** -linguist-vendored", "vendor/own.py", False),
        ("*.lock linguist-generated=false", "uv.lock", False),
        ("*.py linguist-generated\nown.py linguist-generated=false", "a/own.py", False),
        ("# *.py linguist-generated", "a.py", False),
    ],
)
def test_attributes_and_names_say_what_is_generated(attributes, path, is_folded):
    assert folding(attributes)(path) is is_folded


def test_hostile_patterns_cost_little():
    pattern = "*a" * 2000 + "b linguist-generated\n"
    assert folding(pattern * (MOST_RULES + 1))("/".join(["a" * 200] * 20)) is False
    assert folding("**/" * 2000 + "b linguist-generated")("a/" * 2000 + "c") is False


def test_a_folded_file_takes_no_room_of_others():
    text = added("uv.lock", 290) + added("a.py", 200)
    lock, own = parse(text, folds=folding("")).files
    assert (lock.is_folded, lock.is_later, lock.lines, lock.additions) == (True, True, [], 290)
    assert (own.is_folded, own.is_later, len(own.lines)) == (False, False, 201)
