"""Errors of libgit2 and of the system about a disk."""

import errno

import pygit2
import pytest

from ingot_git.process import disk
from ingot_git.process.errors import RepositoryDamaged, StorageFull


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setattr(disk, "_LOW_SPACE", 2**80)


def test_where_there_is_little_room_an_error_of_writing_is_for_want_of_it(tmp_path, little_room):
    with pytest.raises(StorageFull), disk.disk_errors(tmp_path), disk.writing():
        raise pygit2.GitError("the error before")


def test_where_there_is_little_room_what_cannot_be_read_is_damaged(tmp_path, little_room):
    with pytest.raises(RepositoryDamaged, match="inflate"), disk.disk_errors(tmp_path):
        raise pygit2.GitError("failed to inflate the object")


def test_where_there_is_room_an_error_of_writing_is_damage_unless_it_says_more(tmp_path):
    with pytest.raises(RepositoryDamaged), disk.disk_errors(tmp_path), disk.writing():
        raise pygit2.GitError("the error before")
    with pytest.raises(StorageFull), disk.disk_errors(tmp_path), disk.writing():
        raise pygit2.GitError("failed to write: No space left on device")
    with pytest.raises(StorageFull), disk.disk_errors():
        raise OSError(errno.ENOSPC, "full")
