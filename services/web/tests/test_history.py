"""Comparing branches by their names, and files that are gone."""

import re
from html import unescape

import pytest

from ingot_contracts.testing.forms import form_of
from ingot_web.core import diffs

from .forge import ANN_USER, HOME, MOMENT, issue
from .test_diffs import CHANGED
from .test_forms import HEAD
from .test_previews import IN_PLACE, is_part
from .world import ANN, BOB

DROPPED = {
    "sha": "1" * 40, "html_url": "", "author": ANN_USER, "parents": [{"sha": "2" * 40}],
    "commit": {"message": "drop it", "author": {"name": "Ann"}, "committer": {"date": MOMENT}, "verification": None},
}  # fmt: skip

COMPARED = {"commits": [DROPPED], "total_commits": 1}
OPEN = issue(pull_request={"merged": False, "draft": False}, base={"ref": "main"}, head=HEAD, merged=False)


def added(path, count):
    """The diff of a new file with that many lines."""
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{count} @@\n" + "+x\n" * (count - 1) + "+y\n"


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
    assert ("<button>Open the pull request</button>" in shown) is leads


async def test_a_branch_of_a_fork_gets_what_its_parent_has(pages, forge):
    own = forge.answers[HOME]
    forge.answers |= {f"{HOME}/contents-ext": {"dir_contents": []}, f"{HOME}/languages": {}}
    forge.answers |= {f"{HOME}/contents-ext/src": {"dir_contents": []}}
    parent = {"full_name": "bob/demo", "default_branch": "trunk", "clone_url": "http://forge/bob/demo.git"}
    fork = own | {"fork": True, "parent": parent}
    readable = {"permissions": {"admin": False, "push": False, "pull": True}}
    for repository, page, caller, is_offered in (
        (fork, "", ANN, True), (fork, "/src/branch/topic/one", ANN, True), (own, "", ANN, False), (fork, "", None, False),
        (fork | readable, "", BOB, False), (fork | {"archived": True}, "", ANN, False), (fork, "/src/branch/main/src", ANN, False),
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


async def test_the_files_of_a_commit_and_of_a_comparison_have_pages(pages, forge):
    commit = DROPPED | {"commit": DROPPED["commit"] | {"verification": None}}
    diff, compared = f"{HOME}/git/commits/{'1' * 40}.diff", f"{HOME}/compare/main...topic"
    texts = (diff, f"{compared}?output=diff")
    forge.answers |= {f"{HOME}/git/commits/{'1' * 40}": commit, compared: COMPARED}
    forge.answers |= dict.fromkeys(texts, CHANGED.encode())
    forge.totals = dict.fromkeys(texts, 45)
    for page in (f"/ann/demo/commit/{'1' * 40}", "/ann/demo/compare/main...topic"):
        shown = (await pages.get(f"{page}?page=2", ANN)).text
        assert "45 files changed" in shown
        assert ('href="?page=1"' in shown, 'href="?page=3"' in shown) == (True, True)
        assert 'hx-get="?page=3"' in shown
        part = await pages.client.get(f"{page}?page=2", headers=IN_PLACE)
        assert is_part(part)
        assert 'id="diff-' in part.text
        assert ('href="?page=1"' in part.text, 'hx-get="?page=3"' in part.text) == (False, True)
        assert "45 files changed" not in part.text
    assert forge.queries[diff] == "page=2&limit=20"


@pytest.mark.parametrize(
    ("page", "path", "answers"),
    [
        (f"commit/{'1' * 40}", f"git/commits/{'1' * 40}", DROPPED),
        ("compare/main...a/b", "compare/main...a/b", COMPARED),
        ("pulls/1/files", "pulls/1", OPEN),
    ],
)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (added("a.txt", diffs.MOST_LINES + 1), "2 more lines of this file are not shown here."),
        ("".join(added(f"{number}.txt", 399) for number in range(12)), "Too long to be shown here."),
    ],
)
async def test_changes_that_are_left_out_are_on_a_page_of_their_file(
    pages, forge, page, path, answers, text, words
):
    diff = f"{HOME}/{path}" + ("?output=diff" if "compare" in path else ".diff")
    forge.answers |= {f"{HOME}/{path}": answers, diff: text.encode()}
    shown = (await pages.get(f"/ann/demo/{page}")).text
    link = re.search(words + r'.\s*<a href="(\?(?:style=unified&amp;)?file=(\d+))"', shown)
    assert link

    alone = added("a.txt", diffs.LINES + 1)
    forge.answers[diff] = alone.encode()
    first = (await pages.get(f"/ann/demo/{page}{unescape(link[1])}")).text
    question = forge.queries[diff.partition("?")[0]]
    assert f"page={link[2]}&" in question
    assert ("limit=1&" in f"{question}&") or ("files=1&" in f"{question}&")
    assert (first.count('class="add"'), "not shown here" in first) == (diffs.LINES - 1, False)
    way = unescape(re.search(r'rel="next" href="(\?[^"]*)"', first)[1])
    assert sorted(way[1:].split("&")) == sorted([*unescape(link[1])[1:].split("&"), "page=2"])
    last = (await pages.get(f"/ann/demo/{page}{way}")).text
    assert last.count('class="add"') == 2
    forge.answers[diff] = b""
    assert (await pages.get(f"/ann/demo/{page}?file=99")).status_code == 404


