"""Work with dulwich over HTTP."""

import sys
from pathlib import Path

from dulwich import porcelain

sys.path.append(str(Path(__file__).parents[1]))
from api import api, new_repository
from tap import PASSWORD, TOKEN, URL, USER, check


def main() -> None:
    name = new_repository("dulwich", private=True)["full_name"]
    url = f"{URL}/{name}.git"
    account = {"username": USER, "password": TOKEN}
    with check("clone with a token"):
        repository = porcelain.clone(url, "clone", errstream=porcelain.NoneStream(), **account)
    with check("clone with a password"):
        porcelain.clone(url, "other", errstream=porcelain.NoneStream(), username=USER, password=PASSWORD)
    with check("shallow clone"):
        porcelain.clone(url, "shallow", depth=1, errstream=porcelain.NoneStream(), **account)
    with check("push a commit"):
        Path("clone/file.txt").write_text("text\n")
        porcelain.add(repository, paths=["clone/file.txt"])
        new = porcelain.commit(repository, message=b"add a file")
        porcelain.push(repository, url, b"refs/heads/main", errstream=porcelain.NoneStream(), **account)
        assert api("GET", f"/repos/{name}/branches/main")["commit"]["id"] == new.decode()
    with check("fetch it"):
        fetched = porcelain.fetch("other", url, errstream=porcelain.NoneStream(), **account)
        assert fetched.refs[b"refs/heads/main"] == new
    with check("push a branch and a tag"):
        porcelain.branch_create(repository, "feature")
        porcelain.tag_create(repository, b"v1", message=b"the first", annotated=True)
        for ref in (b"refs/heads/feature", b"refs/tags/v1"):
            porcelain.push(repository, url, ref, errstream=porcelain.NoneStream(), **account)
        assert [tag["name"] for tag in api("GET", f"/repos/{name}/tags")] == ["v1"]
    with check("list references"):
        assert len(porcelain.ls_remote(url, **account).refs) >= 4
    with check("delete a branch"):
        porcelain.push(repository, url, b":refs/heads/feature", errstream=porcelain.NoneStream(), **account)
        assert [branch["name"] for branch in api("GET", f"/repos/{name}/branches")] == ["main"]


main()
