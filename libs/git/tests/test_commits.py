"""Commit objects as plain values, hostile ones too."""

import contextlib
import random
import subprocess
from datetime import UTC, datetime, timedelta

import pygit2
import pytest

from ingot_git.history.commits import Person, commit_info, signature
from ingot_git.process.errors import ObjectNotFound
from ingot_git.storage.storage import Storage
from ingot_git.testing.builders import AUTHOR, commit, raw_commit


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


@pytest.mark.parametrize(
    "name", ["", "<>", "\n", "a <b>\nparent x", "\0", ".", "\\", "'\"", "\\.x.\\", "\x1f"]
)
def test_signatures_are_always_writable(repo, name):
    who = signature(Person(name, name, AUTHOR.when))
    oid = repo.create_commit(None, who, who, "m", repo.TreeBuilder().write(), [])
    info = commit_info(repo, str(oid))
    assert info.author.name
    assert not set("<>\n\0") & set(info.author.name + info.author.email)


def test_times_before_the_epoch_are_clamped(repo):
    oid = raw_commit(repo, b"author A <a> 0 +0000\ncommitter B <b> 0 +0000\n\nx")
    assert commit_info(repo, oid).author.when == datetime(1970, 1, 1, tzinfo=UTC)


NAMES = (
    b"J. Doe Jr.",
    b".x,",
    b"A  B",
    b" A",
    b'"Q"',
    b"'q'",
    b"a;b:",
    b"back\\",
    b"\xc3\xa9.",
    b"\xff.",
    b"N>",
    b"",
    b"  ",
    b"\t.\t",
)
ADDRESSES = (b"a@example.org", b"a@example.org.", b".a@b", b"", b" a ", b"a<b", b'"a"@b', b"a@b;")
TIMES = (
    b" 5 +0000",
    b" 1700000000 +0530",
    b" 1700000000 -0330",
    b" 1 +0060",
    b" 7 -0001",
    b"8 +0100",
    b" 9   -1130",
    b" 4102444800 +0000",
)
MESSAGES = (
    b"x", b"x\n", b"\n\n\n  \n lead\n\nbody \n\n", b"", b"\n", b"\r\nx\r\n", b" \n\t\nx", b"x\0y", b"\n\0",
    b"a\n\n\n\nb", b"\xff\n",
)  # fmt: skip


def odd_commits(repo):
    """Commits with each of these names, addresses, times and messages, in several encodings."""
    numbers = random.Random(0)
    for _ in range(1500):
        people = [
            field + b" " + numbers.choice(NAMES) + numbers.choice((b" ", b" ", b""))
            + b"<" + numbers.choice(ADDRESSES) + b">"
            + numbers.choice(TIMES)
            for field in (b"author", b"committer")
        ]  # fmt: skip
        encoding = numbers.choice(([], [], [b"encoding ISO-8859-1"], [b"encoding UTF-8"]))
        message = numbers.choice(MESSAGES)
        text = b"\n".join([*people, *encoding, b"", message])
        with contextlib.suppress(pygit2.GitError):  # libgit2 opens no such commit
            oid = raw_commit(repo, text)
            assert isinstance(repo[oid], pygit2.Commit)
            yield oid


def shown_by_git(repo, oids):
    """Names, addresses, times and messages by the ids of commits."""
    form = "%H%x01%an%x01%ae%x01%ad%x01%cn%x01%ce%x01%cd%x01%B%x02"
    output = subprocess.run(
        ["git", f"--git-dir={repo.path}", "log", "--no-walk", "--stdin", "--date=raw", "--encoding=UTF-8",
         f"--format=tformat:{form}"],
        input="\n".join(oids).encode(), capture_output=True, check=True,
    ).stdout.decode("utf-8", "replace")  # fmt: skip
    return {
        fields[0]: fields[1:]
        for fields in (one.removeprefix("\n").split("\1") for one in output.split("\2")[:-1])
    }


def raw_date(when):
    seconds = int(when.utcoffset().total_seconds())
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    return f"{int(when.timestamp())} {sign}{minutes // 60:02}{minutes % 60:02}"


def test_names_times_and_messages_are_shown_as_git_shows_them(repo):
    oids = set(odd_commits(repo))
    expected = shown_by_git(repo, oids)
    assert len(expected) == len(oids) > 500
    for oid, texts in expected.items():
        info = commit_info(repo, oid)
        people = [[one.name, one.email, raw_date(one.when)] for one in (info.author, info.committer)]
        # An hour may be written as 60 minutes.
        assert [*people[0], *people[1], info.message] == [text.replace("+0060", "+0100") for text in texts]