async def test_the_changes_of_a_comparison_and_a_pull_request_are_there_as_text(pages, forge):
    compared, pull = f"{HOME}/compare/main...a/b", f"{HOME}/pulls/1"
    forge.answers |= {
        compared: COMPARED, f"{compared}?output=diff": CHANGED.encode(), pull: OPEN, f"{pull}.diff": CHANGED.encode(),
    }  # fmt: skip
    for page, address in (
        ("compare/main...a/b", "compare/main...a/b?output=diff"),
        ("pulls/1/files", "pulls/1.diff"),
    ):
        shown = (await pages.get(f"/ann/demo/{page}")).text
        assert f'<a href="/ann/demo/{address}">The diff as text</a>' in shown


async def test_changes_as_text_are_as_private_as_the_page(pages, forge):
    commit, compared = f"{HOME}/git/commits/{'1' * 40}", f"{HOME}/compare/main...topic"
    texts = (f"{commit}.diff", f"{commit}.patch", f"{compared}?output=diff")
    forge.answers |= dict.fromkeys(texts, CHANGED.encode())
    for address in (
        f"commit/{'1' * 40}.diff",
        f"commit/{'1' * 40}.patch",
        "compare/main...topic?output=diff",
    ):
        answer = await pages.get(f"/ann/demo/{address}", ANN)
        assert (answer.status_code, answer.text) == (200, CHANGED)
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.headers["cache-control"] == "private, no-cache"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_check_leads_to_its_report_and_nowhere_else(pages, forge):
    commit = DROPPED["commit"] | {"verification": None}
    forge.answers |= {
        f"{HOME}/git/commits/{'1' * 40}": DROPPED | {"commit": commit},
        f"{HOME}/git/commits/{'1' * 40}.diff": b"",
    }
    check = {"status": "failure", "context": "build", "description": "it broke"}
    for address, is_link in (("https://ci.example/7", True), ("javascript:alert(1)", False), ("", False)):
        checks = {"state": "failure", "total_count": 1, "statuses": [check | {"target_url": address}]}
        forge.answers[f"{HOME}/commits/{'1' * 40}/status"] = checks
        text = (await pages.get(f"/ann/demo/commit/{'1' * 40}")).text
        assert ("it broke" in text, f'href="{address}"' in text) == (True, is_link)


async def test_commits_are_those_of_an_author_on_each_page(pages, forge):
    forge.answers[f"{HOME}/commits"] = [DROPPED | {"sha": f"{number:040}"} for number in range(31)]
    answer = await pages.get("/ann/demo/commits/branch/main?author=Bo+%26+Co")

    assert "author=Bo%20%26%20Co" in forge.queries[f"{HOME}/commits"].replace("+", "%20")
    assert 'value="Bo &amp; Co"' in answer.text
    assert 'href="?author=Bo+%26+Co&amp;page=2"' in answer.text


