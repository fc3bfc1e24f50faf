"""Pages of wikis, as they are read and changed on pages."""

from base64 import b64decode, b64encode

import pytest

from ..forge import HOME, MOMENT, repository
from ..world import ANN

WIKI = f"{HOME}/wiki"
SHA = "a" * 40


def encoded(text):
    return b64encode(text.encode()).decode()


def commit(message="change", sha=SHA):
    person = {"name": "Ann", "email": "ann@example.org", "date": MOMENT}
    return {"sha": sha, "author": person, "commiter": person, "message": message}


def wiki_page(title="Home", sub_url="Home", content="text", **fields):
    return {
        "title": title,
        "html_url": f"http://forge/ann/demo/wiki/{sub_url}",
        "sub_url": sub_url,
        "last_commit": commit(),
        "content_base64": encoded(content),
        "commit_count": 2,
        "sidebar": "",
        "footer": "",
        **fields,
    }


@pytest.fixture
def forge(forge):
    forge.answers |= {
        HOME: repository(has_wiki=True),
        f"{WIKI}/page/Home": wiki_page(sidebar=encoded("aside text"), footer=encoded("footer text")),
        f"{WIKI}/page/a/b": wiki_page("a/b", "a%2Fb", "slashed"),
    }
    return forge


async def test_a_page_is_shown_with_sidebar_and_footer(pages, forge):
    shown = (await pages.get("/ann/demo/wiki")).text
    for part in ("text", "aside text", "footer text", "2 revisions", "http://forge/ann/demo.wiki.git"):
        assert part in shown
    assert 'href="/ann/demo/wiki/_edit/Home"' not in shown
    assert 'href="/ann/demo/wiki/_edit/Home"' in (await pages.get("/ann/demo/wiki/Home", ANN)).text


async def test_links_of_a_page_are_below_the_wiki(pages, forge):
    await pages.get("/ann/demo/wiki")
    (body,) = forge.rendered
    assert (body["context"], body["wiki"]) == ("ann/demo", True)


async def test_a_slash_in_a_title_stays_quoted(pages, forge):
    assert "slashed" in (await pages.get("/ann/demo/wiki/a%2Fb")).text


async def test_a_wiki_without_pages_says_so_and_offers_the_first_one_to_writers(pages, forge):
    forge.failures[f"{WIKI}/page/Home"] = 404
    forge.failures[f"{WIKI}/page/Other"] = 404
    for path, anonymous, writer in (("/ann/demo/wiki", 200, 200), ("/ann/demo/wiki/Other", 404, 404)):
        answers = (await pages.get(path), await pages.get(path, ANN))
        assert [answer.status_code for answer in answers] == [anonymous, writer]
        assert "/wiki/_new?title=" not in answers[0].text
        assert "/wiki/_new?title=" in answers[1].text


async def test_a_wiki_that_is_off_has_no_tab_and_no_pages(pages, forge):
    assert 'href="/ann/demo/wiki"' in (await pages.get("/ann/demo/wiki")).text
    forge.answers[HOME] = repository(has_wiki=False)
    assert 'href="/ann/demo/wiki"' not in (await pages.get("/ann/demo/releases")).text
    for path in ("", "/Home", "/_pages", "/_new"):
        assert (await pages.get(f"/ann/demo/wiki{path}", ANN)).status_code == 404


async def test_pages_are_listed_and_searched(pages, forge):
    forge.answers[f"{WIKI}/pages"] = [wiki_page(), wiki_page("a/b", "a%2Fb")]
    shown = (await pages.get("/ann/demo/wiki/_pages?q=te%20xt")).text
    assert ('href="/ann/demo/wiki/a%2Fb"' in shown, 'value="te xt"' in shown) == (True, True)
    assert "q=te+xt" in forge.queries[f"{WIKI}/pages"]


async def test_the_history_of_a_page_leads_to_its_former_states(pages, forge):
    forge.answers[f"{WIKI}/revisions/Home"] = {"commits": [commit("first <words>")], "count": 1}
    shown = (await pages.get("/ann/demo/wiki/_history/Home")).text
    assert f'href="/ann/demo/wiki/Home?ref={SHA}"' in shown
    assert "first &lt;words&gt;" in shown
    forge.answers[f"{WIKI}/page/Home?ref={SHA}"] = wiki_page()
    assert "As it was at" in (await pages.get(f"/ann/demo/wiki/Home?ref={SHA}", ANN)).text


async def test_a_page_is_created(pages, forge):
    forge.answers[f"POST {WIKI}/new"] = wiki_page("New page", "New-page")
    answer = await pages.submit(
        "/ann/demo/wiki/_new?title=New+page", "Create page", content="a\r\nb", message="m"
    )
    assert answer.headers["location"] == "/ann/demo/wiki/New-page"
    ((method, path, body),) = forge.sent
    assert (method, path, b64decode(body.pop("content_base64"))) == ("POST", f"{WIKI}/new", b"a\nb")
    assert body == {"title": "New page", "message": "m"}


async def test_a_page_is_edited_from_the_state_that_was_read(pages, forge):
    forge.answers[f"PATCH {WIKI}/page/a/b"] = wiki_page("c", "c")
    answer = await pages.submit("/ann/demo/wiki/_edit/a%2Fb", "Save page", title="c")
    assert answer.headers["location"] == "/ann/demo/wiki/c"
    ((_, path, body),) = forge.sent
    assert (path, body["sha"], body["title"]) == (f"{WIKI}/page/a/b", SHA, "c")
    assert b64decode(body["content_base64"]) == b"slashed"


async def test_a_page_that_was_refused_keeps_what_was_written(pages, forge):
    forge.refusals[f"{WIKI}/page/Home"] = (
        409,
        b'{"message": "the page was changed in the meantime", "url": ""}',
    )
    answer = await pages.submit("/ann/demo/wiki/_edit/Home", "Save page", content="my words")
    assert answer.status_code == 409
    assert ("changed in the meantime" in answer.text, "my words" in answer.text) == (True, True)


async def test_a_preview_changes_nothing(pages, forge):
    answer = await pages.submit("/ann/demo/wiki/_edit/Home", "Preview", content="seen before")
    assert ("<h2>Preview</h2>" in answer.text, forge.sent) == (True, [])


async def test_a_page_is_deleted(pages, forge):
    answer = await pages.submit("/ann/demo/wiki", "Delete Home", to="/ann/demo/wiki/_delete/Home")
    assert answer.headers["location"] == "/ann/demo/wiki/_pages"
    assert forge.sent == [("DELETE", f"{WIKI}/page/Home", {})]


async def test_readers_have_no_forms(pages, forge):
    forge.answers[HOME] = repository(has_wiki=True, permissions={"admin": False, "push": False, "pull": True})
    for path in ("_new", "_edit/Home"):
        assert (await pages.get(f"/ann/demo/wiki/{path}", ANN)).status_code == 403
        assert (await pages.get(f"/ann/demo/wiki/{path}")).status_code in (302, 303, 401)


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/wiki/Home?action=_edit", "/wiki/_edit/Home"),
        ("/wiki/a%2Fb?action=_revision", "/wiki/_history/a%2Fb"),
        ("/wiki/?action=_new", "/wiki/_new"),
        ("/wiki/?action=_pages", "/wiki/_pages"),
    ],
)
async def test_addresses_of_gitea_lead_to_pages_here(pages, forge, address, page):
    answer = await pages.get(f"/ann/demo{address}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/ann/demo{page}")
