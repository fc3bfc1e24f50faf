"""The commands that a client of SSH may run, and everything that looks like one."""

import pytest

from ingot_ssh.commands import Command, parse

GOOD = {
    "git-upload-pack 'ann/app.git'": Command("git-upload-pack", "ann", "app"),
    "git-upload-pack '/ann/app.git'": Command("git-upload-pack", "ann", "app"),
    "git-upload-pack '/ann/app'": Command("git-upload-pack", "ann", "app"),
    "git-upload-pack 'ann/app/'": Command("git-upload-pack", "ann", "app"),
    "git-receive-pack ann/app.git": Command("git-receive-pack", "ann", "app"),
    "git-upload-archive '/ann/a.b-c_d.git'": Command("git-upload-archive", "ann", "a.b-c_d"),
    "git-lfs-authenticate ann/app.git download": Command("git-lfs-authenticate", "ann", "app", "download"),
    "git-lfs-authenticate '/ann/app' upload": Command("git-lfs-authenticate", "ann", "app", "upload"),
}


@pytest.mark.parametrize("text", GOOD)
def test_a_command_of_git_is_read(text):
    assert parse(text) == GOOD[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "git-upload-pack",
        "git-upload-pack ''",
        "git-upload-pack 'ann'",
        "git-upload-pack 'ann/app/more'",
        "git-upload-pack '../../etc'x",
        "git-upload-pack '~ann/app'",
        "git-upload-pack 'ann/app' ",
        "git-upload-pack  'ann/app'",
        "git-upload-pack 'ann/app'; id",
        "git-upload-pack 'ann/app' 'ann/b'",
        "git-upload-pack --strict 'ann/app'",
        "git-upload-pack 'ann/app\n'",
        "git-upload-pack 'ann/app'\n",
        "git-upload-pack 'ann/äpp'",
        "git-upload-pack 'ann/app' download",
        "git-lfs-authenticate 'ann/app'",
        "git-lfs-authenticate 'ann/app' delete",
        "git upload-pack 'ann/app'",
        "GIT-UPLOAD-PACK 'ann/app'",
        "git-shell -c id",
        "scp -t x",
    ],
)
def test_everything_else_is_none(text):
    assert parse(text) is None