async def test_a_file_that_is_gone_leads_to_the_commit_that_took_it_away(pages, forge):
    forge.failures[f"{HOME}/contents-ext/old.txt"] = 404
    missing = await pages.get("/ann/demo/src/branch/main/old.txt")
    assert (missing.status_code, "drop it" in missing.text) == (404, False)
    forge.answers[f"{HOME}/commits"] = [DROPPED]
    gone = await pages.get("/ann/demo/src/branch/main/old.txt")
    assert gone.status_code == 404
    for address in (f"commit/{'1' * 40}", f"src/commit/{'2' * 40}/old.txt", "commits/branch/main/old.txt"):
        assert f'href="/ann/demo/{address}"' in gone.text
    forge.failures[HOME] = 404
    assert (await pages.get("/ann/demo/src/branch/main/old.txt")).text.count("drop it") == 0


@pytest.mark.parametrize(("status", "shown", "says"), [(413, 200, "too many to be shown"), (503, 503, "")])
async def test_changes_without_an_end_are_told_from_a_service_that_is_away(pages, forge, status, shown, says):
    commit = DROPPED["commit"] | {"verification": None}
    forge.answers[f"{HOME}/git/commits/{'1' * 40}"] = DROPPED | {"commit": commit}
    forge.failures[f"{HOME}/git/commits/{'1' * 40}.diff"] = status
    answer = await pages.get(f"/ann/demo/commit/{'1' * 40}")
    assert (answer.status_code, says in answer.text) == (shown, True)


async def test_a_changed_file_leads_to_the_whole_file_unless_it_is_gone(pages, forge):
    sha, commit = "1" * 40, DROPPED | {"commit": DROPPED["commit"] | {"verification": None}}
    forge.answers[f"{HOME}/git/commits/{sha}"] = commit
    deleted = CHANGED.replace("--- a/src", "deleted file mode 100644\n--- a/src")
    for text, is_link in ((CHANGED, True), (deleted, False)):
        forge.answers[f"{HOME}/git/commits/{sha}.diff"] = text.encode()
        shown = (await pages.get(f"/ann/demo/commit/{sha}")).text
        assert (f'href="/ann/demo/src/commit/{sha}/src/a.py"' in shown) == is_link


async def test_numbers_in_the_message_of_a_commit_lead_to_issues(pages, forge):
    sha = "1" * 40
    commit = DROPPED["commit"] | {"verification": None, "message": "Mend <it> (#2)\n\nCloses #3."}
    forge.answers[f"{HOME}/git/commits/{sha}"] = DROPPED | {"commit": commit}
    forge.answers[f"{HOME}/git/commits/{sha}.diff"] = CHANGED.encode()
    shown = (await pages.get(f"/ann/demo/commit/{sha}")).text
    assert '<h1>Mend &lt;it&gt; (<a href="/ann/demo/issues/2">#2</a>)</h1>' in shown
    assert 'Closes <a href="/ann/demo/issues/3">#3</a>.' in shown


def _commit(parents=1):
    """What a page of a commit is made of."""
    commit = DROPPED["commit"] | {"verification": None}
    parents = [{"sha": f"{number}" * 40} for number in range(2, 2 + parents)]
    path = f"{HOME}/git/commits/{'1' * 40}"
    return {path: DROPPED | {"commit": commit, "parents": parents}, f"{path}.diff": CHANGED.encode()}


async def _revert(pages, **fields):
    """Send the form on the page of the commit."""
    form = form_of((await pages.get(COMMIT_PAGE, ANN)).text, "/revert", "Revert the commit")
    return await pages.post(form.action, form.press("Revert the commit", **fields), ANN)


COMMIT_PAGE, REVERT = f"/ann/demo/commit/{'1' * 40}", f"{HOME}/commits/{'1' * 40}/revert"


