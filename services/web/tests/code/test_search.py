"""Files are found by a part of their paths."""

from html import unescape

import pytest

from ..forge import HOME
from ..previews.test_previews import IN_PLACE, is_part

TREE = f"{HOME}/git/trees/refs/heads/main"


def _tree(*paths, total=0):
    entries = [{"path": path, "type": "blob"} for path in paths]
    return {"tree": [{"path": "src", "type": "tree"}, *entries], "total_count": total or len(paths)}


async def test_files_are_found_by_a_part_of_their_paths(pages, forge):
    forge.answers[TREE] = _tree("src/<b>ö.py", "src/a b.py", total=70)
    page = "/ann/demo/find/branch/main?q=+s+%26+"
    shown = await pages.get(page)
    assert forge.queries[TREE] == "recursive=true&per_page=50&q=s+%26"
    assert 'href="/ann/demo/src/branch/main/src/%3Cb%3E%C3%B6.py">src/&lt;b&gt;ö.py</a>' in shown.text
    assert ('value="s &amp;"' in shown.text, 'href="/ann/demo/src/branch/main/src"' in shown.text) == (
        True,
        False,
    )
    part = await pages.client.get(page, headers=IN_PLACE)
    assert (is_part(part), "a%20b.py" in part.text, "<form" in part.text) == (True, True, False)
    number, files = part.text.strip().split("</span>", 1)
    assert unescape(shown.text).count(unescape(files)) == 1
    words = "70 files, the first 2 here"
    assert number == f'<span id="found" hx-swap-oob="innerHTML">{words}'
    assert f'<span id="found" role="status">{words}</span></header><div id="files">' in shown.text

    forge.answers[TREE] = _tree()
    assert "No file has “zz” in its path." in (await pages.get("/ann/demo/find/branch/main?q=zz")).text
    await pages.get(f"/ann/demo/find/branch/main?q={'x' * 300}")
    assert forge.queries[TREE].endswith(f"&q={'x' * 200}")


async def test_without_words_the_search_shows_how_it_is_used(pages, forge):
    forge.answers[TREE] = _tree("README.md")
    shown = (await pages.get("/ann/demo/find/branch/main")).text
    assert "q=" not in forge.queries[TREE]
    assert ("Type a part of the path" in shown, ">README.md</a>" in shown) == (True, True)
    forge.answers[f"{HOME}/contents-ext"] = {"dir_contents": []}
    assert 'href="/ann/demo/find/branch/main">Go to file</a>' in (await pages.get("/ann/demo")).text


@pytest.mark.parametrize("rest", ["main", "branch/main/src", "branch", "nothing/main"])
async def test_a_search_is_that_of_a_branch_a_tag_or_a_commit(pages, forge, rest):
    forge.answers[TREE] = _tree("README.md")
    assert (await pages.get(f"/ann/demo/find/{rest}")).status_code == 404
