"""Made-up histories joined here and by git itself in a work tree: the same trees, the same conflicts."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pygit2.enums import FileMode

from ingot_repos.git.commits import Person, commit_info, signature
from ingot_repos.git.errors import MergeConflict
from ingot_repos.git.merge import merge, mergeable
from ingot_repos.git.refs import ZERO_OID, RefChange, update_refs
from ingot_repos.git.storage import Storage

WHO = Person("Ann", "ann@example.org", datetime(2021, 1, 1, tzinfo=UTC))
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Ann" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "ann@example.org" for who in ("AUTHOR", "COMMITTER")},
}
START = {name: tuple(f"{name}{n}" for n in range(12)) for name in "abc"}

# An edit changes, removes or adds a line of a file, or makes or removes a file. Lines that one side changes alone stay
# three lines away from those of the other, or are the very same: there diff3 leaves nothing to taste.
line = st.sampled_from([0, 5, 11])
edit = st.one_of(
    st.tuples(st.just("change"), st.sampled_from("abc"), line, st.sampled_from(["x", "y"])),
    st.tuples(st.just("write"), st.sampled_from(["d", "e/f", "g"]), st.sampled_from(["1", "2"])),
    st.tuples(st.just("remove"), st.sampled_from("abcd")),
)
side = st.lists(st.lists(edit, min_size=1, max_size=2), max_size=3)


def edited(files, edits):
    files = dict(files)
    for kind, name, *more in edits:
        if kind == "change" and name in files:
            lines = list(files[name])
            lines[more[0]] = f"{name}{more[0]}{more[1]}"
            files[name] = tuple(lines)
        elif kind == "write":
            files[name] = (more[0],)
        elif kind == "remove":
            files.pop(name, None)
    return files


def committed(repo, files, parents):
    index = pygit2.Index()
    for path, lines in files.items():
        blob = repo.create_blob("".join(f"{line}\n" for line in lines).encode())
        index.add(pygit2.IndexEntry(path, blob, FileMode.BLOB))
    who = signature(WHO)
    return str(repo.create_commit(None, who, who, "change\n", index.write_tree(repo), parents))


def history(repo, start, commits):
    """The tip after commits of these edits; those that change nothing are left out."""
    tip, files = start, START
    for edits in commits:
        changed = edited(files, edits)
        if changed != files:
            files, tip = changed, committed(repo, changed, [tip])
    return tip


def in_work_tree(bare, folder, base, *arguments):
    """What git makes of it: the tree of HEAD afterwards, None for a conflict; and how many commits main has not."""
    work = Path(folder) / "work"

    def git(*words):
        return subprocess.run(
            ["git", "-C", work, *words], env=ENVIRONMENT, capture_output=True, text=True, check=False
        )

    subprocess.run(
        ["git", "clone", "-q", "--shared", "--no-checkout", bare, work], env=ENVIRONMENT, check=True
    )
    git("checkout", "-q", "--detach", base)
    done = git(*arguments)
    tree = git("rev-parse", "HEAD^{tree}").stdout.strip() if done.returncode == 0 else None
    count = git("rev-list", "--count", "origin/main..HEAD").stdout.strip()
    return tree, int(count or 0)


@pytest.mark.parametrize("style", ["merge", "squash", "rebase", "rebase-merge"])
@settings(
    max_examples=15, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(ours=side, theirs=side)
def test_histories_are_joined_as_git_joins_them(tmp_path_factory, style, ours, theirs):
    folder = tmp_path_factory.mktemp("joined")
    storage = Storage(folder / "root")
    bare = storage.create(1, "main")
    repo = storage.open(1)
    root = committed(repo, START, [])
    base, head = history(repo, root, ours), history(repo, root, theirs)
    update_refs(
        bare, [RefChange("refs/heads/main", ZERO_OID, base), RefChange("refs/heads/topic", ZERO_OID, head)]
    )
    if style.startswith("rebase"):
        wanted, made = in_work_tree(bare, folder, head, "rebase", "-q", "--no-stat", base)
    else:
        wanted, made = in_work_tree(bare, folder, base, "merge", "-q", "--no-edit", head)
    try:
        new = merge(
            repo, base_ref="refs/heads/main", expected_base=base, head=head, style=style, message="joined\n",
            author=WHO, committer=WHO,
        )  # fmt: skip
    except MergeConflict:
        new = None
    if not style.startswith("rebase"):
        assert mergeable(repo, base, head).clean == (new is not None)
    assert (commit_info(repo, new).tree if new else None) == wanted
    if new and style == "rebase":
        assert repo.ahead_behind(new, base) == (made, 0)
    tip = storage.open(1).references["refs/heads/main"].target
    assert str(tip) == (new or base)
