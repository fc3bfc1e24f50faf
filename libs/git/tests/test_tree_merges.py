"""All small merges of files, folders, links, modes and submodules, or a sample: the results are those of git.

``INGOT_MERGES`` is the number of merges, or ``all``. ``INGOT_MERGES_SEED`` repeats a run; by default the seed
is today's date.
"""

import os
import random
import signal
import subprocess
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, partial
from itertools import product

import pygit2
import pytest
from pygit2.enums import FileMode, ObjectType

from ingot_git.changes import tree_merges
from ingot_git.changes.merge import Mergeability, merge, mergeable, mergeable_heads
from ingot_git.changes.tree_merges import TEST_CPU_SECONDS, MergedTree, merge_heads
from ingot_git.history.commits import signature
from ingot_git.history.reachability import merge_base
from ingot_git.history.trivial_merges import plan_merge
from ingot_git.process.command import MIB
from ingot_git.process.errors import MergeConflict, MergeTooExpensive
from ingot_git.storage.scratch import scratch
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import AUTHOR, LINES, commit, costly_merge, numbers, set_branches

MERGES = os.environ.get("INGOT_MERGES", "1800")
SEED = os.environ.get("INGOT_MERGES_SEED") or datetime.now(UTC).date().isoformat()
HEADS = 60
"""Heads that are merged with one base commit in a sample."""
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Ann" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ann@example.org" for who in ("AUTHOR", "COMMITTER")},
}
CONTENTS = {
    "1": b"".join(b"line %d\n" % n for n in range(9)),
    "2": b"top\n" + b"".join(b"line %d\n" % n for n in range(9)),
    "3": b"".join(b"line %d\n" % n for n in range(9)) + b"bottom\n",
}
FILES = {
    "1": ("100644", "1"),
    "2": ("100644", "2"),
    "3": ("100644", "3"),
    "x1": ("100755", "1"),
    "l1": ("120000", "1"),
}
FOLDERS = {"f1": {"f": "1"}, "g1": {"g": "1"}, "f2g1": {"f": "2", "g": "1"}}
SUBMODULES = {"s1": "1" * 40, "s2": "2" * 40}
KINDS = ("", *FILES, *FOLDERS, *SUBMODULES)
TREES = list(product(KINDS, repeat=2))


def replaced_by_a_file(repo):
    """A folder that ours fills otherwise, and theirs replaces by a file."""
    base = commit(repo, {"x/y": LINES, "other": b"1"})
    return commit(repo, {"x/z": b"z\n", "other": b"1"}, [base]), commit(
        repo, {"x": b"file\n", "other": b"1"}, [base]
    )


def group_writable(repo):
    """A conflict in a file whose mode no longer exists in git."""

    def tree(content):
        builder = repo.TreeBuilder()
        builder.insert("a", repo.create_blob(content), 0o100644)
        raw = repo[builder.write()].read_raw()
        return repo.odb.write(ObjectType.TREE, raw.replace(b"100644", b"100664"))

    who = signature(AUTHOR)
    base = repo.create_commit(None, who, who, "x\n", tree(LINES), [])
    return tuple(
        str(repo.create_commit(None, who, who, "x\n", tree(side + LINES), [base]))
        for side in (b"ours\n", b"theirs\n")
    )


def attribute(rules, *, folder=""):
    """Two changes in one file, of which attributes say how it is merged."""

    def sides(repo):
        files = {f"{folder}.gitattributes": rules.encode(), "d/f.txt": LINES}
        base = commit(repo, files)
        ours = commit(repo, files | {"d/f.txt": b"ours\n" + LINES}, [base])
        return ours, commit(repo, files | {"d/f.txt": LINES + b"theirs\n"}, [base])

    return sides


def union(repo):
    files = {".gitattributes": b"*.txt merge=union\n", "f.txt": LINES}
    base = commit(repo, files)
    sides = [commit(repo, files | {"f.txt": LINES + name + b"\n"}, [base]) for name in (b"ours", b"theirs")]
    return tuple(sides)


def attributes_of_theirs(repo):
    """Those of our side count."""
    base = commit(repo, {"f.txt": LINES})
    ours = commit(repo, {"f.txt": b"ours\n" + LINES}, [base])
    return ours, commit(repo, {".gitattributes": b"* -merge\n", "f.txt": LINES + b"theirs\n"}, [base])


