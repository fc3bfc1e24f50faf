"""Names of files in quotes, against git."""

import random
import subprocess

import pygit2

from ingot_git.process.quoted_paths import quoted, unquoted


def written_by_git(repo, names):
    """The names as git writes them into lines."""
    blob = str(repo.create_blob(b"x"))
    index = pygit2.Repository(repo.path).path + "index"
    lines = b"".join(b"100644 %s\t%s\0" % (blob.encode(), name) for name in names)
    command = ["git", f"--git-dir={repo.path}"]
    environment = {"GIT_INDEX_FILE": index, "PATH": "/usr/bin:/bin"}
    subprocess.run([*command, "update-index", "-z", "--index-info"], input=lines, env=environment, check=True)
    listed = subprocess.run([*command, "ls-files"], capture_output=True, env=environment, check=True)
    return listed.stdout.splitlines()


def test_names_are_quoted_and_read_as_git_does(tmp_path):
    repo = pygit2.init_repository(str(tmp_path / "bare.git"), bare=True)
    numbers = random.Random(0)
    bytes_of_names = [code for code in range(1, 256) if code != 0x2F]
    names = {bytes([code]) for code in bytes_of_names} - {b"."}
    names |= {bytes(numbers.choices(bytes_of_names, k=numbers.randrange(2, 9))) for _ in range(2000)} - {
        b".."
    }
    written = written_by_git(repo, names)
    assert {unquoted(text) for text in written} == names
    assert {quoted(name) for name in names} == set(written)
