"""Conflicts of a merge are those of git. A choice gives what git makes of the same choice."""

import os
import random
import subprocess

import pygit2
import pytest
from pygit2.enums import FileMode

from ingot_git.changes import conflicts
from ingot_git.changes.conflicts import ConflictedFile, Part, find_conflicts, resolve_conflicts
from ingot_git.process.errors import MergeConflict, MergeTooExpensive, RefMoved
from ingot_git.testing.builders import AUTHOR, LINES, commit, costly_merge, set_branches

REF = "refs/heads/topic"
SEED = random.randrange(10**6)
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Ann" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ann@example.org" for who in ("AUTHOR", "COMMITTER")},
}


@pytest.fixture
def repo(tmp_path):
    return pygit2.init_repository(str(tmp_path / "bare.git"), bare=True)


def sides(repo, base, ours, theirs):
    """Commits of both sides; ours is the branch topic."""
    root = commit(repo, base)
    head, tip = commit(repo, ours, [root]), commit(repo, theirs, [root])
    set_branches(repo, topic=head, main=tip)
    return head, tip


def conflicts_of(repo, head, tip):
    return find_conflicts(repo, tip, head_ref=REF, expected_head=head)


def resolve(repo, head, tip, texts, *, base=None):
    return resolve_conflicts(
        repo,
        tip,
        head_ref=REF,
        expected_head=head,
        expected_base=base or tip,
        texts=texts,
        message="merge\n",
        who=AUTHOR,
    )


def chosen(file, side):
    """The text of a file with this side of each conflict; None if that side deleted the file."""
    if file.deleted:
        return None if file.deleted == side else file.parts[0].text
    return "".join(getattr(part, side) if part.is_conflict else part.text for part in file.parts)


def content(repo, oid):
    return {entry.path: repo[entry.id].data for entry in _index(repo, oid)}


def _index(repo, oid):
    index = pygit2.Index()
    index.read_tree(repo[oid].tree)
    return index


def merged_by_git(repo, work, head, tip, side):
    """The files of git's merge in a work tree, and the paths in conflict without ``side``."""

    def git(*words, check=True):
        return subprocess.run(
            ["git", "-C", str(work), *words], env=ENVIRONMENT, check=check, capture_output=True
        ).stdout

    subprocess.run(["git", "clone", "-q", "-n", repo.path, str(work)], env=ENVIRONMENT, check=True)
    git("checkout", "-q", "--detach", head)
    git("merge", "-q", "--no-edit", tip, check=False)
    paths = {line.split(b"\t")[1].decode() for line in git("ls-files", "-u", "-z").split(b"\0") if line}
    git("reset", "-q", "--hard", head)
    git("merge", "-q", "--no-edit", "-X", side, tip)
    tree = git("rev-parse", "HEAD^{tree}").decode().strip()
    return tree, paths


def numbered(chance):
    """Some lines, of which few are different."""
    return [
        b"%d\n" % number if chance.random() > 0.3 else b"x%d\n" % chance.randrange(3) for number in range(14)
    ]


@pytest.mark.parametrize("case", range(8))
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_side_of_every_conflict_is_what_git_makes_of_it(repo, tmp_path, case, side):
    chance = random.Random(SEED + case)
    files = ({name: b"".join(numbered(chance)) for name in ("a.txt", "d/b.txt", "c")} for _ in range(3))
    head, tip = sides(repo, *files)
    result = conflicts_of(repo, head, tip)
    tree, paths = merged_by_git(repo, tmp_path / "work", head, tip, side)
    assert ({file.path for file in result.files}, result.obstacle) == (paths, ""), SEED
    if paths:
        merged = resolve(repo, head, tip, {file.path: chosen(file, side) for file in result.files})
        assert str(repo[merged].tree_id) == tree, SEED
        assert [str(one) for one in repo[merged].parent_ids] == [head, tip]
    assert repo.lookup_reference(REF).target == pygit2.Oid(hex=head)


def test_a_conflict_has_its_three_versions_between_the_lines_that_merge(repo):
    text = "one\n=======\n<<<<<<< x\n{}\nlast"
    versions = [{"f": text.format(word).encode()} for word in ("base", "ours", "theirs")]
    (file,) = conflicts_of(repo, *sides(repo, *versions)).files
    assert file == ConflictedFile(
        "f",
        (
            Part("one\n=======\n<<<<<<< x\n"),
            Part(is_conflict=True, base="base\n", ours="ours\n", theirs="theirs\n"),
            Part("last"),
        ),
    )


