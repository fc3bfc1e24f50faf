"""Commits as they are listed and shown, their reverts and feeds, and files that are gone."""

import pytest

from ingot_contracts.testing.forms import form_of

from ..diffs.test_parsing import CHANGED
from ..forge import ANN_USER, HOME, MOMENT, issue
from ..test_forms import HEAD
from ..world import ANN, BOB

DROPPED = {
    "sha": "1" * 40, "html_url": "", "author": ANN_USER, "parents": [{"sha": "2" * 40}],
    "commit": {"message": "drop it", "author": {"name": "Ann"},
               "committer": {"name": "Ann", "date": MOMENT}, "verification": None},
}  # fmt: skip

COMPARED = {"commits": [DROPPED], "total_commits": 1}
OPEN = issue(pull_request={"merged": False, "draft": False}, base={"ref": "main"}, head=HEAD, merged=False)


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


async def test_the_state_of_a_signature_is_shown(pages, forge):
    signer = {"name": "Bob", "email": "bob@example.org", "username": "bob"}
    states = {
        "Verified": {"verified": True, "reason": "bob / SHA256:x", "signer": signer},
        "Not verified": {"verified": False, "reason": "gpg.error.no_gpg_keys_found", "signer": None},
        "Signed without access": {
            "verified": False,
            "reason": "gpg.error.signed_by_untrusted_user",
            "signer": signer,
        },
    }
    sha = "1" * 40
    forge.answers[f"{HOME}/git/commits/{sha}.diff"] = b""
    forge.answers[f"{HOME}/commits/{sha}/status"] = {"state": "", "total_count": 0, "statuses": []}
    for state, verification in states.items():
        signed = verification | {"signature": "-----BEGIN", "payload": "tree"}
        commit = DROPPED["commit"] | {"verification": signed}
        forge.answers[f"{HOME}/git/commits/{sha}"] = DROPPED | {"commit": commit}
        text = (await pages.get(f"/ann/demo/commit/{sha}")).text
        assert [name for name in states if f">{name}</span>" in text] == [state]
        assert f'title="{verification["reason"]}"' in text
    assert 'signed by <a href="/bob">bob</a>' not in text
    unsigned = verification | {"signature": "", "payload": "", "signer": None}
    forge.answers[f"{HOME}/git/commits/{sha}"] = DROPPED | {
        "commit": DROPPED["commit"] | {"verification": unsigned}
    }
    text = (await pages.get(f"/ann/demo/commit/{sha}")).text
    assert not any(f">{name}</span>" in text for name in states)


async def test_a_signature_of_another_person_than_the_author_names_both(pages, forge):
    """Anybody can write any author into a commit. The signature is of who committed it."""
    sha, signer = "1" * 40, {"name": "Bob", "email": "bob@example.org", "username": "bob"}
    signed = {"verified": True, "reason": "", "signer": signer, "signature": "-----BEGIN", "payload": "tree"}
    commit = DROPPED["commit"] | {"committer": {"name": "Bob", "date": MOMENT}, "verification": signed}
    forge.answers[f"{HOME}/git/commits/{sha}.diff"] = b""
    forge.answers[f"{HOME}/commits/{sha}/status"] = {"state": "", "total_count": 0, "statuses": []}
    forge.answers[f"{HOME}/git/commits/{sha}"] = DROPPED | {"commit": commit}
    text = (await pages.get(f"/ann/demo/commit/{sha}")).text
    assert "wrote this, Bob committed" in text
    assert 'Verified</span> signed by <a href="/bob">bob</a>' in text
    own = signed | {"signer": {"name": "Ann", "email": "ann@example.org", "username": "ann"}}
    forge.answers[f"{HOME}/git/commits/{sha}"] = DROPPED | {
        "commit": DROPPED["commit"] | {"verification": own}
    }
    text = (await pages.get(f"/ann/demo/commit/{sha}")).text
    assert ("signed by" in text, "wrote this" in text) == (False, False)


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


async def test_the_feed_of_an_empty_repository_has_no_entries(pages, forge):
    forge.answers[HOME] |= {"empty": True}
    forge.failures[f"{HOME}/commits"] = 409
    for path in ("atom/branch/main", "commits/branch/main.atom", "commits/branch/a/b.atom"):
        answer = await pages.get(f"/ann/demo/{path}")
        assert (answer.status_code, "<feed" in answer.text, "<entry>" in answer.text) == (200, True, False)
    assert "<title>Commits of ann/demo, a/b</title>" in answer.text
    page = await pages.get("/ann/demo/commits/branch/main")
    assert (page.status_code, "No commits here." in page.text) == (200, True)
    forge.answers[HOME] |= {"empty": False}
    for path in ("atom/branch/main", "commits/branch/main", "commits/branch/a/b.atom"):
        assert (await pages.get(f"/ann/demo/{path}")).status_code == 409


