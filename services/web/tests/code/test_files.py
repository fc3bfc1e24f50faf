"""Files as pages show them."""

from base64 import b64encode
from urllib.parse import parse_qs

import pytest

from ingot_web.code.rules.first_lines import MOST_LINES

from ..forge import HOME
from ..world import ANN, BOB


def put(forge, name, text):
    """One file, at the end of the addresses of its pages."""
    file = {
        "type": "file", "name": name, "path": name, "size": len(text), "sha": "2" * 40,
        "content": b64encode(text.encode()).decode(),
    }  # fmt: skip
    forge.answers[f"{HOME}/contents-ext/{name}"] = {"file_contents": file}
    return f"branch/main/{name}"


@pytest.mark.parametrize("name", ["a.txt", "a.py", "a.csv"])
async def test_a_file_of_very_many_lines_is_shown_as_far_as_a_page_goes(pages, forge, name):
    place = put(forge, name, "\n" * 100_000)
    shown = (await pages.get(f"/ann/demo/src/{place}")).text

    assert shown.count('<tr id="L') == MOST_LINES
    assert len(shown) < 1_000_000
    assert "100000 lines" in shown
    assert f"{100_000 - MOST_LINES} more lines: too long to show." in shown
    assert f'<a href="/ann/demo/raw/{place}">Whole file, raw</a>' in shown


async def test_a_file_that_fits_is_shown_whole(pages, forge):
    place = put(forge, "a.txt", "x\n" * MOST_LINES)
    shown = (await pages.get(f"/ann/demo/src/{place}")).text
    assert (f'id="L{MOST_LINES}"' in shown, "too long to show" in shown) == (True, False)


async def test_who_may_not_change_a_file_is_led_to_a_fork(pages, forge):
    page, way = (
        f"/ann/demo/src/{put(forge, 'a.txt', 'x')}",
        'href="/ann/demo/fork">Fork to edit</a>',
    )
    assert way not in (await pages.get(page, ANN)).text
    own = forge.answers[HOME]
    forge.answers[HOME] = own | {"permissions": {"admin": False, "push": False, "pull": True}}
    shown = (await pages.get(page, BOB)).text
    assert (way in shown, "_edit/" in shown) == (True, False)
    assert way not in (await pages.get(page)).text
    forge.answers[HOME] = forge.answers[HOME] | {"archived": True}
    assert way not in (await pages.get(page, BOB)).text


@pytest.mark.parametrize(
    ("text", "is_table"),
    [
        ("a,b\n1,2\n", True),
        ("1,2\n" * 10_000, True),
        ("1,2\n" * 10_001, False),
        ('"' + "," * 20_001 + '"\n', True),
        ("a\n" + "\n" * 20_000, False),
    ],
)
async def test_a_table_has_no_more_cells_than_a_page_holds(pages, forge, text, is_table):
    place = put(forge, "a.csv", text)
    shown = (await pages.get(f"/ann/demo/src/{place}")).text
    source = (await pages.get(f"/ann/demo/src/{place}?display=source")).text
    assert ['<th scope="col">' in html for html in (shown, source)] == [is_table, False]
    assert ('href="?display=source">Source<' in shown, ">Rendered<" in source) == (is_table, is_table)
    for html in (shown, source):
        assert ("more than 20,000 cells: too many for a table" in html) is not is_table


@pytest.mark.parametrize(
    ("text", "words"), [("", "empty"), ("\n\n", "2 lines"), ("a\rb,c\n", "it cannot be read as a table")]
)
async def test_a_file_without_rows_is_offered_as_no_table(pages, forge, text, words):
    shown = (await pages.get(f"/ann/demo/src/{put(forge, 'a.csv', text)}")).text
    assert (words in shown, "display=source" in shown, "<th" in shown) == (True, False, False)


async def test_a_drawing_is_a_picture_or_its_source(pages, forge):
    text = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    place = put(forge, "logo.SVG", text)
    shown = (await pages.get(f"/ann/demo/src/{place}", ANN)).text
    assert f'<img src="/ann/demo/raw/{place}" alt="logo.SVG">' in shown
    assert ("<script>alert" in shown, "alert(1)" in shown) == (False, False)
    for way in ("?display=source", f"/ann/demo/blame/{place}", "/ann/demo/_edit/main/logo.SVG"):
        assert f'href="{way}"' in shown
    source = (await pages.get(f"/ann/demo/src/{place}?display=source", ANN)).text
    assert ('id="L1"' in source, "<script>alert" in source, 'class="picture"' in source) == (
        True,
        False,
        False,
    )


async def test_a_raw_drawing_comes_with_what_makes_it_harmless(pages, forge):
    place, path = put(forge, "logo.svg", "<svg/>"), f"{HOME}/raw/logo.svg"
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    forge.answers[path], forge.content_types[path] = b"<svg/>", "image/svg+xml"
    forge.headers[path] = {"content-security-policy": policy, "x-content-type-options": "nosniff"}
    raw = await pages.get(f"/ann/demo/raw/{place}")
    assert (raw.content, raw.headers["content-type"]) == (b"<svg/>", "image/svg+xml")
    assert raw.headers.get_list("content-security-policy") == [policy]
    assert raw.headers.get_list("x-content-type-options") == ["nosniff"]


