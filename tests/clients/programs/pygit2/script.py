"""Work with libgit2 over HTTP."""

import sys
from pathlib import Path

import pygit2

sys.path.insert(0, str(Path(__file__).parents[1]))
from api import api, new_repository
from tap import PASSWORD, TOKEN, URL, USER, check

CALLBACKS = pygit2.RemoteCallbacks(credentials=pygit2.UserPass(USER, TOKEN))
SIGNATURE = pygit2.Signature(USER, f"{USER}@example.org")


def commit(repository: pygit2.Repository, name: str, text: str) -> str:
    """Commit one file to the branch of HEAD."""
    Path(repository.workdir, name).write_text(text)
    repository.index.add(name)
    repository.index.write()
    tree = repository.index.write_tree()
    return str(
        repository.create_commit("HEAD", SIGNATURE, SIGNATURE, f"add {name}", tree, [repository.head.target])
    )


def main() -> None:
    name = new_repository("pygit2", private=True)["full_name"]
    url = f"{URL}/{name}.git"
    with check("clone with a token"):
        repository = pygit2.clone_repository(url, "clone", callbacks=CALLBACKS)
    with check("clone with a password"):
        password = pygit2.RemoteCallbacks(credentials=pygit2.UserPass(USER, PASSWORD))
        other = pygit2.clone_repository(url, "other", callbacks=password)
    with check("a wrong password is refused"):
        wrong = pygit2.RemoteCallbacks(credentials=pygit2.UserPass(USER, "wrong"))
        try:
            pygit2.clone_repository(url, "refused", callbacks=wrong)
        except pygit2.GitError:
            pass
        else:
            raise AssertionError("it was cloned")
    with check("push a commit"):
        new = commit(repository, "file.txt", "text\n")
        repository.remotes["origin"].push(["refs/heads/main"], callbacks=CALLBACKS)
        assert api("GET", f"/repos/{name}/branches/main")["commit"]["id"] == new
    with check("fetch it"):
        other.remotes["origin"].fetch(callbacks=CALLBACKS)
        assert str(other.references["refs/remotes/origin/main"].target) == new
    with check("fetch with depth 1"):
        pygit2.clone_repository(url, "shallow", callbacks=CALLBACKS, depth=1)
    with check("push a branch and a tag"):
        repository.references.create("refs/heads/feature", new)
        repository.create_tag("v1", new, pygit2.enums.ObjectType.COMMIT, SIGNATURE, "the first")
        repository.remotes["origin"].push(["refs/heads/feature", "refs/tags/v1"], callbacks=CALLBACKS)
        assert [tag["name"] for tag in api("GET", f"/repos/{name}/tags")] == ["v1"]
    with check("list references"):
        heads = repository.remotes["origin"].list_heads(callbacks=CALLBACKS)
        assert len(heads) >= 4
    with check("delete a branch"):
        repository.remotes["origin"].push([":refs/heads/feature"], callbacks=CALLBACKS)
        assert [branch["name"] for branch in api("GET", f"/repos/{name}/branches")] == ["main"]


main()
