"""Comparing branches by their names."""

import re

import pytest

from ingot_contracts.testing.forms import form_of

from ..diffs.test_changes import PICTURE
from ..diffs.test_parsing import CHANGED
from ..forge import HOME
from ..world import ANN
from .test_commits import COMPARED, DROPPED, OPEN


@pytest.mark.parametrize(
    ("base", "head", "location"),
    [
        ("main", "topic/one", "/ann/demo/compare/main...topic/one"),
        ("main", "ä b", "/ann/demo/compare/main...%C3%A4%20b"),
        ("main", "x\r\nSet-Cookie: a=b", "/ann/demo/compare/main...x%0D%0ASet-Cookie%3A%20a%3Db"),
        ("//evil.example", "x?y#z", "/ann/demo/compare///evil.example...x%3Fy%23z"),
    ],
)
async def test_choosing_branches_leads_to_their_comparison_and_nowhere_else(world, base, head, location):
    answer = await world.client.get("/ann/demo/compare", params={"base": base, "head": head})

    assert (answer.status_code, answer.headers["location"]) == (303, location)
    assert "set-cookie" not in answer.headers


async def test_a_fork_leads_to_its_comparison_with_the_repository_it_came_from(pages, forge):
    parent = {"full_name": "bob/demo", "default_branch": "trunk"}
    forge.answers[HOME] |= {"fork": True, "parent": parent}
    forge.answers |= {f"{HOME}/contents-ext": {"dir_contents": []}, f"{HOME}/languages": {}}
    forge.answers[f"{HOME}/compare/main...topic"] = {"commits": [], "total_commits": 0}
    for page, branch in (("", "main"), ("/compare", "main"), ("/compare/main...topic", "topic")):
        shown = await pages.get(f"/ann/demo{page}", ANN)
        assert f'href="/bob/demo/compare/trunk...ann:{branch}"' in shown.text, page


@pytest.mark.parametrize(("is_fork", "head"), [(True, "topic"), (True, "carl:topic"), (False, "topic")])
async def test_in_a_fork_the_way_to_the_parent_stands_out_and_not_a_pull_request_into_itself(
    pages, forge, is_fork, head
):
    if is_fork:
        forge.answers[HOME] |= {"fork": True, "parent": {"full_name": "bob/demo", "default_branch": "trunk"}}
    forge.answers[f"{HOME}/compare/main...{head}"] = COMPARED
    shown = (await pages.get(f"/ann/demo/compare/main...{head}", ANN)).text
    leads = is_fork and ":" not in head
    assert ('<a class="button primary" href="/bob/demo/compare/trunk...ann:topic">' in shown) is leads
    assert ("<strong>Open a pull request in ann/demo itself</strong>" in shown) is leads
    assert ("<button>Create pull request</button>" in shown) is leads


async def test_the_changes_of_a_comparison_and_a_pull_request_are_there_as_text(pages, forge):
    compared, pull = f"{HOME}/compare/main...a/b", f"{HOME}/pulls/1"
    forge.answers |= {
        compared: COMPARED, f"{compared}?output=diff": CHANGED.encode(), pull: OPEN,
        f"{pull}.diff": CHANGED.encode(),
    }  # fmt: skip
    for page, address in (
        ("compare/main...a/b", "compare/main...a/b?output=diff"),
        ("pulls/1/files", f"pulls/1.diff?commit_id={OPEN['head']['sha']}&amp;base_branch=main"),
    ):
        shown = (await pages.get(f"/ann/demo/{page}")).text
        assert f'<a href="/ann/demo/{address}">Raw diff</a>' in shown


async def test_a_picture_of_a_comparison_is_shown_as_it_was_and_as_it_is(pages, forge):
    path = f"{HOME}/compare/main...bob:topic"
    sides = {"before": "2" * 40, "after": "1" * 40, "head_repo": "bob/demo"}
    forge.answers[path] = COMPARED | sides
    diff = PICTURE.format("--- a/p.PNG\n+++ b/p.PNG")
    forge.answers[f"{path}?output=diff"] = diff.encode()
    shown = (await pages.get("/ann/demo/compare/main...bob:topic", ANN)).text
    assert f'src="/ann/demo/raw/commit/{"2" * 40}/p.PNG"' in shown
    assert f'src="/bob/demo/raw/commit/{"1" * 40}/p.PNG"' in shown


@pytest.mark.parametrize("allow", [False, True])
async def test_maintainers_may_push_to_the_branch_of_a_fork_if_its_author_says_so(pages, forge, allow):
    forge.answers[f"{HOME}/compare/main...bob:topic"] = COMPARED
    page = "/ann/demo/compare/main...bob:topic"
    chosen = {"maintainers": "1"} if allow else {}
    await pages.submit(page, "Create pull request", to="bob%3Atopic", title="T", **chosen)
    (body,) = (body for method, path, body in forge.sent if (method, path) == ("POST", f"{HOME}/pulls"))
    assert body["allow_maintainer_edit"] is allow


def _branch(name, day):
    commit = {"id": "1" * 40, "message": f"of {name}\n\nmore", "timestamp": f"2026-01-{day:02}T03:04:05Z"}
    return {"name": name, "protected": False, "commit": commit}


async def test_branches_that_may_be_compared_are_links_with_the_latest_first(pages, forge):
    forge.answers[f"{HOME}/branches"] = [_branch("a/b", 1), _branch("main", 2), _branch("topic", 3)]
    shown = (await pages.get("/ann/demo/compare", ANN)).text
    links = re.findall(r'href="/ann/demo/compare/([^"]*)">(.*?)</a>', shown)
    assert links == [("main...topic", "topic into main"), ("main...a/b", "a/b into main")]
    assert "of topic ·" in shown
    assert "branches</a>" not in shown
    assert "a/b into topic" in (await pages.get("/ann/demo/compare?base=topic", ANN)).text
    forge.answers[f"{HOME}/branches"] = [_branch(f"b{number}", 1) for number in range(51)]
    assert 'href="/ann/demo/branches">All 51 branches</a>' in (await pages.get("/ann/demo/compare", ANN)).text


@pytest.mark.parametrize(("basehead", "unknown"), [
    ("main...topik", "topik"), ("main...bob:topik", "bob:topik"), ("mian...topic", "mian"),
    ("topik", "topik"),
])  # fmt: skip
async def test_a_branch_that_is_not_there_is_named_where_others_are_chosen(pages, forge, basehead, unknown):
    forge.failures[f"{HOME}/compare/{basehead}"] = 404
    forge.answers[f"{HOME}/branches"] = [_branch("main", 1), _branch("topic", 2)]
    forge.answers[f"{HOME}/commits"] = [] if basehead.startswith("mian") else [DROPPED]
    answer = await pages.get(f"/ann/demo/compare/{basehead}", ANN)
    assert answer.status_code == 404
    assert f"<p>There is no branch {unknown}.</p>" in answer.text
    assert "topic into main</a>" in answer.text
    head = basehead.rpartition("...")[2]
    assert form_of(answer.text, "/compare", "Compare").values["base"] == ["main"]
    assert form_of(answer.text, "/compare", "Compare").values["head"] == [head]


async def test_a_comparison_in_a_repository_that_is_not_there_names_no_branch(pages, forge):
    forge.failures |= {HOME: 404, f"{HOME}/compare/main...topik": 404}
    answer = await pages.get("/ann/demo/compare/main...topik", ANN)
    assert (answer.status_code, "There is no branch" in answer.text) == (404, False)
