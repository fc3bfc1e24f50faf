"""The page that searches the code of a repository."""

import re
from html import unescape
from urllib.parse import parse_qsl

from ..forge import HOME, repository

SEARCH = f"{HOME}/code/search"
FILE = {
    "path": "a b/<c>.py",
    "lines": [{"number": n, "text": "x <find> y find", "matches": [[3, 7], [11, 15]]} for n in range(1, 8)],
}


def answer(*files, total=0, incomplete=False):
    count = total or len(files)
    return {"files": list(files), "total_count": count, "incomplete_results": incomplete, "sha": "1" * 40}


async def test_lines_have_marks_and_links(pages, forge):
    forge.answers[SEARCH] = answer(FILE, total=45)
    shown = (await pages.get("/ann/demo/search?q=find&extension=py&regexp=1&page=2")).text
    assert (
        forge.queries[SEARCH]
        == "q=find&path=&extension=py&regexp=true&case_sensitive=false&ref=&page=2&limit=20"
    )
    href = "/ann/demo/src/branch/main/a%20b/%3Cc%3E.py"
    assert f'<a href="{href}">a b/&lt;c&gt;.py</a>' in shown
    assert f'<a href="{href}#L3">3</a>' in shown
    assert "x &lt;<mark>find</mark>&gt; y <mark>find</mark>" in shown
    assert ("2 more lines of this file" in shown, f'{href}#L6"' in shown) == (True, False)
    assert "45 files." in shown
    following = re.search(r'rel="next" href="\?([^"]*)"', shown)
    assert dict(parse_qsl(unescape(following[1]))) == {
        "q": "find",
        "extension": "py",
        "regexp": "1",
        "page": "3",
    }
    assert "Not every file was searched" not in shown


async def test_a_search_of_another_branch_stays_there(pages, forge):
    forge.answers[SEARCH] = answer(FILE)
    shown = (await pages.get("/ann/demo/search?q=x&ref=branch/a/b")).text
    assert "ref=refs%2Fheads%2Fa%2Fb" in forge.queries[SEARCH]
    assert "/ann/demo/src/branch/a/b/a%20b/" in shown
    assert 'name="ref" value="branch/a/b"' in shown
    for ref in ("main", "x/main", "branch/"):
        assert (await pages.get(f"/ann/demo/search?q=x&ref={ref}")).status_code == 404


async def test_what_was_not_found_or_not_searched_is_said(pages, forge):
    forge.answers[SEARCH] = answer(incomplete=True)
    shown = (await pages.get("/ann/demo/search?q=<b>")).text
    assert "No line contains “&lt;b&gt;”." in shown
    assert "Not every file was searched" in shown
    forge.failures[SEARCH] = 404
    assert (await pages.get("/ann/demo/search?q=x")).status_code == 200, "an empty repository"
    forge.failures[SEARCH] = 422
    shown = await pages.get("/ann/demo/search?q=%28&regexp=1")
    assert (shown.status_code, "refused" in shown.text, 'value="("' in shown.text) == (422, True, True)


async def test_without_a_text_the_page_is_its_form(pages, forge):
    shown = await pages.get("/ann/demo/search")
    assert (shown.status_code, SEARCH in forge.read_paths) == (200, False)
    assert "Lines of text files" in shown.text
    forge.answers[HOME] = repository(units_map={"repo.code": "none", "repo.issues": "read"})
    forge.failures[SEARCH] = 404
    assert (await pages.get("/ann/demo/search")).status_code == 404
    assert (await pages.get("/ann/demo/search?q=x")).status_code == 404
