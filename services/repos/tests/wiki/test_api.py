"""Pages of a wiki over the API."""

from base64 import b64decode, b64encode

import pytest

from ..world import commit, git, work_tree

WIKI = "/repos/ann/app/wiki"


def encoded(text):
    return b64encode(text.encode()).decode()


def text_of(page, field="content_base64"):
    return b64decode(page[field]).decode()


async def add(person, title, text="text", **fields):
    body = {"title": title, "content_base64": encoded(text), **fields}
    answer = await person.post(f"{WIKI}/new", body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def edit(person, page, **fields):
    return await person.call("PATCH", f"/api/v1{WIKI}/page/{page}", fields)


@pytest.fixture
async def app(ann):
    return await ann.create("app")


async def test_a_page_is_created_with_all_its_fields(world, ann, app):
    page = await add(ann, "Read me first", "# Hello\n", message="the first page")
    last = page.pop("last_commit")
    assert page == {
        "title": "Read me first",
        "html_url": "http://ingot.test/ann/app/wiki/Read-me-first",
        "sub_url": "Read-me-first",
        "content_base64": encoded("# Hello\n"),
        "commit_count": 1,
        "sidebar": "",
        "footer": "",
    }
    assert list(last) == ["sha", "author", "commiter", "message"]
    assert (last["author"]["name"], last["author"]["email"]) == ("Ann", "ann@example.org")
    assert last["message"] == "the first page\n"
    assert len(last["sha"]) == 40
    assert (await ann.get(f"{WIKI}/page/Read-me-first")).json() == page | {"last_commit": last}


async def test_pages_are_files_that_git_sees_and_the_other_way_round(ann, app, git_url, tmp_path):
    await add(ann, "From the API")
    await git("clone", "-q", f"{git_url}/ann/app.wiki.git", "copy", cwd=tmp_path, person=ann)
    copy = tmp_path / "copy"
    assert [path.name for path in copy.glob("*.md")] == ["From-the-API.md"]
    await commit(copy, "Über uns.md", "wir")
    await git("push", "-q", cwd=copy, person=ann)
    pages = (await ann.get(f"{WIKI}/pages")).json()
    assert [page["title"] for page in pages] == ["From the API", "Über uns"]
    page = (await ann.get(f"{WIKI}/page/{pages[1]['sub_url']}")).json()
    assert (text_of(page), page["sub_url"]) == ("wir", "%C3%9Cber-uns")


@pytest.mark.parametrize("title", ["a/b", "100%", "a-b c", "Übung", "x.md", "..", "a+b", "../../x", "?&#"])
async def test_any_title_leads_back_to_its_page(ann, app, title):
    page = await add(ann, title, "unique")
    shown = await ann.get(f"{WIKI}/page/{page['sub_url']}")
    assert shown.status_code == 200, shown.text
    assert (text_of(shown.json()), shown.json()["title"]) == ("unique", page["title"])


async def test_sidebar_and_footer_come_with_each_page(ann, app):
    for title in ("_Sidebar", "_Footer", "Home"):
        await add(ann, title, f"of {title}")
    page = (await ann.get(f"{WIKI}/page/Home")).json()
    assert (text_of(page, "sidebar"), text_of(page, "footer")) == ("of _Sidebar", "of _Footer")


async def test_a_page_is_edited_and_renamed(ann, app):
    first = await add(ann, "Home", "one")
    changed = (await edit(ann, "Home", content_base64=encoded("two"), message="better")).json()
    assert (text_of(changed), changed["commit_count"]) == ("two", 2)
    assert changed["last_commit"]["message"] == "better\n"
    renamed = (await edit(ann, "Home", title="Start here")).json()
    assert (text_of(renamed), renamed["title"], renamed["sub_url"]) == ("two", "Start here", "Start-here")
    assert (await ann.get(f"{WIKI}/page/Home")).status_code == 404
    late = await edit(ann, "Start-here", content_base64=encoded("x"), sha=first["last_commit"]["sha"])
    assert late.status_code == 409
    same = await edit(ann, "Start-here", content_base64="", sha=renamed["last_commit"]["sha"])
    assert (same.status_code, same.json()["content_base64"]) == (200, "")


async def test_revisions_are_listed_latest_first(ann, app):
    await add(ann, "Home", message="first")
    await add(ann, "Other")
    await edit(ann, "Home", content_base64=encoded("two"), message="second")
    answer = await ann.get(f"{WIKI}/revisions/Home?limit=1")
    assert answer.headers["x-total-count"] == "2"
    assert answer.json()["count"] == 2
    assert [one["message"] for one in answer.json()["commits"]] == ["second\n"]
    assert (await ann.get(f"{WIKI}/revisions/None")).status_code == 404


async def test_a_page_is_deleted(world, ann, app):
    await add(ann, "Home")
    deleted = await ann.call("DELETE", f"/api/v1{WIKI}/page/Home")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await ann.get(f"{WIKI}/page/Home")).status_code == 404
    assert (await ann.call("DELETE", f"/api/v1{WIKI}/page/Home")).status_code == 404
    assert (await ann.get(f"{WIKI}/pages")).json() == []


