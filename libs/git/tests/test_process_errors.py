"""The stderr of a failed git process: only git's own lines count, whatever names users and remotes choose."""

import pytest

from ingot_git.process.command import GitArgs, clean_environment, run_git
from ingot_git.process.errors import GitFailed, StorageFull
from ingot_git.process.process_errors import git_failure, scrub
from ingot_git.storage.storage import Storage


@pytest.mark.parametrize(
    ("stderr", "kind"),
    [
        (b"fatal: write error: No space left on device\nfatal: invalid index-pack output\n", StorageFull),
        (b"Receiving objects: 10%\rerror: unable to write file x: File too large\n", StorageFull),
        (b"fatal: cannot create 'x': Disk quota exceeded", StorageFull),
        (b"fatal: sha1 file '/r/objects/pack/tmp_pack_x' write error. Out of diskspace\n", StorageFull),
        (b"error: pack-objects died of signal 25\n", StorageFull),
        (b"fatal: cannot update ref 'refs/heads/x': couldn't write '/r/refs/heads/x.lock'\n", StorageFull),
        (b"error: No space left on device: does not exist in index\n", GitFailed),
        (b"remote: fatal: write error: No space left on device\n", GitFailed),
        (b"fatal: remote error: upload-pack: No space left on device\n", GitFailed),
        (b"error: remote unpack failed: cannot write: No space left on device\n", GitFailed),
        (b"fatal: invalid ls-refs response: x: No space left on device\n", GitFailed),
        (b" ! [remote rejected] main -> main (x: No space left on device)\n", GitFailed),
    ],
)
def test_the_disk_is_full_if_git_says_so_of_itself(stderr, kind):
    assert isinstance(git_failure(128, stderr, None), kind)


def test_a_patch_of_a_file_with_such_a_name_is_no_full_disk(tmp_path):
    repo = Storage(tmp_path).create(1, "main")
    name = "x: No space left on device"
    patch = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n"
    environment = clean_environment({"GIT_INDEX_FILE": str(tmp_path / "index")})
    with pytest.raises(GitFailed, match="No space left on device"):
        run_git(GitArgs("apply", ("--cached",)), git_dir=repo, stdin=patch.encode(), environment=environment)


def test_scrub_hides_credentials_paths_and_control_characters(tmp_path):
    text = scrub(f"fatal: https://u:secret@host/x \x1b[31m {tmp_path}/objects\n".encode(), tmp_path)
    assert text == "fatal: https://***@host/x  [31m <repository>/objects"
