"""Fixtures of tests of git."""

import pygit2
import pytest

from ingot_git.testing.recording import GitLog


@pytest.fixture
def git_log(tmp_path, monkeypatch):
    """Every command line that git is started with from here on, newest last; git itself still runs."""
    log = GitLog(tmp_path / "recording")
    monkeypatch.setenv("PATH", log.search_path)
    return log


@pytest.fixture
def unflushed():
    """Objects that no test needs after a power failure."""
    pygit2.settings.enable_fsync_gitdir(False)
    yield
    pygit2.settings.enable_fsync_gitdir(True)
