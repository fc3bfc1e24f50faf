"""A git that is too old is rejected before the service starts."""

import os

import pytest

from ingot_git.process.errors import GitUnsupported
from ingot_git.process.version import require_git, require_version


@pytest.mark.parametrize(
    "text",
    [b"git version 2.39.5\n", b"git version 2.39.5 (Apple Git-154)\n", b"git version 2.47.0-rc1\n",
     b"git version 3.0.0"],
)  # fmt: skip
def test_the_oldest_supported_git_and_newer_ones_are_accepted(text):
    require_version(text)


@pytest.mark.parametrize(
    "text", [b"git version 2.38.4\n", b"git version 1.40.0\n", b"", b"hub version 2.40\n"]
)
def test_an_older_git_is_rejected_with_one_line_that_says_what_to_install(text):
    with pytest.raises(GitUnsupported, match=r"is too old; install git 2\.39 or newer") as caught:
        require_version(text)
    assert "\n" not in str(caught.value)


def test_the_git_of_this_machine_is_accepted_and_a_missing_one_is_not(tmp_path, monkeypatch):
    require_git()
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path))
    with pytest.raises(GitUnsupported, match=r"git is not installed; install git 2\.39 or newer"):
        require_git()
