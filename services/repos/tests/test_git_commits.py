"""Commit objects as plain values, hostile ones too."""

from datetime import UTC, datetime, timedelta

import pytest

from ingot_repos.git.commits import Person, commit_info, signature
from ingot_repos.git.errors import ObjectNotFound
from ingot_repos.git.storage import Storage

from .git_builders import AUTHOR, commit, raw_commit


@pytest.fixture
def repo(tmp_path):
    storage = Storage(tmp_path / "root")
    storage.create(1, "main")
    return storage.open(1)


def test_commit_info_has_author_time_and_message(repo):
    first = commit(repo, {"a": b"1"})
    info = commit_info(repo, commit(repo, {}, [first], "subject\n\nbody ü\n"))
    assert info.message == "subject\n\nbody ü\n"
    assert info.author == AUTHOR
    assert info.author.when.utcoffset() == timedelta(hours=5, minutes=30)
    assert info.parents == (first,)


@pytest.mark.parametrize("oid", ["", "--all", "1" * 40, "HEAD", "0" * 40, "a\0b"])
def test_unknown_commits_are_not_found(repo, oid):
    with pytest.raises(ObjectNotFound):
        commit_info(repo, oid)


@pytest.mark.parametrize(
    "text",
    [
        b"author A <a> 99999999999999999 +0000\ncommitter B <b> 1 +9999\n\nx",
        b"author \xff <\xfe> 1 -0000\ncommitter B <b> 1 +0000\nencoding unicode_escape\n\n\\ud800 \xff",
        b"author A <a> 1 +0000\ncommitter B <b> 1 +0000\nencoding rot13\n\n\xff",
        b"author A <a> -5 +0000\ncommitter B <b> 1 +0000\n\n\xed\xa0\x80",
    ],
)
def test_hostile_commits_become_plain_values(repo, text):
    info = commit_info(repo, raw_commit(repo, text))
    for value in (info.message, info.author.name, info.author.email, info.committer.when.isoformat()):
        value.encode()


def test_messages_in_another_encoding_are_read(repo):
    oid = raw_commit(
        repo, b"author \xe9 <a> 1 +0000\ncommitter B <b> 1 +0000\nencoding ISO-8859-1\n\ncaf\xe9"
    )
    assert commit_info(repo, oid).message == "café"
    assert commit_info(repo, oid).author.name == "é"


@pytest.mark.parametrize("name", ["", "<>", "\n", "a <b>\nparent x", "\0"])
def test_signatures_are_always_writable(repo, name):
    who = signature(Person(name, name, AUTHOR.when))
    oid = repo.create_commit(None, who, who, "m", repo.TreeBuilder().write(), [])
    info = commit_info(repo, str(oid))
    assert info.author.name
    assert not set("<>\n\0") & set(info.author.name + info.author.email)


def test_times_before_the_epoch_are_clamped(repo):
    oid = raw_commit(repo, b"author A <a> 0 +0000\ncommitter B <b> 0 +0000\n\nx")
    assert commit_info(repo, oid).author.when == datetime(1970, 1, 1, tzinfo=UTC)