def renamed_to_a_link(repo):
    """A file that ours renames, and theirs replaces by a link."""
    base = commit(repo, {"a": LINES, "c": b"1"})
    ours = commit(repo, {"b": LINES, "c": b"1"}, [base])
    return ours, commit(repo, {"a": (FileMode.LINK, b"c"), "c": b"1"}, [base])


def renamed_folder(repo):
    """A folder that ours renames, and in which theirs adds a file."""
    base = commit(repo, {"old/a": LINES, "old/b": LINES[9:]})
    ours = commit(repo, {"new/a": LINES, "new/b": LINES[9:]}, [base])
    return ours, commit(repo, {"old/a": LINES, "old/b": LINES[9:], "old/c": b"c\n"}, [base])


def renamed_and_changed(repo):
    base = commit(repo, {"a": LINES, "b": b"1"})
    ours = commit(repo, {"folder/c": LINES, "b": b"1"}, [base])
    return ours, commit(repo, {"a": LINES + b"theirs\n", "b": b"1"}, [base])


def crossed(repo):
    """Two histories that merged each other in different ways."""
    base = commit(repo, {"a": LINES, "b": LINES})
    one = commit(repo, {"a": b"1\n" + LINES, "b": LINES}, [base])
    two = commit(repo, {"a": b"2\n" + LINES, "b": LINES}, [base])
    ours = commit(repo, {"a": b"1\n" + LINES, "b": b"ours\n" + LINES}, [one, two])
    return ours, commit(repo, {"a": b"2\n" + LINES, "b": LINES}, [two, one])


def odd_names(repo):
    names = ("tab\tline\nend", '"quoted"', "ümlaut", " space ")
    base = commit(repo, dict.fromkeys(names, LINES))
    return tuple(commit(repo, dict.fromkeys(names, side + LINES), [base]) for side in (b"1\n", b"2\n"))


def submodules(repo):
    base = commit(repo, {"s": (FileMode.COMMIT, pygit2.Oid(hex="1" * 40)), "a": b"1"})
    sides = [
        commit(repo, {"s": (FileMode.COMMIT, pygit2.Oid(hex=digit * 40)), "a": b"1"}, [base])
        for digit in "23"
    ]
    return tuple(sides)


CASES = {
    "folder replaced by a file": (replaced_by_a_file, False),
    "mode 100664": (group_writable, False),
    "-merge": (attribute("*.txt -merge\n"), False),
    "-merge in a folder": (attribute("*.txt -merge\n", folder="d/"), False),
    "binary": (attribute("*.txt merge=binary\n"), False),
    "driver that does not exist": (attribute("*.txt merge=evil\n"), True),
    "attributes of another folder": (attribute("*.txt -merge\n", folder="e/"), True),
    "union": (union, True),
    "attributes of theirs": (attributes_of_theirs, True),
    "rename with a change of type": (renamed_to_a_link, False),
    "renamed folder": (renamed_folder, False),
    "renamed and changed": (renamed_and_changed, True),
    "criss-cross": (crossed, False),
    "odd names": (odd_names, False),
    "submodules": (submodules, False),
}


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


@pytest.mark.parametrize("case", CASES)
def test_what_two_sides_change_is_merged_as_in_a_work_tree(repo, tmp_path, case):
    sides, is_clean = CASES[case]
    ours, theirs = sides(repo)
    set_branches(repo, main=ours, topic=theirs)
    tree, conflicts = merged_in_work_tree(repo.path, tmp_path / "work", ours, theirs)
    result = mergeable(repo, ours, theirs)
    assert (result.clean, result.conflicts) == (is_clean, conflicts)
    assert (tree is not None) == is_clean
    squash = partial(
        merge, repo, base_ref="refs/heads/main", expected_base=ours, head=theirs, style="squash",
        message="m\n",
        author=AUTHOR, committer=AUTHOR,
    )  # fmt: skip
    if tree is not None:
        assert str(repo[squash()].tree_id) == tree
        return
    with pytest.raises(MergeConflict) as caught:
        squash()
    assert caught.value.paths == conflicts


