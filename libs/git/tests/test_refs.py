"""Names of refs, resolving them, and moving refs concurrently."""

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pygit2
import pytest

from ingot_git.history.named_refs import named_ref
from ingot_git.process.errors import GitFailed, InvalidName, RefMoved, RefNotFound
from ingot_git.refs.ref_locks import remove_old_locks
from ingot_git.refs.refs import (
    ZERO_OID,
    Branch,
    RefChange,
    default_branch,
    delete_branch,
    diff_refs,
    ends_like_an_id,
    get_branch,
    is_valid_ref_name,
    list_branches,
    list_refs,
    move_ref,
    ref_target,
    set_default_branch,
    tag_commit,
    update_refs,
)
from ingot_git.storage.storage import Storage

ME = pygit2.Signature("me", "me@example.org", 1_700_000_000, 60)
HOSTILE = [
    "-x",
    "--upload-pack=x",
    "a\nb",
    "a\0b",
    "a..b",
    "../../etc/passwd",
    "a@{1}",
    "@",
    "@{",
    "@{-1}",
    "",
    "/",
    "/a",
    "a/",
    "a//b",
    "a.lock",
    "a.lock/b",
    ".a",
    "a/.b",
    "a.",
    "a b",
    "a~1",
    "a^",
    "a:b",
    "a?",
    "a*",
    "a[",
    "a\\b",
    "\x7f",
    "HEAD",
    "\ud800",
    "x" * 2000,
]
GOOD = ["main", "feature/a-b", "v1.0", "a@b", "ünï/코드", "a{b", "x#y", "a=b", "a-"]


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


def commit(repo, message="x", parents=()):
    tree = repo.TreeBuilder().write()
    return str(repo.create_commit(None, ME, ME, message, tree, list(parents)))


def git(repo, *args):
    command = ["git", "--git-dir", repo.path, *args]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def create_ref(repo, name, oid):
    update_refs(Path(repo.path), [RefChange(name, ZERO_OID, oid)])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused_everywhere(repo, name):
    oid = commit(repo)
    create_ref(repo, "refs/heads/main", oid)
    assert not is_valid_ref_name(name)
    with pytest.raises(RefNotFound):
        get_branch(repo, name)
    if name != "HEAD":
        with pytest.raises(RefNotFound):
            named_ref(repo, name)
    with pytest.raises(RefNotFound):
        delete_branch(repo, name)
    with pytest.raises(InvalidName):
        set_default_branch(repo, name)
    if name not in ("HEAD", "@") and not name.startswith("-"):
        with pytest.raises(InvalidName):
            create_ref(repo, "refs/heads/" + name, oid)
    with pytest.raises(InvalidName):
        create_ref(repo, name, oid)
    assert list_refs(repo) == {"refs/heads/main": oid}


@pytest.mark.parametrize("name", GOOD)
def test_good_names_can_be_used(repo, name):
    oid = commit(repo)
    assert is_valid_ref_name(name)
    create_ref(repo, "refs/heads/" + name, oid)
    assert get_branch(repo, name) == Branch(name, oid)
    assert named_ref(repo, name).commit == oid
    assert delete_branch(repo, name, oid) == oid
    assert list_refs(repo) == {}


@pytest.mark.parametrize(
    "name", [name for name in HOSTILE + GOOD if "\0" not in name and "\ud800" not in name]
)
def test_we_never_allow_what_git_refuses(name):
    git = subprocess.run(
        ["git", "check-ref-format", "--branch", name], capture_output=True, cwd="/", check=False
    )
    if is_valid_ref_name(name):
        assert git.returncode == 0


def test_branches_come_in_pages(repo):
    oid = commit(repo)
    update_refs(Path(repo.path), [RefChange(f"refs/heads/b{n}", ZERO_OID, oid) for n in range(5)])
    create_ref(repo, "refs/tags/t", oid)
    page, total = list_branches(repo, offset=1, limit=2)
    assert [branch.name for branch in page] == ["b1", "b2"]
    assert total == 5


def test_names_that_are_not_utf8_are_invisible(repo):
    oid = commit(repo)
    (Path(repo.path) / "packed-refs").write_bytes(
        b"# pack-refs with: peeled fully-peeled sorted \n"
        + f"{oid} refs/heads/ok\n{oid} ".encode()
        + b"refs/heads/\xff\n"
    )
    assert list(list_refs(repo)) == ["refs/heads/ok"]


