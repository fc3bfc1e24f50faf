"""The list of changed files of a pull request, and the size of its first page."""

import re
from base64 import b64encode
from html import unescape

import pytest

from ingot_contracts.issues.file_views import FileViews
from ingot_web.diffs.rules.parsing import anchor_of

from ..diffs.test_changes import added
from ..forge import ANN_USER, HOME, MOMENT, issue
from ..previews.test_previews import IN_PLACE, is_part
from ..test_forms import ANSWERS, HEAD
from ..world import BOB
from .test_file_views import VIEWS, views_of

PAGE = "/ann/demo/pulls/1/files"
PULL = f"{HOME}/pulls/1"
FILES = [f"src/part{number // 10}/module_{number:03}.py" for number in range(120)]
CHANGED = {path: added(path, 12) for path in FILES}


@pytest.fixture
def forge(forge):
    facts = {"pull_request": {"merged": False, "draft": False}, "base": {"ref": "main"}, "head": HEAD}
    forge.answers |= ANSWERS | {
        PULL: issue(merged=False, mergeable=True, merge_base="0" * 40, **facts),
        f"{PULL}/comments": [],
        f"{PULL}/files": [
            {"filename": path, "status": "added", "additions": 12, "deletions": 0} for path in FILES
        ],
        f"{PULL}.diff": "".join(CHANGED[path] for path in FILES[:20]).encode(),
    }
    forge.totals[f"{PULL}.diff"] = 120
    forge.internal = {f"GET {VIEWS}": FileViews(), f"PUT {VIEWS}": None}
    return forge


def tree_of(html):
    """The links of the tree: address and words by path."""
    tree = re.search(r'<nav class="tree.*?</nav>', html, re.DOTALL)[0]
    links = re.findall(r'<a href="([^"]*)" title="([^"]*)"[^>]*>(.*?)</a>', tree)
    return {path: (unescape(href), re.sub(r"<[^>]*>", " ", words).split()) for href, path, words in links}


async def test_120_files_begin_with_less_than_150_kb_and_3000_nodes(pages):
    answer = await pages.get(PAGE, BOB)
    assert len(answer.content) < 150_000
    assert len(re.findall(r"<[a-z]", answer.text)) < 3_000
    assert len(tree_of(answer.text)) == 120


async def test_a_file_of_the_tree_leads_to_its_place_or_to_the_page_that_has_it(pages):
    tree = tree_of((await pages.get(PAGE, BOB)).text)
    assert tree[FILES[3]][0] == f"#{anchor_of(FILES[3])}"
    assert re.fullmatch(rf"\?.*page=3#{anchor_of(FILES[40])}", tree[FILES[40]][0])


async def test_the_tree_has_sizes_viewed_marks_and_open_conversations(pages, forge):
    comment = {
        "id": 5,
        "path": FILES[30],
        "position": 1,
        "original_position": 0,
        "diff_hunk": "@@",
        "user": ANN_USER,
        "pull_request_review_id": 7,
        "resolver": None,
        "outdated": False,
        "body": "Why?",
        "created_at": MOMENT,
    }
    closed = comment | {"id": 6, "path": FILES[31], "resolver": ANN_USER}
    forge.answers[f"{PULL}/comments"] = [comment, closed]
    [first, second, other] = views_of("".join(CHANGED[path] for path in (FILES[0], FILES[1], FILES[50])))
    views = {first.path: "0" * 64, second.path: second.changes, other.path: other.changes}
    forge.internal[f"GET {VIEWS}"] = FileViews(changes=views)
    tree = tree_of((await pages.get(PAGE, BOB)).text)
    size = ["+12", "\N{MINUS SIGN}0"]

    def words(index):
        name, *rest = tree[FILES[index]][1]
        assert name == FILES[index].rpartition("/")[2]
        assert rest[-2:] == size
        return " ".join(rest[:-2])

    assert [words(index) for index in (0, 1, 2, 50)] == [
        "Changed since you viewed it",
        "Viewed",
        "",
        "Viewed before",
    ]
    assert [words(index) for index in (30, 31)] == ["1 open conversation", ""]


async def test_files_behind_a_full_page_come_when_they_are_seen(pages, forge):
    shown = (await pages.get(PAGE, BOB)).text
    later = re.findall(r'hx-get="(\?[^"]*file=(\d+)[^"]*)" hx-trigger="click, intersect once"', shown)
    assert [int(number) for _, number in later] == list(range(12, 21))
    forge.answers[f"{PULL}.diff"] = CHANGED[FILES[11]].encode()
    answer = await pages.client.get(
        PAGE + unescape(later[0][0]), headers=IN_PLACE | pages.callers.headers(BOB)
    )
    assert (is_part(answer), answer.text.count('class="add"')) == (True, 12)
    assert f'name="anchor" value="{anchor_of(FILES[11])}"' in answer.text
    assert re.search(r'name="back" value="files/0/1/0/', answer.text), "a mark leads back to all files"
    alone = (await pages.get(PAGE + unescape(later[0][0]), BOB)).text
    assert (alone.count('class="add"'), "All changed files" in alone) == (12, True)


async def test_a_path_leads_to_the_changes_of_its_file(pages):
    answer = await pages.get(f"{PAGE}?path={FILES[77]}", BOB)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{PAGE}?file=78")
    assert (await pages.get(f"{PAGE}?path=nowhere.py", BOB)).status_code == 200


async def test_a_file_is_marked_in_place(pages, forge):
    shown = (await pages.get(PAGE, BOB)).text
    form = dict(
        re.findall(
            r'name="(\w+)" value="([^"]*)"', shown.partition('class="viewed"')[2].partition("</form>")[0]
        )
    )
    answer = await pages.post("/ann/demo/pulls/1/viewed", form, BOB, **IN_PLACE)
    assert (answer.status_code, answer.content, forge.calls[-1]) == (204, b"", ("PUT", VIEWS))


async def test_generated_files_are_folded_by_the_attributes_of_the_head(pages, forge):
    content = b64encode(b"module_003.py linguist-generated\n").decode()
    forge.answers[f"{HOME}/contents-ext/.gitattributes"] = {
        "file_contents": {"type": "file", "content": content}
    }
    shown = (await pages.get(PAGE, BOB)).text
    heads = re.findall(
        r'<details class="box file"( open)?[^>]*>\s*<summary>(.*?)</summary>', shown, re.DOTALL
    )
    folded = [(bool(opened), FILES[3] in head) for opened, head in heads if "Generated" in head]
    assert folded == [(False, True)]
    assert forge.queries[f"{HOME}/contents-ext/.gitattributes"].startswith(f"ref={'1' * 40}")