def test_a_file_with_line_ends_of_windows_keeps_them(repo):
    versions = [{"f": b"a\r\n%b\r\nz\r\n" % word} for word in (b"1", b"2", b"3")]
    head, tip = sides(repo, *versions)
    (file,) = conflicts_of(repo, head, tip).files
    merged = resolve(repo, head, tip, {"f": chosen(file, "theirs")})
    assert content(repo, merged) == versions[2]


def test_both_sides_may_add_a_file(repo):
    head, tip = sides(repo, {"a": b"1"}, {"a": b"1", "f": b"ours\n"}, {"a": b"1", "f": b"theirs\n"})
    (file,) = conflicts_of(repo, head, tip).files
    assert file.parts == (Part(is_conflict=True, ours="ours\n", theirs="theirs\n"),)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_deleted_file_is_kept_or_deleted(repo, side):
    both = ({"a": b"1"}, {"a": b"1", "f": LINES + b"more\n"})
    head, tip = sides(repo, {"a": b"1", "f": LINES}, *(both if side == "ours" else both[::-1]))
    (file,) = conflicts_of(repo, head, tip).files
    assert (file.deleted, file.parts) == (side, (Part((LINES + b"more\n").decode()),))
    assert content(repo, resolve(repo, head, tip, {"f": None})) == {"a": b"1"}
    assert content(repo, resolve(repo, head, tip, {"f": "kept\n"})) == {"a": b"1", "f": b"kept\n"}


def test_an_executable_file_stays_one(repo):
    versions = [{"f": (FileMode.BLOB_EXECUTABLE, word)} for word in (b"1\n", b"2\n", b"3\n")]
    head, tip = sides(repo, *versions)
    merged = resolve(repo, head, tip, {"f": "4\n"})
    assert [(one.path, one.mode) for one in _index(repo, merged)] == [("f", FileMode.BLOB_EXECUTABLE)]


@pytest.mark.parametrize("changed", [{"ours"}, {"theirs"}, {"ours", "theirs"}, {"base"}])
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_file_has_the_mode_of_the_merge_of_git(repo, tmp_path, changed, side):
    names = ("base", "ours", "theirs")
    modes = [FileMode.BLOB_EXECUTABLE if name in changed else FileMode.BLOB for name in names]
    head, tip = sides(
        repo, *({"f": (mode, b"%b\n" % name.encode())} for name, mode in zip(names, modes, strict=True))
    )
    tree, _ = merged_by_git(repo, tmp_path / "work", head, tip, side)
    assert str(repo[resolve(repo, head, tip, {"f": f"{side}\n"})].tree_id) == tree


def test_a_file_that_an_attribute_excludes_is_one_conflict(repo):
    versions = [{".gitattributes": b"f -merge\n", "f": LINES + word} for word in (b"1\n", b"2\n", b"3\n")]
    (file,) = conflicts_of(repo, *sides(repo, *versions)).files
    assert {part.is_conflict for part in file.parts} >= {True}
    assert chosen(file, "ours") == (LINES + b"2\n").decode()


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ([{"f": b"\0%b" % word} for word in (b"1", b"2", b"3")], "it is not UTF-8 text"),
        ([{"f": b"\xff%b\n" % word} for word in (b"1", b"2", b"3")], "it is not UTF-8 text"),
        (
            [{"f": (FileMode.LINK, word)} for word in (b"1", b"2", b"3")],
            "it is a link or a submodule on one side",
        ),
        ([{"f": LINES}, {"g": LINES}, {"h": LINES}], "it was moved, or a folder has its name"),
        ([{"f": LINES}, {"f": LINES + b"x\n"}, {"f/g": b"1\n"}], "it was moved, or a folder has its name"),
        ([{"f": LINES}, {"f/g": b"1\n"}, {"f": LINES + b"x\n"}], "it was moved, or a folder has its name"),
        ([{"f": b"%b\n" % word * 40_000} for word in (b"1", b"22", b"333")], "it is too large"),
        (
            [{"f": b"".join(b"%b\n=\n=\n" % word for _ in range(90))} for word in (b"1", b"2", b"3")],
            "there are more than 80 conflicts",
        ),
        (
            [
                {".gitattributes": b"f conflict-marker-size=300000\n", "f": b"%b\n" % word}
                for word in (b"1", b"2", b"3")
            ],
            "its conflicts are too large",
        ),
    ],
)
def test_what_needs_a_clone_is_said_with_its_file(repo, versions, words):
    head, tip = sides(repo, *versions)
    result = conflicts_of(repo, head, tip)
    assert words in {file.obstacle for file in result.files}
    assert result.obstacle.endswith(words)
    assert all(file.obstacle or file.parts for file in result.files)