async def test_pages_are_listed_in_pages_and_searched(ann, app):
    for title, text in (("Alpha", "about Birds"), ("Beta", "nothing"), ("Birds of prey", "eagles")):
        await add(ann, title, text)
    answer = await ann.get(f"{WIKI}/pages?limit=2&page=2")
    assert [page["title"] for page in answer.json()] == ["Birds of prey"]
    assert answer.headers["x-total-count"] == "3"
    assert answer.json()[0]["last_commit"]["message"] == 'Add "Birds of prey"\n'
    listed = await ann.get(f"{WIKI}/pages?q=bIRDS")
    assert [page["title"] for page in listed.json()] == ["Alpha", "Birds of prey"]
    assert listed.headers["x-total-count"] == "2"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "title"),
        ({"title": "  "}, "title"),
        ({"title": "_pages"}, "title"),
        ({"title": "Home"}, "title"),
        ({"title": "漢" * 60}, "title"),
        ({"title": "x", "content_base64": "%%%"}, "content_base64"),
    ],
)
async def test_what_makes_no_page_is_a_bad_request(ann, app, body, field):
    await add(ann, "Home")
    answer = await ann.post(f"{WIKI}/new", body)
    assert answer.status_code == 400
    assert field in answer.json()["message"]
    assert len((await ann.get(f"{WIKI}/pages")).json()) == 1


async def test_a_page_does_not_take_the_name_of_another(ann, app):
    await add(ann, "Home")
    await add(ann, "Other", "stays")
    assert (await edit(ann, "Home", title="Other")).status_code == 400
    assert (await edit(ann, "Home", title="_new")).status_code == 400
    assert text_of((await ann.get(f"{WIKI}/page/Other")).json()) == "stays"


async def test_there_is_no_wiki_before_its_first_page_or_when_it_is_off(world, ann, bob, app):
    for path in ("pages", "page/Home", "revisions/Home"):
        assert (await ann.get(f"{WIKI}/{path}")).status_code == 404
    assert (await bob.post(f"{WIKI}/new", {"title": "Home"})).status_code == 403
    assert len(list(world.components.storage.ids())) == 1
    await add(ann, "Home")
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"has_wiki": False})
    assert (await ann.get(f"{WIKI}/page/Home")).status_code == 404
    assert (await ann.post(f"{WIKI}/new", {"title": "Home"})).status_code == 404


async def test_who_reads_and_who_writes(world, ann, bob, app):
    await add(ann, "Home")
    nobody = world.user(0, "")
    for person, read, write in ((bob, 200, 403), (nobody, 200, 401)):
        assert (await person.get(f"{WIKI}/page/Home")).status_code == read
        assert (await edit(person, "Home", content_base64="")).status_code == write
        assert (await person.call("DELETE", f"/api/v1{WIKI}/page/Home")).status_code == write
        assert (await person.post(f"{WIKI}/new", {"title": "New"})).status_code == write
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    for person in (bob, nobody):
        assert (await person.get(f"{WIKI}/page/Home")).status_code == 404
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"archived": True})
    assert (await edit(ann, "Home", content_base64="")).status_code == 403
    assert (await ann.get(f"{WIKI}/page/Home")).status_code == 200


async def test_folders_links_and_other_files_are_no_pages(ann, app, git_url, tmp_path):
    work = await work_tree(tmp_path)
    (work / "Link.md").symlink_to("Home.md")
    (work / "Folder.md").mkdir()
    (work / "Folder.md" / "x").write_text("x")
    await commit(work, "picture.png", "x")
    await commit(work, "Home.md", "home")
    await git("push", "-q", f"{git_url}/ann/app.wiki.git", "master", cwd=work, person=ann)
    assert [page["title"] for page in (await ann.get(f"{WIKI}/pages")).json()] == ["Home"]
    for name in ("Link", "Folder", "picture.png", "Folder.md/x", "%2e%2e%2fHome%00"):
        assert (await ann.get(f"{WIKI}/page/{name}")).status_code == 404


async def test_a_file_of_the_wiki_is_served_raw_and_inert(ann, bob, app, git_url, tmp_path):
    work = await work_tree(tmp_path)
    await commit(work, "img/a.svg", "<svg xmlns='http://www.w3.org/2000/svg'></svg>")
    await git("push", "-q", f"{git_url}/ann/app.wiki.git", "master", cwd=work, person=ann)
    path = "/ann/app/wiki/raw/img/a.svg"
    answer = await bob.call("GET", path)
    assert (answer.status_code, answer.content[:4]) == (200, b"<svg")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert (await bob.call("GET", "/ann/app/wiki/raw/img")).status_code == 404
    await ann.call("PATCH", "/api/v1/repos/ann/app", {"private": True})
    assert (await bob.call("GET", path)).status_code == 404


async def test_a_page_is_shown_as_it_was(ann, app):
    first = await add(ann, "Home", "one")
    await edit(ann, "Home", content_base64=encoded("two"))
    was = await ann.get(f"{WIKI}/page/Home?ref={first['last_commit']['sha']}")
    assert (text_of(was.json()), was.json()["commit_count"]) == ("one", 1)
    assert (await ann.get(f"{WIKI}/page/Home?ref=none")).status_code == 404


async def test_a_list_of_pages_takes_a_constant_number_of_statements(world, ann, app):
    async def statements():
        with world.count_statements() as counted:
            await ann.get(f"{WIKI}/pages")
        return len(counted)

    await add(ann, "One")
    before = await statements()
    for number in range(5):
        await add(ann, f"Page {number}")
    assert await statements() == before
