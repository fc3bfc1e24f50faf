"""Addresses of Gitea lead to the pages here."""

import re
import xml.etree.ElementTree as ET

import pytest

from ingot_web.site.api.other_names import NAMES

from ..forge import HOME, issue
from ..world import ANN

OWNED = "/ann/demo"
SHA = "1" * 40
VALUES = {
    "owner": "ann",
    "repo": "demo",
    "org": "crew",
    "milestone_id": "3",
    "index": "3",
    "sha": SHA,
    "ref": "branch/main",
}


def _filled(pattern):
    return re.sub(r"{(\w+)(?::\w+)?}", lambda name: VALUES[name[1]], pattern)


async def test_every_other_name_leads_to_a_page_that_there_is(pages):
    assert (await pages.client.request("OPTIONS", "/ann/demo/nothing")).status_code == 404
    for name, page in NAMES.items():
        answer = await pages.get(_filled(name))
        target = answer.headers["location"]
        assert (answer.status_code, target) == (303, _filled(page.replace("{ref}", "/{ref}")))
        assert (await pages.client.request("OPTIONS", target)).status_code == 204, target


async def test_what_an_old_address_names_is_asked_of_the_services(pages, forge):
    teams = [{"id": 6, "name": "smith"}, {"id": 7, "name": "smiths"}]
    forge.answers |= {
        f"{HOME}/git/refs/heads/main": {"ref": "refs/heads/main"},
        f"{HOME}/git/refs/heads/feature": [{"ref": f"refs/heads/feature/{name}"} for name in "xy"],
        f"{HOME}/git/refs/tags/v1": [{"ref": "refs/tags/v1"}],
        f"{HOME}/releases/latest": {"tag_name": "v/1 b"},
        "/orgs/crew/teams/search": {"ok": True, "data": teams},
    }
    for name, page in (
        ("/src/main", "/src/branch/main"),
        ("/src/main/a%20b.py?display=source", "/src/branch/main/a%20b.py?display=source"),
        ("/src/feature/x/a.py", "/src/branch/feature/x/a.py"),
        ("/src/v1/a.py", "/src/tag/v1/a.py"),
        (f"/src/{SHA}/a.py", f"/src/commit/{SHA}/a.py"),
        ("/commits/main", "/commits/branch/main"),
        ("/raw/main/a.py", "/raw/branch/main/a.py"),
        ("/media/v1/a.py", "/media/tag/v1/a.py"),
        ("/blame/main/a.py", "/blame/branch/main/a.py"),
        (f"/blame/{SHA}/a.py", f"/blame/commit/{SHA}/a.py"),
        ("/commits?author=ann", "/commits/branch/main?author=ann"),
        ("/graph", "/commits/branch/main"),
        ("/releases/latest", "/releases/tag/v/1%20b"),
        ("/pulls/3/commits/abc?a=b", "/commit/abc?a=b"),
    ):
        answer = await pages.get(OWNED + name)
        assert (answer.status_code, answer.headers["location"]) == (303, OWNED + page)
    for name, form in (("Smiths", ""), ("smiths/repositories", ""), ("smiths/edit", "/edit")):
        answer = await pages.get(f"/org/crew/teams/{name}")
        assert answer.headers["location"] == f"/org/crew/settings/teams/7{form}"


async def test_a_full_id_in_an_old_address_is_a_commit_whatever_refs_are_called(pages, forge):
    for oid in (SHA, "A" * 40, "b" * 64):
        for folder in ("heads", "tags"):
            refs = [{"ref": f"refs/{folder}/{oid}"}, {"ref": f"refs/{folder}/{oid}/docs"}]
            forge.answers[f"{HOME}/git/refs/{folder}/{oid}"] = refs
        for page in ("src", "raw", "media", "commits", "blame"):
            answer = await pages.get(f"{OWNED}/{page}/{oid}/docs/a.py")
            assert answer.headers["location"] == f"{OWNED}/{page}/commit/{oid}/docs/a.py"


async def test_what_there_is_not_has_no_other_name(pages):
    for name in ("/ann/demo/src/nothing/a.py", "/org/crew/teams/smiths", "/ann/demo/commits/x"):
        assert (await pages.get(name)).status_code == 404


async def test_the_number_of_an_issue_leads_from_pull_requests_to_the_issue(pages, forge):
    forge.failures[f"{HOME}/pulls/1"] = 404
    answer = await pages.get("/ann/demo/pulls/1?page=2")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ann/demo/issues/1?page=2")
    forge.answers[f"{HOME}/issues/1"] = issue(pull_request={"merged": False})
    assert (await pages.get("/ann/demo/pulls/1")).status_code == 404, "it leads nowhere in a circle"


async def test_an_address_proposes_the_text_of_an_issue_and_the_type_of_a_webhook(pages):
    shown = (await pages.get("/ann/demo/issues/new?title=It+leaks&body=%3Cb%3E+1", ANN)).text
    assert 'value="It leaks"' in shown
    assert "\n&lt;b&gt; 1</textarea>" in shown
    shown = (await pages.get("/ann/demo/settings/hooks/new?type=discord", ANN)).text
    assert '<option value="discord" selected>' in shown


async def test_a_comparison_has_two_dots_or_three_or_the_head_alone(pages, forge):
    for name in ("main...topic", "main..topic", "topic"):
        forge.answers[f"{HOME}/compare/{name}"] = {"commits": [], "total_commits": 0}
        shown = (await pages.get(f"/ann/demo/compare/{name}")).text
        assert "topic has nothing that main does not have" in shown


async def test_the_feed_of_a_branch_is_another_page_than_the_commits_of_a_file(pages, forge):
    forge.answers[f"{HOME}/git/refs/heads/feature"] = [{"ref": "refs/heads/feature/x"}]
    for name in ("main.atom", "main.rss", "feature/x.atom"):
        answer = await pages.get(f"/ann/demo/commits/branch/{name}")
        kind = name.rpartition(".")[2]
        assert answer.headers["content-type"] == f"application/{kind}+xml; charset=utf-8", name
    answer = await pages.get("/ann/demo/commits/branch/main/news.atom")
    assert answer.headers["content-type"].startswith("text/html")


async def test_a_feed_has_the_commits_of_a_branch_or_of_one_file(pages, forge):
    for address, path in (("atom/branch/main", ""), ("rss/branch/main/src/a.py", "src/a.py")):
        answer = await pages.get(f"/ann/demo/{address}")
        kind = address.partition("/")[0]
        assert answer.headers["content-type"] == f"application/{kind}+xml; charset=utf-8", address
        assert f"path={path}&" in forge.queries[f"{HOME}/commits"].replace("%2F", "/")


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("rss/branch/main", "commits/branch/main"),
        ("rss/branch/main/src/a.py", "commits/branch/main/src/a.py"),
        ("issues.rss", "issues"),
        ("releases.rss", "releases"),
    ],
)
async def test_a_feed_that_is_asked_for_as_rss_is_rss_and_leads_to_its_page(pages, address, page):
    answer = await pages.get(f"/ann/demo/{address}")
    assert answer.headers["content-type"] == "application/rss+xml; charset=utf-8"
    shown = ET.fromstring(answer.text)
    assert (shown.tag, shown.get("version")) == ("rss", "2.0")
    assert (shown.findtext("channel/link") or "").endswith(f"/ann/demo/{page}")
    assert len(shown.findall("channel/item/pubDate")) == len(shown.findall("channel/item"))


async def test_the_organizations_of_the_caller_are_on_their_page(pages):
    answer = await pages.get("/user/settings/organization", ANN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ann")
    assert (await pages.get("/user/settings/organization")).status_code == 401