def merged_in_work_tree(bare, work, ours, theirs):
    """The tree that git-merge(1) makes in a work tree, or None and the paths in conflict."""

    def git(*words):
        return subprocess.run(
            ["git", "-C", work, *words], env=ENVIRONMENT, capture_output=True, text=True, check=False
        )

    subprocess.run(
        ["git", "clone", "-q", "--shared", "--no-checkout", bare, work], env=ENVIRONMENT, check=True
    )
    git("checkout", "-q", "--detach", ours)
    if git("merge", "-q", "-m", "m", theirs).returncode == 0:
        return git("rev-parse", "HEAD^{tree}").stdout.strip(), ()
    names = git("ls-files", "-u", "-z").stdout.split("\0")[:-1]
    return None, tuple(sorted({name.split("\t", 1)[1] for name in names}))


def test_attributes_start_no_program(repo, tmp_path):
    """Not even a merge driver in the configuration of the repository, which only the service writes."""
    ours, theirs = attribute("*.txt merge=evil filter=evil diff=evil\n")(repo)
    assert mergeable(repo, ours, theirs).clean
    assert not list(tmp_path.rglob("evil*"))


def nested(repo, depth, content):
    """A tree with a file in so many folders."""
    builder = repo.TreeBuilder()
    builder.insert("f", repo.create_blob(content), FileMode.BLOB)
    builder.insert(".gitattributes", repo.create_blob(b"* -text\n"), FileMode.BLOB)
    oid = builder.write()
    for _ in range(depth):
        builder = repo.TreeBuilder()
        builder.insert("d", oid, FileMode.TREE)
        oid = builder.write()
    return oid


@pytest.mark.parametrize("depth", [150, 1100, 3000])
def test_deeply_nested_folders_are_no_error(repo, unflushed, depth):
    """Attributes may be in folders that are nested more deeply than Python can make them."""
    who = signature(AUTHOR)

    def history(content, *parents):
        return repo.create_commit(None, who, who, "x\n", nested(repo, depth, content), list(parents))

    base = history(LINES)
    ours, theirs = history(b"ours\n" + LINES, base), history(LINES + b"theirs\n", base)
    assert mergeable(repo, str(ours), str(theirs)) == Mergeability(clean=True)


def test_one_process_judges_all_heads_of_a_base(repo, git_log):
    base = commit(repo, {"a": LINES, "b": b"1"})
    ours = commit(repo, {"a": b"ours\n" + LINES, "b": b"1"}, [base])
    sides = [(LINES + b"1\n", True), (b"1\n" + LINES, False), (LINES, True), (LINES + b"2\n", True)]
    heads = [
        commit(repo, {"a": text, "b": b"2"}, [base], f"{number}\n") for number, (text, _) in enumerate(sides)
    ]
    judged = mergeable_heads(repo, ours, [*heads, heads[0]])
    assert [one.clean for one in judged] == [*(is_clean for _, is_clean in sides), True]
    assert len(list(git_log)) == 1


@contextmanager
def cpu_of_git(most):
    """The CPU seconds of git in this block are at most so many, and what its start and end take."""
    before = os.times()
    yield
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert spent < most + 0.2


def test_a_merge_above_its_cpu_time_is_not_judged_and_not_tried_again(repo, unflushed, git_log):
    ours, theirs = costly_merge(repo)
    with cpu_of_git(TEST_CPU_SECONDS):
        assert mergeable(repo, ours, theirs) == Mergeability(clean=True)
    git_log.clear()
    assert mergeable(repo, ours, theirs) == Mergeability(clean=True)
    assert list(git_log) == []


def test_other_heads_are_judged_next_to_one_above_its_cpu_time(repo, unflushed):
    ours, theirs = costly_merge(repo)
    others = [commit(repo, {"x": b"2\n"}, [ours]), commit(repo, {"ours/ours0": b"3\n"})]
    with cpu_of_git(2 * TEST_CPU_SECONDS):
        judged = mergeable_heads(repo, ours, [others[0], theirs, others[1]])
    assert [one.clean for one in judged] == [True, True, False]


@pytest.mark.parametrize("style", ["merge", "squash", "rebase"])
@pytest.mark.parametrize("ignore_whitespace", [False, True])
def test_a_merge_above_its_cpu_time_is_refused(repo, unflushed, style, ignore_whitespace):
    ours, theirs = costly_merge(repo)
    set_branches(repo, main=ours)
    with cpu_of_git(TEST_CPU_SECONDS), pytest.raises(MergeTooExpensive, match="in a clone"):
        merge(
            repo, base_ref="refs/heads/main", expected_base=ours, head=theirs, style=style, message="m\n",
            author=AUTHOR, committer=AUTHOR, ignore_whitespace=ignore_whitespace,
            cpu_seconds=TEST_CPU_SECONDS,
        )  # fmt: skip


