"""Branches with the commits at their tips, and the signatures of these."""

import pygit2

from ingot_git.changes.branches import branch_with_tip, page_of_branches
from ingot_git.history.signatures import CommitSignature
from ingot_git.storage.read_cache import SharedCache
from ingot_git.testing.builders import commit, diverged_branches, raw_commit, set_branches

SIGNED = b"author a <a@x> 1 +0000\ncommitter a <a@x> 1 +0000\n"


def test_each_branch_of_a_page_has_the_commit_and_signature_of_its_tip(tmp_path):
    repo = pygit2.init_repository(tmp_path, bare=True)
    _, main, topic = diverged_branches(repo)
    signed = raw_commit(repo, SIGNED + b"gpgsig -----BEGIN SSH SIGNATURE-----\n x\n\nsigned\n")
    set_branches(repo, copy=main, signed=signed)
    tips, total = page_of_branches(repo, "", 0, 50, lambda info: info)
    assert [(name, tip.commit.oid) for name, tip in tips] == [
        ("copy", main),
        ("main", main),
        ("signed", signed),
        ("topic", topic),
    ]
    assert total == 4
    by_name = dict(tips)
    assert by_name["copy"] is by_name["main"]  # read once
    tree = repo[signed].tree_id
    assert by_name["signed"].signature == CommitSignature(
        b"-----BEGIN SSH SIGNATURE-----\nx", b"tree %s\n%s\nsigned\n" % (str(tree).encode(), SIGNED)
    )
    assert [tip.signature for name, tip in tips if name != "signed"] == [None] * 3
    assert branch_with_tip(repo, "signed", SharedCache()) == ("signed", by_name["signed"])


def test_the_tip_of_a_branch_is_read_once_and_never_that_of_before(tmp_path):
    repo = pygit2.init_repository(tmp_path, bare=True)
    _, main, topic = diverged_branches(repo)
    tips = SharedCache(10_000)
    _, first = branch_with_tip(repo, "main", tips)
    assert branch_with_tip(repo, "main", tips)[1] is first
    set_branches(repo, main=topic)
    assert branch_with_tip(repo, "main", tips)[1].commit.oid == topic
    set_branches(repo, main=main)
    assert branch_with_tip(repo, "main", tips)[1] is first


def test_a_tip_counts_by_its_bytes(tmp_path):
    repo = pygit2.init_repository(tmp_path, bare=True)
    set_branches(repo, main=commit(repo, {}, [], "m" * 10_000))
    tips = SharedCache(40_000)
    _, first = branch_with_tip(repo, "main", tips)
    assert branch_with_tip(repo, "main", tips)[1] is not first


def test_texts_of_a_page_are_clipped(tmp_path):
    repo = pygit2.init_repository(tmp_path, bare=True)
    set_branches(repo, main=commit(repo, {"a": b"a"}))
    [(_, tip)], _ = page_of_branches(repo, "MAI", 0, 1, lambda _: "clipped")
    assert tip.commit == "clipped"