async def test_blank_lines_before_a_message_are_not_its_title(pages, forge):
    sha = "1" * 40
    shown = DROPPED | {"commit": DROPPED["commit"] | {"message": "\n \n\ndrop it\n\nfor good\n"}}
    forge.answers |= {
        f"{HOME}/git/commits/{sha}": shown,
        f"{HOME}/git/commits/{sha}.diff": b"",
        f"{HOME}/commits/{sha}/status": None,
        f"{HOME}/commits": [shown],
    }
    page = (await pages.get(f"/ann/demo/commit/{sha}")).text
    assert ("<title>drop it" in page, "<h1>drop it</h1>" in page, "for good" in page) == (True, True, True)
    assert ">drop it</a>" in (await pages.get("/ann/demo/commits/branch/main")).text
    assert "<title>drop it</title>" in (await pages.get("/ann/demo/commits/branch/main.atom")).text


async def test_an_abbreviated_id_is_a_commit_whatever_branches_are_called(pages, forge):
    """The commit that a link in a text names cannot be replaced by a branch of that name."""
    sha, short = "1" * 40, "1" * 7
    commit = DROPPED["commit"] | {"verification": None}
    forge.answers |= _commit() | {f"{HOME}/git/commits/{short}": DROPPED | {"commit": commit}}
    forge.failures[f"{HOME}/git/commits/2222222"] = 404
    for page in ("commit/{}", "commit/{}.diff", "src/commit/{}", "commits/commit/{}",
                 "commits/commit/{}.atom",
                 "raw/commit/{}/a.py", "blame/commit/{}/a.py"):  # fmt: skip
        forge.queries.clear()
        await pages.get(f"/ann/demo/{page.format(short)}")
        questions = [f"{path}?{query}" for path, query in forge.queries.items()]
        abbreviated = [one for one in questions if short in one.replace(sha, "")]
        assert len(abbreviated) == 1, page
        assert abbreviated[0].startswith(f"{HOME}/git/commits/{short}?"), page
        assert "only_id=true" in abbreviated[0], page
        assert any(sha in one for one in questions), page
        assert (await pages.get(f"/ann/demo/{page.format('2' * 7)}")).status_code == 404


async def test_numbers_in_the_message_of_a_commit_lead_to_issues(pages, forge):
    sha = "1" * 40
    commit = DROPPED["commit"] | {"verification": None, "message": "Mend <it> (#2)\n\nCloses #3."}
    forge.answers[f"{HOME}/git/commits/{sha}"] = DROPPED | {"commit": commit}
    forge.answers[f"{HOME}/git/commits/{sha}.diff"] = CHANGED.encode()
    shown = (await pages.get(f"/ann/demo/commit/{sha}")).text
    assert '<h1>Mend &lt;it&gt; (<a href="/ann/demo/issues/2">#2</a>)</h1>' in shown
    assert 'Closes <a href="/ann/demo/issues/3">#3</a>.' in shown


def _commit(parents=1):
    """Return the content of a page of a commit."""
    commit = DROPPED["commit"] | {"verification": None}
    parents = [{"sha": f"{number}" * 40} for number in range(2, 2 + parents)]
    path = f"{HOME}/git/commits/{'1' * 40}"
    return {path: DROPPED | {"commit": commit, "parents": parents}, f"{path}.diff": CHANGED.encode()}


async def _revert(pages, **fields):
    """Send the form on the page of the commit."""
    form = form_of((await pages.get(COMMIT_PAGE, ANN)).text, "/revert", "Create revert commit")
    return await pages.post(form.action, form.press("Create revert commit", **fields), ANN)


async def test_the_page_of_a_commit_counts_its_lines_once(pages, forge):
    """Its diff has what is shown; to count the lines costs as much again."""
    forge.answers |= _commit()
    await pages.get(COMMIT_PAGE)
    query = forge.queries[f"{HOME}/git/commits/{'1' * 40}"]
    assert ("stat=false" in query, "files=false" in query) == (True, True)


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
        assert ('<summary>Revert commit</summary><form id="revert"' in shown) is is_offered


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
    assert "<details open><summary>Revert commit" in refused.text
    values = form_of(refused.text, "/revert", "Create revert commit").values
    assert {name: values[name] for name in words} == {name: [value] for name, value in words.items()}


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


async def test_the_history_of_a_file_leads_to_the_file_as_it_was(pages, forge):
    forge.answers[f"{HOME}/commits"] = [DROPPED]
    shown = (await pages.get("/ann/demo/commits/branch/main/src/a.py")).text
    assert f'href="/ann/demo/src/commit/{"1" * 40}/src/a.py"' in shown