@pytest.mark.parametrize("name", ["a" * 40, "A1" * 20, "0" * 64, "x/" + "1" * 40])
def test_a_ref_that_ends_like_an_id_is_found_under_its_namespace_and_can_be_deleted(repo, name):
    oid = commit(repo)
    assert is_valid_ref_name(name)
    assert ends_like_an_id(f"refs/heads/{name}")
    create_ref(repo, f"refs/heads/{name}", oid)
    create_ref(repo, f"refs/tags/{name}", oid)
    assert get_branch(repo, name) == Branch(name, oid)
    assert tag_commit(repo, name) == oid
    assert delete_branch(repo, name) == oid


@pytest.mark.parametrize("name", ["a" * 39, "a" * 41, "g" * 40, "1" * 40 + "/x", "v" + "1" * 40, "1" * 63])
def test_other_names_do_not_end_like_an_id(name):
    assert not ends_like_an_id(f"refs/heads/{name}")


def test_default_branch_moves(repo):
    set_default_branch(repo, "other/name")
    assert default_branch(repo) == "other/name"


def test_diff_lists_created_deleted_and_moved_refs():
    a, b = "a" * 40, "b" * 40
    assert diff_refs({"x": a, "y": a, "z": a}, {"y": b, "z": a, "w": b}) == [
        RefChange("w", ZERO_OID, b),
        RefChange("x", a, ZERO_OID),
        RefChange("y", a, b),
    ]


def test_updates_are_compare_and_swap_and_all_or_nothing(repo):
    path = Path(repo.path)
    one, two = commit(repo, "one"), commit(repo, "two")
    create_ref(repo, "refs/heads/main", one)
    for wrong in (
        RefChange("refs/heads/main", two, two),
        RefChange("refs/heads/main", ZERO_OID, two),
        RefChange("refs/heads/main/below", ZERO_OID, two),
        RefChange("refs/heads/none", one, two),
        RefChange("refs/heads/none", one, ZERO_OID),
    ):
        with pytest.raises(RefMoved):
            update_refs(path, [RefChange("refs/heads/new", ZERO_OID, two), wrong])
    with pytest.raises(GitFailed):
        update_refs(path, [RefChange("refs/heads/new", ZERO_OID, "1" * 40)])
    assert list_refs(repo) == {"refs/heads/main": one}
    update_refs(path, [RefChange("refs/heads/main", one, two)])
    assert list_refs(repo) == {"refs/heads/main": two}


@pytest.mark.parametrize("packed", [False, True])
def test_one_ref_is_moved_without_git(repo, git_log, packed):
    one, two = commit(repo, "one"), commit(repo, "two")
    move_ref(repo, RefChange("refs/heads/main", ZERO_OID, one))
    if packed:
        git(repo, "pack-refs", "--all")
        assert not (Path(repo.path) / "refs/heads/main").exists()
    git_log.clear()
    move_ref(repo, RefChange("refs/heads/main", one, two))
    assert list(git_log) == []
    assert list_refs(repo) == {"refs/heads/main": two}
    assert git(repo, "show-ref") == f"{two} refs/heads/main\n"
    assert not (Path(repo.path) / "logs").exists()


@pytest.mark.parametrize("packed", [False, True])
def test_a_ref_with_an_unexpected_value_does_not_move(repo, packed):
    one, two = commit(repo, "one"), commit(repo, "two")
    create_ref(repo, "refs/heads/main", one)
    if packed:
        git(repo, "pack-refs", "--all")
    for wrong in (
        RefChange("refs/heads/main", two, two),
        RefChange("refs/heads/main", ZERO_OID, two),
        RefChange("refs/heads/main/below", ZERO_OID, two),
        RefChange("refs/heads/none", one, two),
    ):
        with pytest.raises(RefMoved):
            move_ref(repo, wrong)
    with pytest.raises(GitFailed):
        move_ref(repo, RefChange("refs/heads/new", ZERO_OID, "1" * 40))
    with pytest.raises(InvalidName):
        move_ref(repo, RefChange("refs/heads/../x", ZERO_OID, one))
    assert list_refs(repo) == {"refs/heads/main": one}


def test_a_ref_that_git_has_locked_does_not_move(repo):
    one, two = commit(repo, "one"), commit(repo, "two")
    create_ref(repo, "refs/heads/main", one)
    (Path(repo.path) / "refs/heads/main.lock").touch()
    with pytest.raises(RefMoved):
        move_ref(repo, RefChange("refs/heads/main", one, two))
    assert list_refs(repo) == {"refs/heads/main": one}


