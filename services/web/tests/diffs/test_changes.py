"""Changes of a commit, a comparison or a pull request: their parts, their pictures, and the same as text."""

import re
from html import unescape

import pytest

from ingot_web.diffs.rules.parsing import LINES, MOST_LINES

from ..forge import HOME
from ..history.test_commits import COMPARED, DROPPED, OPEN
from ..previews.test_previews import IN_PLACE, is_part
from ..world import ANN
from .test_parsing import CHANGED


def added(path, count):
    """The diff of a new file with that many lines."""
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{count} @@\n" + "+x\n" * (count - 1) + "+y\n"


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
        (added("a.txt", MOST_LINES + 1), r"2 more lines of this file are not shown here.\s*"),
        ("".join(added(f"{number}.txt", 399) for number in range(12)), '<p class="empty">'),
    ],
)
async def test_changes_that_are_left_out_are_on_a_page_of_their_file(
    pages, forge, page, path, answers, text, words
):
    diff = f"{HOME}/{path}" + ("?output=diff" if "compare" in path else ".diff")
    forge.answers |= {f"{HOME}/{path}": answers, diff: text.encode()}
    shown = (await pages.get(f"/ann/demo/{page}")).text
    link = re.search(words + r'<a href="(\?(?:style=unified&amp;)?file=(\d+)[^"]*)"', shown)
    assert link

    alone = added("a.txt", LINES + 1)
    forge.answers[diff] = alone.encode()
    first = (await pages.get(f"/ann/demo/{page}{unescape(link[1])}")).text
    question = forge.queries[diff.partition("?")[0]]
    assert f"page={link[2]}&" in question
    assert ("limit=1&" in f"{question}&") or ("files=1&" in f"{question}&")
    assert (first.count('class="add"'), "not shown here" in first) == (LINES - 1, False)
    way = unescape(re.search(r'rel="next" href="(\?[^"]*)"', first)[1])
    assert sorted(way[1:].split("&")) == sorted([*unescape(link[1])[1:].split("&"), "page=2"])
    last = (await pages.get(f"/ann/demo/{page}{way}")).text
    assert last.count('class="add"') == 2
    forge.answers[diff] = b""
    assert (await pages.get(f"/ann/demo/{page}?file=99")).status_code == 404


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


@pytest.mark.parametrize(
    ("status", "shown", "says"), [(413, 200, "too many changes to show"), (503, 503, "")]
)
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