def test_the_steps_of_a_rebase_share_their_cpu_time(repo, unflushed):
    chance = random.Random()
    texts = [numbers(chance, 300) for _ in range(150)]
    base = head = commit(repo, {f"{number}": text for number, text in enumerate(texts)})
    ours = commit(repo, {f"{number}": b"ours\n" + text for number, text in enumerate(texts)}, [base])
    for step in range(6):
        moved = {f"{step}/{step}{number}": text + numbers(chance, 60) for number, text in enumerate(texts)}
        head = commit(repo, moved, [head])
    set_branches(repo, main=ours)
    with cpu_of_git(TEST_CPU_SECONDS), pytest.raises(MergeTooExpensive):
        merge(
            repo, base_ref="refs/heads/main", expected_base=ours, head=head, style="rebase", message="",
            author=AUTHOR, committer=AUTHOR, cpu_seconds=TEST_CPU_SECONDS,
        )  # fmt: skip


@pytest.mark.parametrize(("width", "more"), [(200, {}), (50, {".gitattributes": b"* text\n"})])
def test_attributes_are_read_in_a_bounded_number_of_folders_and_files(repo, git_log, width, more):
    """A few trees may have any number of folders: here 40,000, or 2,500 with attributes."""
    who = signature(AUTHOR)

    def blob(content):
        return FileMode.BLOB, repo.create_blob(content)

    def history(content, both, *parents):
        leaf = tree_of(repo, {"f": blob(content)} | {name: blob(text) for name, text in more.items()})
        middle = tree_of(repo, {f"{number}": (FileMode.TREE, leaf) for number in range(width)})
        folders = {f"{number}": (FileMode.TREE, middle) for number in range(width)}
        root = tree_of(repo, folders | {"both": blob(both)})
        return repo.create_commit(None, who, who, "x\n", root, list(parents))

    base = history(b"1", LINES)
    ours, theirs = history(b"1", b"ours\n" + LINES, base), history(b"2", LINES + b"theirs\n", base)
    git_log.clear()
    assert mergeable(repo, str(ours), str(theirs)) == Mergeability(clean=True)
    assert list(git_log) == []


def tree_of(repo, entries):
    builder = repo.TreeBuilder()
    for name, (mode, oid) in entries.items():
        builder.insert(name, oid, mode)
    return builder.write()


class Histories:
    """A repository with a commit for each tree, and commits of each tree on top of the requested ones."""

    def __init__(self, folder):
        self.storage = Storage(folder / "root")
        self.path = self.storage.create(1, "main")
        self.repo = self.storage.open(1)
        self.blobs = {name: self.repo.create_blob(content) for name, content in CONTENTS.items()}
        self.trees = [self._tree({"x": one, "y": two}) for one, two in TREES]
        self.commit = cache(self._commit)
        self.roots = [self.commit(tree) for tree in self.trees]

    def _commit(self, tree, *parents):
        who = pygit2.Signature("Ann", "ann@example.org", 1, 0)
        return str(self.repo.create_commit(None, who, who, "x\n", tree, list(parents)))

    def _tree(self, kinds):
        builder = self.repo.TreeBuilder()
        for name, kind in kinds.items():
            if kind in FILES:
                mode, content = FILES[kind]
                builder.insert(name, self.blobs[content], int(mode, 8))
            elif kind in FOLDERS:
                builder.insert(name, self._tree(FOLDERS[kind]), 0o40000)
            elif kind in SUBMODULES:
                builder.insert(name, SUBMODULES[kind], 0o160000)
        return str(builder.write())


def results(repo, ours, heads):
    """Return the merge of each head (tree, or None and the conflicts), and the number of merges by git."""
    merged = {}
    for head in heads:
        planned = plan_merge(repo, repo[ours], repo[head], merge_base(repo, ours, head))
        if planned is not None:
            merged[head] = MergedTree(planned.write(repo))
    hard = [head for head in heads if head not in merged]
    with scratch(repo) as view:
        merged.update(
            zip(hard, merge_heads(view, ours, hard, ignore_whitespace=False, keep=False), strict=True)
        )
    return [merged[head] for head in heads], len(hard)