@pytest.mark.parametrize(
    ("name", "age", "moves"),
    [("refs/pull/1/head", 60, True), ("refs/pull/1/head", 0, False), ("refs/heads/topic", 60, False)],
)
def test_a_lock_that_a_killed_process_left_on_a_ref_of_our_own_is_removed(repo, name, age, moves):
    """That of a branch may be the lock of a push of very many, which the journal knows."""
    tip = commit(repo)
    lock = Path(repo.path, f"{name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    os.utime(lock, (time.time() - age,) * 2)
    change = RefChange(name, ZERO_OID, tip)
    if moves:
        update_refs(Path(repo.path), [change])
    else:
        with pytest.raises(RefMoved):
            update_refs(Path(repo.path), [change])
    assert (ref_target(repo, name), lock.exists()) == ((tip, False) if moves else (None, True))


@pytest.mark.parametrize(("age", "deletes"), [(120, True), (30, False)])
def test_what_a_killed_process_left_of_packed_refs_is_removed_after_a_minute(repo, age, deletes):
    tip = commit(repo)
    create_ref(repo, "refs/heads/main", tip)
    git(repo, "pack-refs", "--all")
    files = [
        Path(repo.path, name) for name in ("packed-refs.lock", "packed-refs.new", "refs/notes/commits.lock")
    ]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.utime(file, (time.time() - age,) * 2)
    remove_old_locks(Path(repo.path), [])
    assert [file.exists() for file in files] == [not deletes, not deletes, False]
    if deletes:
        update_refs(Path(repo.path), [RefChange("refs/heads/main", tip, ZERO_OID)])


def test_a_lock_is_not_removed_by_two_processes_at_once(repo):
    """The second process would remove the new lock, which a third took after the first had removed the old
    one."""
    lock = Path(repo.path, "refs/heads/main.lock")
    lock.touch()
    os.utime(lock, (time.time() - 60,) * 2)
    with Path(repo.path, "HEAD").open("rb+") as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        assert (remove_old_locks(Path(repo.path), ["refs/heads/main"]), lock.exists()) == (0, True)
    assert (remove_old_locks(Path(repo.path), ["refs/heads/main"]), lock.exists()) == (1, False)


IN_A_PROCESS_WITHOUT_ROOM = """
import resource, sys, pygit2
from ingot_git.process.errors import StorageFull
from ingot_git.refs.refs import RefChange, ZERO_OID, move_ref
repo = pygit2.Repository(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
try:
    move_ref(repo, RefChange("refs/heads/topic", ZERO_OID, sys.argv[2]))
except StorageFull:
    sys.exit(28)
"""


def test_a_ref_for_which_there_is_no_room_stays_without_a_lock(repo):
    program = [sys.executable, "-c", IN_A_PROCESS_WITHOUT_ROOM, repo.path, commit(repo)]
    done = subprocess.run(program, capture_output=True, check=False)
    assert done.returncode == 28, done.stderr
    assert not Path(repo.path, "refs/heads/topic.lock").exists()


def test_either_libgit2_or_git_moves_a_ref(repo):
    path = Path(repo.path)
    oids = [commit(repo, f"n{n}") for n in range(8)]
    create_ref(repo, "refs/heads/main", oids[0])
    winners = []

    def move(oid, by_git):
        change = RefChange("refs/heads/main", oids[0], oid)
        with contextlib.suppress(RefMoved):
            if by_git:
                update_refs(path, [change])
            else:
                move_ref(pygit2.Repository(str(path)), change)
            winners.append(oid)

    threads = [threading.Thread(target=move, args=(oid, n % 2)) for n, oid in enumerate(oids[1:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [list_refs(repo)["refs/heads/main"]] == winners


def test_only_one_of_many_creators_succeeds(repo):
    path = Path(repo.path)
    oids = [commit(repo, f"n{n}") for n in range(6)]
    winners, losers = [], []

    def create(oid):
        try:
            update_refs(path, [RefChange("refs/heads/race", ZERO_OID, oid)])
            winners.append(oid)
        except RefMoved:
            losers.append(oid)

    threads = [threading.Thread(target=create, args=(oid,)) for oid in oids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(winners), len(losers)) == (1, 5)
    assert list_refs(repo) == {"refs/heads/race": winners[0]}


def test_what_others_may_create_at_the_same_moment_is_created_by_git(repo, git_log):
    """libgit2 looks before it has the lock whether it is there."""
    oid = commit(repo, "one")
    for name, by_git in {"refs/heads/new": True, "refs/tags/new": True, "refs/pull/1/head": False}.items():
        git_log.clear()
        move_ref(repo, RefChange(name, ZERO_OID, oid))
        assert any("update-ref" in line for line in git_log) is by_git
        assert list_refs(repo)[name] == oid


def test_delete_checks_the_expected_value(repo):
    one, two = commit(repo, "one"), commit(repo, "two")
    create_ref(repo, "refs/heads/x", one)
    with pytest.raises(RefMoved):
        delete_branch(repo, "x", two)
    assert delete_branch(repo, "x") == one
