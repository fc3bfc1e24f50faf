"""The search over everything, as a page and as the part that the palette shows."""

from ..forge import ANN_USER, HOME, issue, repository
from ..previews.test_previews import IN_PLACE, is_part
from ..world import ANN

TREE = f"{HOME}/git/trees/refs/heads/main"


def answers(forge):
    forge.answers |= {
        "/repos/search": [repository(description="<lamp>")],
        "/users/search": [ANN_USER],
        "/repos/issues/search": [issue(number=7, title="<t>", repository={"full_name": "ann/demo"})],
        TREE: {"tree": [{"path": "a b.py", "type": "blob"}, {"path": "a", "type": "tree"}], "total_count": 1},
    }


async def test_a_search_has_each_kind_with_links(pages, forge):
    answers(forge)
    shown = (await pages.get("/search?q=issue&in=ann/demo", ANN)).text
    for href in (
        "/ann/demo", "/ann", "/ann/demo/issues/7", "/ann/demo/src/branch/main/a%20b.py",
        "/ann/demo/issues/new", "/issues", "/explore/users?q=issue", "/ann/demo/search?q=issue",
    ):  # fmt: skip
        assert f'<a href="{href}">' in shown, href
    assert ("&lt;lamp&gt;" in shown, "&lt;t&gt;" in shown, "<lamp>" in shown) == (True, True, False)
    assert '<input type="hidden" name="in" value="ann/demo">' in shown
    assert forge.queries[TREE] == "recursive=true&per_page=5&q=issue"


async def test_the_palette_gets_the_results_alone(pages, forge):
    answers(forge)
    part = await pages.client.get("/search?q=x", headers=IN_PLACE)
    assert (is_part(part), "<form" in part.text, 'href="/ann/demo"' in part.text) == (True, False, True)


async def test_without_words_there_are_commands_of_the_caller(pages, forge):
    shown = (await pages.get("/search", ANN)).text
    assert ">New repository</a></div>" in shown
    assert "/repos/search" not in forge.read_paths
    assert ">New repository</a></div>" not in (await pages.get("/search")).text


async def test_nothing_is_said_of_a_repository_that_the_caller_may_not_see(pages, forge):
    forge.failures[HOME] = 404
    for name in ("ann/demo", "ann", "ann/demo/x", "/", "../x", "ann/.."):
        shown = await pages.get(f"/search?q=zz&in={name}")
        assert (shown.status_code, "Nothing matches “zz”." in shown.text) == (200, True), name
        assert 'name="in"' not in shown.text
    assert TREE not in forge.read_paths
