"""Work with git by HTTP and by SSH."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from api import add_ssh_key, api, new_repository
from tap import PASSWORD, SSH_PORT, TOKEN, URL, USER, check, run


def refs(url: str) -> str:
    return run("git", "ls-remote", url)


def exercise(transport: str, url: str, full_name: str) -> None:
    """Everything that git does, over one transport."""
    clone, other = f"{transport}-clone", f"{transport}-other"
    with check(f"clone by {transport}"):
        run("git", "clone", "-q", url, clone)
    with check(f"clone with protocol version 0 by {transport}"):
        run("git", "-c", "protocol.version=0", "clone", "-q", url, f"{transport}-v0")
    with check(f"push a commit by {transport}"):
        Path(clone, "file.txt").write_text("line\n" * 1000)
        run("git", "add", ".", folder=clone)
        run("git", "commit", "-qm", "add a file", folder=clone)
        run("git", "push", "-q", "origin", "HEAD", folder=clone)
        commit = run("git", "rev-parse", "HEAD", folder=clone).strip()
        assert api("GET", f"/repos/{full_name}/branches/main")["commit"]["id"] == commit
    with check(f"push a branch and an annotated tag atomically by {transport}"):
        run("git", "branch", "feature", folder=clone)
        run("git", "tag", "-a", "-m", "the first", "v1", folder=clone)
        run("git", "push", "-q", "--atomic", "origin", "feature", "v1", folder=clone)
        assert {"refs/heads/feature", "refs/tags/v1", "refs/tags/v1^{}"} <= set(refs(url).split())
    with check(f"fetch what another clone pushed by {transport}"):
        run("git", "clone", "-q", url, other)
        run("git", "commit", "-q", "--allow-empty", "-m", "one more", folder=other)
        run("git", "push", "-q", "origin", "HEAD", folder=other)
        run("git", "pull", "-q", "--ff-only", folder=clone)
        assert run("git", "rev-parse", "HEAD", folder=clone) == run("git", "rev-parse", "HEAD", folder=other)
    with check(f"force a push with a lease by {transport}"):
        run("git", "commit", "-q", "--amend", "--allow-empty", "-m", "changed", folder=clone)
        run("git", "push", "-q", "--force-with-lease", "origin", "HEAD", folder=clone)
    with check(f"shallow clone, then the rest, by {transport}"):
        run("git", "clone", "-q", "--depth", "1", url, f"{transport}-shallow")
        assert run("git", "rev-list", "--count", "HEAD", folder=f"{transport}-shallow").strip() == "1"
        run("git", "fetch", "-q", "--unshallow", folder=f"{transport}-shallow")
    with check(f"clone without blobs by {transport}"):
        run("git", "clone", "-q", "--filter=blob:none", url, f"{transport}-partial")
        assert Path(f"{transport}-partial", "file.txt").exists()
    with check(f"clone a mirror by {transport}"):
        run("git", "clone", "-q", "--mirror", url, f"{transport}-mirror")
        run("git", "fsck", "--strict", folder=f"{transport}-mirror")
    with check(f"delete a branch and a tag by {transport}"):
        run("git", "push", "-q", "origin", ":feature", ":refs/tags/v1", folder=clone)
        assert "refs/heads/feature" not in refs(url)
    with check(f"push 20 MiB by {transport}"):
        Path(clone, "large").write_bytes(os.urandom(20 << 20))
        run("git", "add", ".", folder=clone)
        run("git", "commit", "-qm", "add a large file", folder=clone)
        run("git", "push", "-q", "origin", "HEAD", folder=clone)


def main() -> None:
    name = new_repository("git-http")["full_name"]
    scheme, _, host = URL.partition("://")
    exercise("HTTP", f"{scheme}://{USER}:{TOKEN}@{host}/{name}.git", name)
    with check("clone with the password in a credential helper"):
        helper = f'!f() {{ echo "username={USER}"; echo "password={PASSWORD}"; }}; f'
        run("git", "-c", f"credential.helper={helper}", "clone", "-q", f"{URL}/{name}.git", "helper")
    with check("clone a private repository without a credential is refused"):
        private = new_repository("git-private", private=True)["full_name"]
        try:
            run("git", "clone", "-q", f"{URL}/{private}.git", "refused")
        except subprocess.CalledProcessError:
            assert not Path("refused").exists()
        else:
            raise AssertionError("it was cloned")
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key")
    add_ssh_key("git", Path("key.pub").read_text())
    os.environ["GIT_SSH_COMMAND"] = (
        f"ssh -i {Path('key').resolve()} -o IdentitiesOnly=yes"
        " -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    )
    name = new_repository("git-ssh")["full_name"]
    exercise("SSH", f"ssh://git@127.0.0.1:{SSH_PORT}/{name}.git", name)


main()