@pytest.mark.parametrize(("parents", "options"), [(0, ""), (1, ""), (2, "-m 1 ")])
async def test_a_commit_offers_its_revert_to_who_may_push(pages, forge, parents, options):
    forge.answers |= _commit(parents)
    own = forge.answers[HOME]
    readable = own | {"permissions": {"admin": False, "push": False, "pull": True}}
    for repository, caller, is_offered in (
        (own, ANN, True), (own, None, False), (readable, BOB, False), (own | {"archived": True}, ANN, False),
    ):  # fmt: skip
        forge.answers[HOME] = repository
        shown = (await pages.get(COMMIT_PAGE, caller)).text
        assert (f"<code>git revert {options}1111111111</code>" in shown) is is_offered
        assert ('<summary>Revert it</summary><form id="revert"' in shown) is is_offered


@pytest.mark.parametrize(("fields", "new_branch", "place"), [
    ({}, "revert-1111111111", "compare/main...revert-1111111111"),
    ({"new_branch": "back#1", "branch": "next"}, "back#1", "compare/next...back%231"),
    ({"to": "branch", "message": "a\r\nb"}, None, f"commit/{'8' * 40}"),
])  # fmt: skip
async def test_a_commit_is_reverted_on_a_new_branch_for_a_pull_request_or_on_one_that_is_there(
    pages, forge, fields, new_branch, place
):
    forge.answers |= _commit() | {f"POST {REVERT}": {"commit": {"sha": "8" * 40}}}
    answer = await _revert(pages, **fields)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/ann/demo/{place}")
    body = {"branch": fields.get("branch", "main"), "message": fields.get("message", "").replace("\r", "")}
    assert forge.sent == [("POST", REVERT, body | ({"new_branch": new_branch} if new_branch else {}))]


async def test_a_revert_that_is_refused_says_why_and_keeps_what_was_written(pages, forge):
    forge.answers |= _commit()
    unnamed = await _revert(pages, new_branch=" ")
    assert (unnamed.status_code, "name the new branch" in unnamed.text, forge.sent) == (422, True, [])
    forge.refusals[REVERT] = (409, b'{"message": "later commits changed the same in a.py", "url": ""}')
    words = {"branch": "next", "to": "branch", "message": "Say less"}
    refused = await _revert(pages, **words)
    assert (refused.status_code, "later commits changed the same in a.py" in refused.text) == (409, True)
    assert "<details open><summary>Revert it" in refused.text
    values = form_of(refused.text, "/revert", "Revert the commit").values
    assert {name: values[name] for name in words} == {name: [value] for name, value in words.items()}


async def test_who_administers_a_repository_gets_from_branches_to_their_protection(pages, forge):
    link, own = 'href="/ann/demo/settings/branches">Protection</a>', forge.answers[HOME]
    writes = own | {"permissions": {"admin": False, "push": True, "pull": True}}
    for repository, caller, is_shown in ((own, ANN, True), (writes, BOB, False), (own, None, False)):
        forge.answers[HOME] = repository
        assert (link in (await pages.get("/ann/demo/branches", caller)).text) is is_shown


@pytest.mark.parametrize(
    ("page", "feed"),
    [
        ("commits/branch/topic/one", "atom/branch/topic/one"),
        ("commits/branch/main/src/a.py", "atom/branch/main/src/a.py"),
        ("releases", "releases.atom"),
        ("issues", "issues.atom"),
    ],
)
async def test_a_page_leads_to_its_feed_unless_only_who_signs_in_can_read_it(pages, forge, page, feed):
    forge.answers[f"{HOME}/git/refs/heads/topic"] = [{"ref": "refs/heads/topic/one"}]
    link = f'href="/ann/demo/{feed}">Feed</a>'
    assert link in (await pages.get(f"/ann/demo/{page}", ANN)).text
    answer = await pages.get(f"/ann/demo/{feed}")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    forge.answers[HOME] |= {"private": True}
    assert link not in (await pages.get(f"/ann/demo/{page}", ANN)).text


PICTURE = "diff --git a/old.png b/p ö.PNG\n{}\nindex 1..2 100644\nBinary files a/old.png and b/p.png differ\n"