async def test_the_page_of_an_empty_repository_leads_to_tokens_and_to_keys_where_ssh_is_on(pages, forge):
    forge.answers[HOME] |= {"empty": True}
    forge.answers[f"{HOME}/languages"] = {}
    for address in ("", "git@forge:ann/demo.git"):
        forge.answers[HOME]["ssh_url"] = address
        shown = (await pages.get("/ann/demo", ANN)).text
        assert 'href="/user/settings/applications">a token</a>' in shown
        assert ("an SSH key</a> the address is <code>" in shown) == bool(address)


@pytest.mark.parametrize(
    ("ref", "archive", "words"),
    [
        ("branch/main", "main", "main"),
        ("tag/v1", "refs/tags/v1", "v1"),
        (f"commit/{'1' * 40}", "1" * 40, "1" * 10),
    ],
)
async def test_what_is_downloaded_is_what_is_shown(pages, forge, ref, archive, words):
    forge.answers[f"{HOME}/contents-ext"] = {"dir_contents": []}
    shown = (await pages.get(f"/ann/demo/src/{ref}")).text
    for form in ("zip", "tar.gz"):
        assert f'<a href="/ann/demo/archive/{archive}.{form}">Download {words} as {form}</a>' in shown


@pytest.mark.parametrize(
    ("ref", "name"),
    [("branch/x", "refs/heads/x"), ("tag/x", "refs/tags/x"), (f"commit/{'1' * 40}", "1" * 40)],
)
async def test_a_page_of_a_ref_asks_for_no_other_one_of_its_name(pages, forge, ref, name):
    file = {"type": "file", "name": "a.txt", "path": "a.txt", "sha": "2" * 40, "size": 1, "content": "YQ=="}
    forge.answers |= {
        f"{HOME}/contents-ext/a.txt": {"file_contents": file},
        f"{HOME}/git/trees/{name}": {"tree": [], "total_count": 0},
        f"{HOME}/blame/a.txt": {"lines": [], "commits": []},
        f"{HOME}/raw/a.txt": b"a",
    }
    for page, path, field in (
        ("src/{}/a.txt", "contents-ext/a.txt", "ref"), ("src/{}/a.txt", "commits", "sha"),
        ("raw/{}/a.txt", "raw/a.txt", "ref"),
        ("blame/{}/a.txt", "blame/a.txt", "ref"), ("commits/{}", "commits", "sha"),
        ("commits/{}/a.txt", "commits", "sha"),
        ("atom/{}", "commits", "sha"), ("commits/{}.atom", "commits", "sha"),
    ):  # fmt: skip
        forge.queries.clear()
        answer = await pages.get(f"/ann/demo/{page.format(ref)}")
        assert answer.status_code == 200, (page, answer.text)
        assert parse_qs(forge.queries[f"{HOME}/{path}"])[field] == [name], page
    assert (await pages.get(f"/ann/demo/find/{ref}")).status_code == 200


async def test_a_missing_file_keeps_the_frame_of_its_repository(pages, forge):
    forge.failures[f"{HOME}/contents-ext/none.txt"] = 404
    answer = await pages.get("/ann/demo/src/branch/main/none.txt")
    assert answer.status_code == 404
    assert ("has no <code>none.txt</code>" in answer.text, 'aria-label="ann/demo"' in answer.text) == (
        True,
        True,
    )
    forge.failures[HOME] = 404
    hidden = await pages.get("/ann/demo/src/branch/main/none.txt")
    assert (hidden.status_code, "none.txt</code>" in hidden.text) == (404, False)


@pytest.mark.parametrize(
    ("target", "leads_to"),
    [
        ("../README.md", "README.md"),
        ("deep/x", "docs/deep/x"),
        ("nowhere", ""),
        ("../../etc/passwd", ""),
        ("/etc/passwd", ""),
        ("", ""),
    ],
)
async def test_a_symbolic_link_leads_on_inside_the_repository(pages, forge, target, leads_to):
    link = {"type": "symlink", "name": "l", "path": "docs/l", "size": 3, "sha": "2" * 40, "target": target}
    forge.answers[f"{HOME}/contents-ext/docs/l"] = {"file_contents": link}
    for path in ("README.md", "docs/deep/x"):
        forge.answers[f"{HOME}/contents-ext/{path}"] = {"file_contents": {}}
    shown = (await pages.get("/ann/demo/src/branch/main/docs/l")).text
    way = f'<a href="/ann/demo/src/branch/main/{leads_to}"><code>{target}</code></a>'
    assert (way in shown) is bool(leads_to)
    assert f"<code>{target}</code>" in shown


async def test_a_file_has_a_heading_and_one_search_at_most(pages, forge):
    shown = (await pages.get(f"/ann/demo/src/{put(forge, 'a.py', 'x')}", ANN)).text
    assert shown.count("<h1") == 1
    for path in ("/ann/demo/issues", "/explore/repos", "/ann/demo"):
        assert (await pages.get(path, ANN)).text.count('role="search"') <= 1


async def test_blocks_of_code_in_texts_are_reached_by_the_keyboard(pages, forge):
    forge.html["text"] = "<pre><code>x</code></pre>"
    place = put(forge, "a.md", "text")
    assert '<pre tabindex="0"><code>x' in (await pages.get(f"/ann/demo/src/{place}")).text
