"""Lines that a diff leaves out come on demand."""

import re
from html import unescape

import pytest

from ..code.test_files import put
from ..forge import HOME
from ..history.test_commits import DROPPED
from ..previews.test_previews import IN_PLACE, is_part
from ..world import ANN

SHA = "1" * 40
DIFF = (
    "diff --git a/a b.txt b/a b.txt\n--- a/a b.txt\n+++ b/a b.txt\n"
    "@@ -4,7 +4,8 @@\n 4\n 5\n 6\n-old\n+<new>\n+more\n 9\n 10\n 11\n"
    "@@ -60,5 +61,5 @@\n 61\n 62\n 63\n-x\n+64\n 65\n"
)
"""Of a file with 65 lines."""


@pytest.fixture
def forge(forge):
    put(forge, "a b.txt", "".join(f"<{number}>\n" for number in range(1, 66)))
    forge.answers |= {f"{HOME}/git/commits/{SHA}": DROPPED, f"{HOME}/git/commits/{SHA}.diff": DIFF.encode()}
    return forge


def _links(text):
    """Words and addresses."""
    return {
        re.sub(r"^\W+", "", words): unescape(address)
        for address, words in re.findall(r'<a class="more" href="([^"]+)" hx-get="\1"[^>]*>([^<]+)</a>', text)
    }


def _numbers(text):
    """Both numbers of each line."""
    return re.findall(
        r'<td class="number[^"]*">(\d+)</td>(?:<td class="text[^<]*</td>)?<td class="number[^"]*">(\d+)', text
    )


async def _part(pages, address):
    answer = await pages.client.get(address, headers=IN_PLACE)
    assert is_part(answer)
    assert answer.text.count("autofocus") == 1
    return answer.text


async def test_a_gap_is_filled_from_both_sides(pages, forge):
    links = _links((await pages.get(f"/ann/demo/commit/{SHA}", ANN)).text)
    assert list(links) == ["3 more lines above", "20 more lines above", "20 more lines below"]
    first = await _part(pages, links["3 more lines above"])
    assert (_numbers(first), _links(first)) == ([(str(n), str(n)) for n in (1, 2, 3)], {})
    assert first.count("&lt;2&gt;") == 1

    above = await _part(pages, links["20 more lines above"])
    assert _numbers(above) == [(str(n - 1), str(n)) for n in range(41, 61)]
    assert above.index('class="more"') < above.index("&lt;41&gt;")
    below = await _part(pages, _links(above)["20 more lines below"])
    assert _numbers(below) == [(str(n - 1), str(n)) for n in range(12, 32)]
    assert below.index('class="more"') > below.index("&lt;31&gt;")
    rest = await _part(pages, _links(below)["9 more lines above"])
    assert (_numbers(rest), _links(rest)) == ([(str(n - 1), str(n)) for n in range(32, 41)], {})


async def test_lines_below_the_last_hunk_go_on_to_the_end_of_the_file(pages, forge):
    part = DIFF[: DIFF.index("@@ -60")]
    forge.answers[f"{HOME}/git/commits/{SHA}.diff"] = part.encode()
    address = _links((await pages.get(f"/ann/demo/commit/{SHA}")).text)["More lines below"]
    shown = []
    for _ in range(3):
        text = await _part(pages, address)
        shown += [int(new) for _, new in _numbers(text)]
        address = _links(text).get("More lines below", "")
    assert (shown, address) == (list(range(12, 66)), "")
    ended = await _part(pages, f"/ann/demo/blob_excerpt/{SHA}?path=a+b.txt&first=66&last=0&shift=0&way=down")
    assert "The file ends here." in ended


async def test_side_by_side_the_lines_stand_on_both_sides(pages, forge):
    query = "path=a+b.txt&first=1&last=2&shift=-1&way=up"
    text = await _part(pages, f"/ann/demo/blob_excerpt/{SHA}?{query}&style=split")
    assert (text.count("&lt;2&gt;"), 'class="sign"' in text) == (2, False)


async def test_without_javascript_the_lines_are_those_of_the_whole_file(pages, forge):
    page = f"/ann/demo/blob_excerpt/{SHA}?path=a+b.txt&first=12&last=60&shift=-1&way=up"
    answer = await pages.get(page)
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"/ann/demo/src/commit/{SHA}/a%20b.txt#L12",
    )
    for wrong in ("first=0", "last=x", "shift=1e5", "path="):
        name = wrong.partition("=")[0]
        address = re.sub(rf"{name}=[^&]*", wrong, page)
        assert (await pages.client.get(address, headers=IN_PLACE)).status_code == 404
    forge.failures[HOME] = 404
    for headers in ({}, IN_PLACE):
        assert (await pages.client.get(page, headers=headers)).status_code == 404


async def test_of_a_large_file_the_content_is_not_read(pages, forge):
    text = "x\n" * 500_000
    page = f"/ann/demo/blob_excerpt/{SHA}?path=a+b.txt&first=1&last=2&shift=0"
    put(forge, "a b.txt", text)
    assert _numbers(await _part(pages, page)) == [("1", "1"), ("2", "2")]
    put(forge, "a b.txt", f"{text}x")
    refused = await pages.client.get(page, headers=IN_PLACE)
    assert (refused.status_code, is_part(refused)) == (413, True)
    assert "file_content" not in forge.queries[f"{HOME}/contents-ext/a b.txt"]


async def test_a_file_that_is_new_or_gone_has_nothing_left_out(pages, forge):
    text = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,1 @@\n+x\n"
    gone = "diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"
    forge.answers[f"{HOME}/git/commits/{SHA}.diff"] = (text + gone).encode()
    assert _links((await pages.get(f"/ann/demo/commit/{SHA}")).text) == {}
