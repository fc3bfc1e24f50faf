"""Authors of imported texts who have no account here: their names, with a link to the source."""

import pytest

from ingot_web.pages.rules.templates import page_at_source

from ..forge import HOME, issue, repository

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


async def test_an_author_with_an_account_stands_as_such(pages, forge):
    forge.answers[HOME] = repository(original_url=SOURCE)
    forge.answers[f"{HOME}/issues/1"] = issue(original_author="cat")
    shown = (await pages.get("/ann/demo/issues/1")).text
    assert "there.example.org" not in shown
    assert "No account here" not in shown
