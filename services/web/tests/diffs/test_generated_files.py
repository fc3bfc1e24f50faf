"""Generated and vendored files of a diff."""

import random
import subprocess

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


GENERATED, VENDORED = "linguist-generated", "linguist-vendored"
PARTS = (
    "a",
    "b",
    "ab",
    "x.py",
    "y.gen.py",
    "doc s",
    "*",
    "a*",
    "*.py",
    "?",
    "[ab]",
    "[!a]",
    "[^a]",
    "**",
    "\\a",
)
"""Not `a**`, whose meaning for git depends on the letters before it."""
WORDS = (
    GENERATED, f"-{GENERATED}", f"!{GENERATED}", f"{GENERATED}=true", f"{GENERATED}=false", f"{GENERATED}=0",
    VENDORED, f"-{VENDORED}", f"!{VENDORED}", "text", "eol=lf",
)  # fmt: skip
FALSE = ("unset", "false", "0")


def rules_and_paths(chance):
    """A file of attributes, and paths whose own names are of no generated file."""

    def pattern():
        parts = [chance.choice(PARTS).replace(" ", "") for _ in range(chance.randint(1, 3))]
        return chance.choice(("", "", "/")) + "/".join(parts) + chance.choice(("", "", "", "/", "/**"))

    lines = [
        " ".join([pattern(), *chance.sample(WORDS, chance.randint(1, 2))])
        for _ in range(chance.randint(1, 5))
    ]
    names = ("a", "b", "ab", "abc", "x.py", "y.gen.py", "docs")
    paths = {"/".join(chance.choice(names) for _ in range(chance.randint(1, 4))) for _ in range(30)}
    return "".join(f"{line}\n" for line in lines), sorted(paths)


def folded_by_git(folder, attributes, paths):
    """The decision by the values of git-check-attr(1), None where both attributes are unspecified."""
    (folder / ".gitattributes").write_text(attributes)
    command = ["git", "-C", folder, "check-attr", "-z", "--stdin", GENERATED, VENDORED]
    output = subprocess.run(
        command, input="\0".join(paths) + "\0", capture_output=True, text=True, check=True
    )
    fields = output.stdout.split("\0")[:-1]
    values = {}
    for path, _, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        values.setdefault(path, []).append(value)
    return {
        path: any(value not in (*FALSE, "unspecified") for value in both)
        if both != ["unspecified"] * 2
        else None
        for path, both in values.items()
    }


def test_attributes_mean_what_they_mean_for_git(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    chance, decided = random.Random(20261129), 0
    for _ in range(150):
        attributes, paths = rules_and_paths(chance)
        folds = folding(attributes)
        for path, expected in folded_by_git(tmp_path, attributes, paths).items():
            decided += expected is not None
            assert folds(path) is bool(expected), (attributes, path)
    assert decided > 500