@pytest.mark.parametrize(
    ("head", "before", "after"),
    [
        ("rename from old.png\nrename to p.PNG", "old.png", "p.PNG"),
        ("new file mode 100644\n+++ b/p.PNG", "", "p.PNG"),
        ("deleted file mode 100644\n--- a/p.PNG", "p.PNG", ""),
    ],
)
async def test_a_picture_is_shown_as_it_was_and_as_it_is(pages, forge, head, before, after):
    commit = DROPPED | {"commit": DROPPED["commit"] | {"verification": None}}
    diff = f"{HOME}/git/commits/{'1' * 40}.diff"
    forge.answers |= {f"{HOME}/git/commits/{'1' * 40}": commit, diff: PICTURE.format(head).encode()}
    shown = (await pages.get(f"/ann/demo/commit/{'1' * 40}")).text
    for sha, path in (("2" * 40, before), ("1" * 40, after)):
        assert (f'src="/ann/demo/raw/commit/{sha}/{path}"' in shown) is bool(path)


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
    await pages.submit(shown, "Restore it", to="/branches")
    assert forge.sent[1][2] == {"new_branch_name": "topic", "old_ref_name": moved}
    for other in (
        f"{page}?deleted=topic&sha={moved}",
        address.replace("topic", "other"),
        address.replace(moved, "3" * 40),
    ):
        assert "Restore it" not in (await pages.get(other, ANN)).text, other
    assert "Restore it" not in (await pages.get(address, BOB)).text
    forge.answers[f"{HOME}/branches"] *= 31
    shown = (await pages.get(address, ANN)).text
    assert 'href="/ann/demo/branches?page=2"' in shown, "other pages do not say again what was deleted"


async def test_a_picture_of_a_comparison_is_shown_as_it_was_and_as_it_is(pages, forge):
    path = f"{HOME}/compare/main...bob:topic"
    sides = {"before": "2" * 40, "after": "1" * 40, "head_repo": "bob/demo"}
    forge.answers[path] = COMPARED | sides
    diff = PICTURE.format("--- a/p.PNG\n+++ b/p.PNG")
    forge.answers[f"{path}?output=diff"] = diff.encode()
    shown = (await pages.get("/ann/demo/compare/main...bob:topic", ANN)).text
    assert f'src="/ann/demo/raw/commit/{"2" * 40}/p.PNG"' in shown
    assert f'src="/bob/demo/raw/commit/{"1" * 40}/p.PNG"' in shown


async def test_the_history_of_a_file_leads_to_the_file_as_it_was(pages, forge):
    forge.answers[f"{HOME}/commits"] = [DROPPED]
    shown = (await pages.get("/ann/demo/commits/branch/main/src/a.py")).text
    assert f'href="/ann/demo/src/commit/{"1" * 40}/src/a.py"' in shown


@pytest.mark.parametrize("page", ["src/branch/main", "commits/branch/main", "find/branch/main"])
async def test_the_menu_of_branches_asks_for_them_when_it_is_opened(pages, forge, page):
    names = ("main", "fix/it")
    forge.answers[f"{HOME}/branches"] = [{"name": name} for name in names]
    forge.answers[f"{HOME}/contents-ext"] = {"dir_contents": []}
    forge.answers[f"{HOME}/git/trees/main"] = {"tree": [], "total_count": 0}
    shown = (await pages.get(f"/ann/demo/{page}")).text
    assert f"{HOME}/branches" not in forge.read_paths
    assert 'href="/ann/demo/branches"' in shown
    (address,) = re.findall(r'hx-get="([^"]+)" hx-trigger="toggle once"', shown)
    part = await pages.client.get(unescape(address), headers=IN_PLACE)
    assert is_part(part)
    base = f"/ann/demo/{page.partition('/')[0]}/branch"
    assert f'<a href="{base}/main" aria-current="true">main</a>' in part.text
    assert f'<a href="{base}/fix/it">fix/it</a>' in part.text
    assert "All 2 branches" in part.text
    for other in (address.replace("to=", "to=.."), "/ann/demo/branches"):
        forge.answers[f"{HOME}/branches"] = []
        assert "No branches yet" in (await pages.client.get(unescape(other), headers=IN_PLACE)).text


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
    ("main...topik", "topik"), ("main...bob:topik", "bob:topik"), ("mian...topic", "mian"), ("topik", "topik"),
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