def results_of_git(clone, ours, heads):
    """Return git's results in a clone, by processes of their own. A crash of git by a bug counts as a
    conflict."""
    process = subprocess.run(
        ["git", "merge-tree", "--write-tree", "--stdin", "-z", "--name-only", "--no-messages"],
        cwd=clone, env=ENVIRONMENT, input="".join(f"{ours} {head}\n" for head in heads).encode(),
        capture_output=True, check=False,
    )  # fmt: skip
    if process.returncode != 0:
        assert process.returncode == -signal.SIGABRT, process.stderr
        if len(heads) == 1:
            return [MergedTree(None)]
        return [result for part in halves(heads) for result in results_of_git(clone, ours, part)]
    merged = []
    for record in process.stdout.removesuffix(b"\0\0").split(b"\0\0"):
        status, tree, *paths = record.decode().split("\0")
        merged.append(MergedTree(tree) if status == "1" else MergedTree(None, tuple(sorted(set(paths)))))
    return merged


def halves(heads):
    middle = len(heads) // 2
    return heads[:middle], heads[middle:]


def groups(count):
    """Numbers of the trees of base and ours, and those of theirs: a part of all, which the seed chooses."""
    every = range(len(TREES))
    if count == "all":
        # With the names the other way round it is the same merge.
        pairs = product((base for base in every if TREES[base] <= TREES[base][::-1]), every)
        return [(base, ours, list(every)) for base, ours in pairs]
    choice = random.Random(SEED)
    chosen = []
    for number in range(int(count) // HEADS):
        base, ours = choice.choices(every, k=2)
        if number % 4:  # few merges of any three sides need no git
            ours = TREES.index((TREES[base][0], TREES[ours][1]))
        related = [n for n in every if TREES[n][1] == TREES[base][1]]
        chosen.append((base, ours, [*related, *choice.sample(every, HEADS - len(related))]))
    return chosen


def test_small_merges_give_the_result_of_git(tmp_path, unflushed):
    print(f"small merges: repeat with INGOT_MERGES={MERGES} INGOT_MERGES_SEED={SEED}")
    histories = Histories(tmp_path)
    repo = histories.repo
    clone = tmp_path / "clone"
    trivial = clean = 0
    for number, (base, ours, theirs) in enumerate(groups(MERGES)):
        root = histories.roots[base]
        tip = histories.commit(histories.trees[ours], root)
        heads = [histories.commit(histories.trees[one], root) for one in theirs]
        if number == 0:
            subprocess.run(
                ["git", "clone", "-q", "--shared", "--no-checkout", histories.path, clone],
                env=ENVIRONMENT, check=True, capture_output=True,
            )  # fmt: skip
        merged, hard = results(repo, tip, heads)
        expected = results_of_git(clone, tip, heads)
        differing = [
            f"{TREES[base]} {TREES[ours]} {TREES[one]}: {mine} and not {right}"
            for one, mine, right in zip(theirs, merged, expected, strict=True)
            if mine != right
        ]
        assert differing == []
        trivial += len(heads) - hard
        clean += sum(one.tree is not None for one in expected)
    assert clean > trivial > len(groups(MERGES))


@pytest.mark.parametrize("style", ["merge", "rebase"])
def test_a_merge_that_needs_too_much_memory_is_refused(repo, unflushed, monkeypatch, style):
    monkeypatch.setattr(tree_merges, "MEMORY", 64 * MIB)
    who = signature(AUTHOR)

    def history(content, *parents):
        """A commit with 400,000 files in 202 folders."""
        oid, mode = repo.create_blob(content), FileMode.BLOB
        for width in (2000, 200):
            builder = repo.TreeBuilder()
            for number in range(width):
                builder.insert(f"{number}", oid, mode)
            oid, mode = builder.write(), FileMode.TREE
        return str(repo.create_commit(None, who, who, "x\n", oid, list(parents)))

    base = history(LINES)
    ours, theirs = history(b"ours\n" + LINES, base), history(LINES + b"theirs\n", base)
    set_branches(repo, main=ours)
    with pytest.raises(MergeTooExpensive):
        merge(
            repo, base_ref="refs/heads/main", expected_base=ours, head=theirs, style=style, message="m\n",
            author=AUTHOR, committer=AUTHOR,
        )  # fmt: skip
