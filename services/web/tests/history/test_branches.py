"""Branches as they are listed, made, deleted and brought up to date."""

import re
from html import unescape
from urllib.parse import parse_qs

import pytest

from ..forge import HOME, MOMENT
from ..previews.test_previews import IN_PLACE, is_part
from ..world import ANN, BOB
from .test_commits import DROPPED


async def test_a_branch_of_a_fork_gets_what_its_parent_has(pages, forge):
    own = forge.answers[HOME]
    forge.answers |= {f"{HOME}/contents-ext": {"dir_contents": []}, f"{HOME}/languages": {}}
    forge.answers |= {f"{HOME}/contents-ext/src": {"dir_contents": []}}
    parent = {"full_name": "bob/demo", "default_branch": "trunk", "clone_url": "http://forge/bob/demo.git"}
    fork = own | {"fork": True, "parent": parent}
    readable = {"permissions": {"admin": False, "push": False, "pull": True}}
    for repository, page, caller, is_offered in (
        (fork, "", ANN, True), (fork, "/src/branch/topic/one", ANN, True), (own, "", ANN, False),
        (fork, "", None, False),
        (fork | readable, "", BOB, False), (fork | {"archived": True}, "", ANN, False),
        (fork, "/src/branch/main/src", ANN, False),
    ):  # fmt: skip
        forge.answers[HOME] = repository
        forge.answers[f"{HOME}/git/refs/heads/topic"] = [{"ref": "refs/heads/topic/one"}]
        shown = (await pages.get(f"/ann/demo{page}", caller)).text
        assert ("Update from bob/demo</button>" in shown) is is_offered, (page, caller)
    forge.answers[HOME] = fork
    page, to = "/ann/demo/src/branch/topic/one", "/branches/merge-upstream"
    commits = "/ann/demo/commits/branch/topic/one"
    for merge, words in (
        ("fast-forward", "the parent repository now."),
        ("up-to-date", "the parent repository already."),
        ("x", ""),
    ):
        forge.answers[f"POST {HOME}/merge-upstream"] = {"merge_type": merge}
        done = await pages.submit(page, "Update from bob/demo", to=to)
        assert forge.sent[-1] == ("POST", f"{HOME}/merge-upstream", {"branch": "topic/one"})
        assert done.headers["location"].startswith(f"{commits}?outcome={merge}&proof=")
        shown = (await pages.get(done.headers["location"], ANN)).text
        assert (words in shown, "up to date with" in shown) == (True, bool(words)), merge
        for crafted in (f"{commits}?merge={merge}", f"{commits}?outcome={merge}"):
            assert "up to date with" not in (await pages.get(crafted, ANN)).text
    forge.answers[f"{HOME}/commits"] = [DROPPED] * 31
    shown = (await pages.get(f"{commits}?outcome=x&proof=1&author=ann", ANN)).text
    assert 'href="?author=ann&amp;page=2"' in shown, "other pages do not say again what was merged"
    forge.refusals[f"{HOME}/merge-upstream"] = (409, b'{"message": "the branches conflict", "url": ""}')
    refused = await pages.submit(page, "Update from bob/demo", to=to)
    assert (refused.status_code, "the branches conflict" in refused.text) == (409, True)
    assert "git pull --no-rebase http://forge/bob/demo.git topic/one\n" in refused.text


async def test_who_administers_a_repository_gets_from_branches_to_their_protection(pages, forge):
    link, own = 'href="/ann/demo/settings/branches">Protection</a>', forge.answers[HOME]
    writes = own | {"permissions": {"admin": False, "push": True, "pull": True}}
    for repository, caller, is_shown in ((own, ANN, True), (writes, BOB, False), (own, None, False)):
        forge.answers[HOME] = repository
        assert (link in (await pages.get("/ann/demo/branches", caller)).text) is is_shown


async def test_a_deleted_branch_is_named_and_can_be_restored(pages, forge):
    commit = {"id": "3" * 40, "message": "go on", "timestamp": MOMENT}
    forge.answers[f"{HOME}/branches"] = [{"name": "topic", "protected": False, "commit": commit}]
    moved = "4" * 40  # since the page was loaded
    forge.headers[f"{HOME}/branches/topic"] = {"x-deleted-commit": moved}
    page = "/ann/demo/branches"
    gone = await pages.submit(page, "Delete", to=f"{page}/delete")
    assert forge.sent[0][:2] == ("DELETE", f"{HOME}/branches/topic")
    address = gone.headers["location"]
    shown = (await pages.get(address, ANN)).text
    await pages.submit(shown, "Restore branch", to="/branches")
    assert forge.sent[1][2] == {"new_branch_name": "topic", "old_ref_name": moved}
    for other in (
        f"{page}?deleted=topic&sha={moved}",
        address.replace("topic", "other"),
        address.replace(moved, "3" * 40),
    ):
        assert "Restore branch" not in (await pages.get(other, ANN)).text, other
    assert "Restore branch" not in (await pages.get(address, BOB)).text
    forge.answers[f"{HOME}/branches"] *= 31
    shown = (await pages.get(address, ANN)).text
    assert 'href="/ann/demo/branches?page=2"' in shown, "other pages do not say again what was deleted"


@pytest.mark.parametrize("page", ["src/branch/main", "commits/branch/main", "find/branch/main"])
async def test_the_menu_of_branches_asks_for_them_when_it_is_opened(pages, forge, page):
    names = ("main", "fix/it")
    forge.answers[f"{HOME}/branches"] = [{"name": name} for name in names]
    forge.answers[f"{HOME}/contents-ext"] = {"dir_contents": []}
    forge.answers[f"{HOME}/git/trees/refs/heads/main"] = {"tree": [], "total_count": 0}
    shown = (await pages.get(f"/ann/demo/{page}")).text
    assert f"{HOME}/branches" not in forge.read_paths
    assert 'href="/ann/demo/branches"' in shown
    (address,) = re.findall(r'hx-get="([^"]+)" hx-trigger="toggle from:closest details once"', shown)
    part = await pages.client.get(unescape(address), headers=IN_PLACE)
    assert is_part(part)
    base = f"/ann/demo/{page.partition('/')[0]}/branch"
    assert f'<a href="{base}/main" aria-current="true">main</a>' in part.text
    assert f'<a href="{base}/fix/it">fix/it</a>' in part.text
    assert "All 2 branches" in part.text
    for other in (address.replace("to=", "to=.."), "/ann/demo/branches"):
        forge.answers[f"{HOME}/branches"] = []
        assert "No branches yet" in (await pages.client.get(unescape(other), headers=IN_PLACE)).text


async def test_the_menu_finds_branches_and_tags_as_one_types(pages, forge):
    for name, kind in (("branches", "branch"), ("tags", "tag")):
        path = f"{HOME}/{name}"
        forge.answers[path] = [{"name": f"v{number}"} for number in range(30)]
        address = f"/ann/demo/{name}?to=src&from=v1&q=v"
        part = (await pages.client.get(address, headers=IN_PLACE)).text
        assert parse_qs(forge.queries[path]) == {"limit": ["20"], "q": ["v"]}
        assert f'<a href="/ann/demo/src/{kind}/v1" aria-current="true">v1</a>' in part
        assert (part.count("<a href="), f'href="/ann/demo/{name}">All {name}</a>' in part) == (21, True)
        forge.answers[path] = []
        assert "Nothing matches." in (await pages.client.get(address, headers=IN_PLACE)).text
