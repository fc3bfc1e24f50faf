"""Work with git-lfs by HTTP and by SSH."""

import json
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from api import add_ssh_key, new_repository
from tap import SSH_PORT, TOKEN, URL, USER, check, run


def exercise(transport: str, url: str) -> None:
    """Everything that git-lfs does, over one transport."""
    clone, other, content = f"{transport}-clone", f"{transport}-other", os.urandom(3 << 20)
    run("git", "clone", "-q", url, clone)
    with check(f"push three objects by {transport}"):
        run("git", "lfs", "track", "*.bin", folder=clone)
        for name in ("one.bin", "two.bin", "three.bin"):
            Path(clone, name).write_bytes(name.encode() + content)
        run("git", "add", ".", folder=clone)
        run("git", "commit", "-qm", "add large files", folder=clone)
        run("git", "push", "-q", "origin", "HEAD", folder=clone)
    with check(f"clone them by {transport}"):
        run("git", "clone", "-q", url, other)
        assert Path(other, "two.bin").read_bytes() == b"two.bin" + content
    with check(f"fetch all and check them by {transport}"):
        run("git", "lfs", "fetch", "--all", folder=other)
        run("git", "lfs", "fsck", folder=other)
    with check(f"lock, list and unlock by {transport}"):
        run("git", "lfs", "lock", "one.bin", folder=clone)
        assert [lock["path"] for lock in json.loads(run("git", "lfs", "locks", "--json", folder=other))] == [
            "one.bin"
        ]
        run("git", "lfs", "unlock", "one.bin", folder=clone)
        assert json.loads(run("git", "lfs", "locks", "--json", folder=other)) == []
    with check(f"push a file that is locked by its owner by {transport}"):
        run("git", "lfs", "lock", "two.bin", folder=clone)
        Path(clone, "two.bin").write_bytes(b"changed" + content)
        run("git", "commit", "-qam", "change it", folder=clone)
        run("git", "push", "-q", "origin", "HEAD", folder=clone)
    with check(f"prune and pull again by {transport}"):
        run("git", "pull", "-q", "--ff-only", folder=other)
        run("git", "lfs", "prune", "--verify-remote", folder=other)
        assert Path(other, "two.bin").read_bytes() == b"changed" + content


def main() -> None:
    tools = Path("bin")
    tools.mkdir()
    (tools / "git-lfs").symlink_to(sys.argv[1])
    os.environ["PATH"] = f"{tools.resolve()}{os.pathsep}{os.environ['PATH']}"
    run("git", "lfs", "install")
    scheme, _, host = URL.partition("://")
    name = new_repository("lfs-http", private=True)["full_name"]
    exercise("HTTP", f"{scheme}://{USER}:{TOKEN}@{host}/{name}.git")
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key")
    add_ssh_key("git-lfs", Path("key.pub").read_text())
    os.environ["GIT_SSH_COMMAND"] = (
        f"ssh -i {Path('key').resolve()} -o IdentitiesOnly=yes"
        " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    )
    name = new_repository("lfs-ssh", private=True)["full_name"]
    exercise("SSH", f"ssh://git@127.0.0.1:{SSH_PORT}/{name}.git")


main()
