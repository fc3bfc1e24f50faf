"""Authors of imported texts who have no account here: their names, with a link to the source."""

import pytest

from ingot_web.pages.rules.templates import page_at_source

from ..forge import HOME, MOMENT, issue, repository

GHOST = {"id": -1, "login": "Ghost", "full_name": "", "avatar_url": ""}
SOURCE = "https://there.example.org/crew/app.git"


@pytest.mark.parametrize(
    ("name", "address", "page"),
    [
        ("cat", SOURCE, "https://there.example.org/cat"),
        ("a/b?c#d", SOURCE, "https://there.example.org/a%2Fb%3Fc%23d"),
        ("cat", "http://x:3000/a/b", "http://x:3000/cat"),
        ("cat", "https://me:secret@x/a/b", "https://x/cat"),
        ("cat", "https://x/group/sub/app.git", "https://x/group/sub/app.git"),
        ("cat", "javascript:alert(1)//a/b", ""),
        ("cat", "ssh://git@x/a/b", ""),
        ("cat", "https:///a/b", ""),
        ("cat", "", ""),
        ("", SOURCE, ""),
    ],
)
def test_a_link_leads_to_a_web_page_of_the_source(name, address, page):
    assert page_at_source(name, address) == page


async def test_an_author_without_an_account_stands_with_the_name_at_the_source(pages, forge):
    forge.answers[HOME] = repository(original_url=SOURCE)
    forge.answers[f"{HOME}/issues/1"] = issue(user=GHOST, original_author="<cat>")
    shown = (await pages.get("/ann/demo/issues/1")).text
    link = '<a href="https://there.example.org/%3Ccat%3E" rel="nofollow noopener">&lt;cat&gt;</a>'
    assert shown.count(link) == 2  # below the title, and at the text
    assert ">Ghost<" not in shown


@pytest.mark.parametrize("merged", [False, True])
async def test_reviewers_and_mergers_without_an_account_stand_with_their_names(pages, forge, merged):
    forge.answers[HOME] = repository(original_url=SOURCE)
    merge = {
        "merged_by": GHOST,
        "merged_at": MOMENT,
        "merge_commit_sha": "4" * 40,
        "original_merger": "<dog>",
    }
    forge.answers[f"{HOME}/pulls/1"] = issue(
        pull_request={"merged": merged, "draft": False}, base={"ref": "main"}, mergeable=True, draft=False,
        head={"ref": "fix", "sha": "1" * 40}, merge_refusals=[], merged=merged, **(merge if merged else {}),
    )  # fmt: skip
    review = {"id": 7, "state": "APPROVED", "submitted_at": MOMENT, "dismissed": False, "stale": False}
    review |= {"user": GHOST, "original_author": "<dog>", "official": False, "body": "", "comments_count": 0}
    forge.answers[f"{HOME}/pulls/1/reviews"] = [review]
    shown = (await pages.get("/ann/demo/pulls/1")).text
    link = '<a href="https://there.example.org/%3Cdog%3E" rel="nofollow noopener">&lt;dog&gt;</a>'
    assert shown.count(link) == 1
    assert ">Ghost<" not in shown


async def test_an_author_with_an_account_stands_as_such(pages, forge):
    forge.answers[HOME] = repository(original_url=SOURCE)
    forge.answers[f"{HOME}/issues/1"] = issue(original_author="cat")
    shown = (await pages.get("/ann/demo/issues/1")).text
    assert "there.example.org" not in shown
    assert "No account here" not in shown