def test_a_file_whose_name_is_a_folder_is_not_committed_under_another(repo):
    head, tip = sides(repo, {"f": LINES}, {"f": LINES + b"x\n"}, {"f/g": b"1\n"})
    (file,) = conflicts_of(repo, head, tip).files
    with pytest.raises(MergeConflict, match="in a clone"):
        resolve(repo, head, tip, {file.path: "kept\n"})


def test_very_many_files_need_a_clone(repo):
    names = [f"f{number}" for number in range(conflicts.MOST_FILES + 1)]
    head, tip = sides(repo, *(dict.fromkeys(names, word) for word in (b"1\n", b"2\n", b"3\n")))
    result = conflicts_of(repo, head, tip)
    assert (result.obstacle, len(result.files)) == ("more than 20 files conflict", 20)


def test_a_clean_merge_has_no_conflicts(repo):
    head, tip = sides(repo, {"a": b"1"}, {"a": b"2"}, {"a": b"1", "b": b"3"})
    assert conflicts_of(repo, head, tip).files == ()
    with pytest.raises(MergeConflict):
        resolve(repo, head, tip, {"a": "4"})


@pytest.mark.parametrize("ignore_whitespace", [False, True])
def test_a_conflict_in_no_file_needs_a_clone(repo, ignore_whitespace):
    first, second = LINES + b"first\n", LINES[::-1] + b"second\n"
    before = {"d/a": first, "d/b": second}
    head, tip = sides(repo, before, {"x/a": first, "y/b": second}, before | {"d/new": b"1\n"})
    result = find_conflicts(repo, tip, head_ref=REF, expected_head=head, ignore_whitespace=ignore_whitespace)
    assert (result.files, result.obstacle) == ((), "git cannot tell where to move a file")


def test_white_space_is_no_conflict_where_the_repository_ignores_it(repo):
    head, tip = sides(repo, {"f": b"a b\n"}, {"f": b"a  b\n"}, {"f": b"a c\n"})
    assert len(conflicts_of(repo, head, tip).files) == 1
    ignoring = find_conflicts(repo, tip, head_ref=REF, expected_head=head, ignore_whitespace=True)
    assert ignoring.files == ()


@pytest.mark.parametrize("texts", [{}, {"f": "1"}, {"f": "1", "g": "1", "other": "1"}])
def test_every_file_in_conflict_and_no_other_needs_a_text(repo, texts):
    head, tip = sides(repo, *({"f": word, "g": word, "other": b"1"} for word in (b"1\n", b"2\n", b"3\n")))
    with pytest.raises(MergeConflict):
        resolve(repo, head, tip, texts)


def test_moved_branches_are_refused(repo):
    head, tip = sides(repo, *({"f": word} for word in (b"1\n", b"2\n", b"3\n")))
    with pytest.raises(RefMoved):
        resolve(repo, head, tip, {"f": "4"}, base=head)
    set_branches(repo, topic=tip)
    for act in (lambda: resolve(repo, head, tip, {"f": "4"}), lambda: conflicts_of(repo, head, tip)):
        with pytest.raises(RefMoved):
            act()


def test_a_merge_above_its_cpu_time_is_not_tried_again(repo, monkeypatch, git_log):
    monkeypatch.setattr(conflicts, "CPU_SECONDS", 0.1)
    head, tip = costly_merge(repo)
    set_branches(repo, topic=head, main=tip)
    for _ in range(2):
        with pytest.raises(MergeTooExpensive):
            conflicts_of(repo, head, tip)
    with pytest.raises(MergeTooExpensive):
        resolve(repo, head, tip, {"f": "4\n"})
    assert sum("merge-tree" in line for line in git_log) == 1
