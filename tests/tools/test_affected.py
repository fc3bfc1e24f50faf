"""Tests that depend on a change, the nearest first."""

import subprocess

import pytest
from tools import affected
from tools.affected import Sources, changed_files, imports_of, module_of

MODULE, TESTS = "services/issues/src/ingot_issues", "services/issues/tests"
IMPORTS = {
    f"{MODULE}/labels/rules.py": set(),
    f"{MODULE}/pulls/rules.py": {"ingot_issues.labels.rules"},
    f"{MODULE}/app.py": {"ingot_issues.pulls.rules"},
    f"{TESTS}/labels/test_lists.py": set(),
    f"{TESTS}/labels/test_rules.py": set(),
    f"{TESTS}/other/test_rules.py": set(),
    f"{TESTS}/test_labels.py": set(),
    f"{TESTS}/test_direct.py": {"ingot_issues.labels.rules"},
    f"{TESTS}/test_pulls.py": set(),
    f"{TESTS}/test_through_pulls.py": {"ingot_issues.pulls.rules"},
    f"{TESTS}/test_through_app.py": {"ingot_issues.app"},
    "services/web/tests/test_rules.py": set(),
}


@pytest.fixture
def sources():
    sources = Sources([])
    sources.imports = IMPORTS
    sources.tests = sorted(path for path in IMPORTS if "/test_" in path)
    return sources


def test_a_test_is_as_far_as_the_imports_between_it_and_the_change(sources):
    distances = sources.distances_from([f"{MODULE}/labels/rules.py"])
    assert {path.removeprefix(f"{TESTS}/"): distance for path, distance in distances.items()} == {
        "labels/test_rules.py": 0,
        "test_labels.py": 0,
        "labels/test_lists.py": 1,
        "test_direct.py": 1,
        "test_pulls.py": 1,
        "test_through_pulls.py": 2,
    }
    assert list(distances.values()) == sorted(distances.values())


def test_a_changed_test_depends_on_itself(sources):
    assert sources.distances_from([f"{TESTS}/test_direct.py"]) == {f"{TESTS}/test_direct.py": 0}


def test_nothing_depends_on_a_page(sources):
    assert sources.distances_from(["docs/api.md"]) == {}


@pytest.mark.parametrize(
    ("path", "module"),
    [
        (f"{MODULE}/labels/rules.py", "ingot_issues.labels.rules"),
        (f"{MODULE}/labels/__init__.py", "ingot_issues.labels"),
        (f"{TESTS}/test_rules.py", ""),
        (f"{MODULE}/templates/page.html", ""),
    ],
)
def test_a_source_has_a_module(path, module):
    assert module_of(path) == module


def test_imports_are_modules_and_what_is_taken_from_them():
    text = (
        "import asyncio\nfrom ingot_issues.labels import (\n    rules,\n    store as rows,\n)\n"
        "    import ingot_web\nfrom .a import b\n"
    )
    assert imports_of(text) >= {
        "ingot_issues.labels",
        "ingot_issues.labels.rules",
        "ingot_issues.labels.store",
        "ingot_web",
    }
    assert not {one for one in imports_of(text) if not one.startswith("ingot_")}


def test_all_sources_are_read():
    sources = Sources.read()
    assert len(sources.tests) > 400
    assert "tests/tools/test_affected.py" not in sources.tests


def test_files_differ_from_the_base_or_are_new(tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(affected, "TOP", tmp_path)
    for name in ("same.py", "edited.py"):
        (tmp_path / name).write_text("1\n")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "x")
    for name in ("edited.py", "new.py", "ignored.py"):
        (tmp_path / name).write_text("2\n")
    assert changed_files("") == ["edited.py", "new.py"]
