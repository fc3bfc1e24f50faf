"""JavaScript saves loading pages for a preview and a comment. Without it, the forms have the same result."""

import base64
import struct
import zlib

import pytest
from tests.e2e.deployments import ADMINISTRATOR

from .api import api_of, content, make
from .person import BAR, PROGRAM, open_browser


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_a_comment_is_looked_at_and_sent(deployment, tmp_path, javascript):
    name = f"lamp-{'with' if javascript else 'without'}"
    async with api_of(deployment.url) as http:
        for path, body in (
            ("user/repos", {"name": name, "auto_init": True}),
            (f"repos/{ADMINISTRATOR[0]}/{name}/issues", {"title": "It flickers"}),
        ):
            assert (await http.post(path, json=body)).status_code == 201
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{ADMINISTRATOR[0]}/{name}/issues/1")
        await person.mark()
        await person.write("Comment", "Every **evening**.")
        await person.press("Preview")
        await person.read("Every evening.")
        assert await person.stays() == javascript
        await person.press("Comment", within="button")
        await person.read(f"{ADMINISTRATOR[0]} wrote")
        await person.page.wait_for(
            "document.querySelector('#thread > li:last-child strong')?.innerText === 'evening'"
        )
        assert await person.page.value("document.querySelector('#body').value") == ""
        assert await person.stays() == javascript

        await person.press(ADMINISTRATOR[0], within=BAR)
        await person.read("Your profile")
        await person.page.value("window.control.focus()")
        for kind in ("keyDown", "keyUp"):
            await person.page.call("Input.dispatchKeyEvent", type=kind, key="Escape", code="Escape")
        assert await person.page.value("window.control.parentElement.open") != javascript
        assert not person.page.complaints
        if javascript:
            await person.visit(f"{ADMINISTRATOR[0]}/{name}/issues/1")
            network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
            await person.page.call("Network.emulateNetworkConditions", offline=True, **network)
            await person.write("Comment", "Is anybody there?")
            await person.press("Comment", within="button")
            await person.read("The site does not answer.")
            assert await person.page.value("document.querySelector('#body').value") == "Is anybody there?"
        assert all(
            address.startswith((deployment.url, "about:", "data:")) for address in person.page.requests
        )


def _picture(shade):
    """A PNG of one grey pixel."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixel = zlib.compress(bytes([0, shade]))
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")
    return base64.b64encode(content).decode()


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_two_states_of_a_picture_lie_beside_and_over_each_other(deployment, tmp_path):
    base = f"repos/{ADMINISTRATOR[0]}/shades"
    async with api_of(deployment.url) as http:
        await http.post("user/repos", json={"name": "shades", "auto_init": True})
        file = f"{base}/contents/shade.png"
        first = (await http.post(file, json={"content": _picture(40)})).json()
        sha, branch = first["content"]["sha"], {"new_branch": "light"}
        changed = (await http.put(file, json={"content": _picture(200), "sha": sha} | branch)).json()
        await http.post(f"{base}/pulls", json={"title": "Lighter", "head": "light", "base": "main"})
    commit = f"{ADMINISTRATOR[0]}/shades/commit/{changed['commit']['sha']}"
    drawn = "[...document.querySelectorAll('.pictures img')].filter(one => one.naturalWidth).length === 2"
    style = "(name => getComputedStyle(document.querySelectorAll('.pictures img')[1])[name])"
    async with open_browser(deployment.url, tmp_path) as person:
        for page in (f"{ADMINISTRATOR[0]}/shades/pulls/1/files", commit):
            await person.visit(page)
            await person.page.wait_for(drawn)
        await person.press("Swipe")
        assert (await person.page.value(f"{style}('clipPath')")).startswith("inset(")
        await person.press("Onion skin")
        assert await person.page.value(f"{style}('clipPath') + {style}('opacity')") == "none0.5"
        await person.press("Side by side")
        assert await person.page.value(f"{style}('opacity')") == "1"
        await person.visit(f"{ADMINISTRATOR[0]}/shades")
        await person.press("main")
        await person.follow("light")
        assert (await person.page.value("location.pathname")).endswith("/shades/src/branch/light")
        await person.visit(f"{ADMINISTRATOR[0]}/shades/compare/main...light")
        await person.page.wait_for(drawn)
        await person.press("Swipe")
        assert not person.page.complaints


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_more_files_of_a_commit_come_below_the_first(deployment, tmp_path, javascript):
    name = f"quays-{'with' if javascript else 'without'}"
    async with api_of(deployment.url) as http:
        await http.post("user/repos", json={"name": name, "auto_init": True})
        files = [
            {"operation": "create", "path": f"quay{number:02}.txt", "content": content("stone\n")}
            for number in range(45)
        ]
        path = f"repos/{ADMINISTRATOR[0]}/{name}/contents"
        answer = await http.post(path, json={"files": files, "message": "Build", "branch": "main"})
        assert answer.status_code == 201, answer.text
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        await person.visit(f"{ADMINISTRATOR[0]}/{name}/commit/{answer.json()['commit']['sha']}")
        for latest in ("quay39.txt", "quay44.txt"):
            await person.mark()
            await person.press("More files")
            await person.read(latest)
            assert await person.stays() == javascript
        assert await person.page.value("document.body.innerText.includes('quay00.txt')") == javascript
        assert not await person.page.value("document.body.innerText.includes('More files')")
        assert not person.page.complaints


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_a_link_to_a_comment_on_another_page_leads_there(deployment, tmp_path, javascript):
    name = f"depth-{'with' if javascript else 'without'}"
    issue = f"repos/{ADMINISTRATOR[0]}/{name}/issues"
    async with api_of(deployment.url) as http:
        await http.post("user/repos", json={"name": name})
        await http.post(issue, json={"title": "How deep is it?"})
        for fathoms in range(1, 52):
            said = await http.post(f"{issue}/1/comments", json={"body": f"{fathoms} fathoms"})
            assert said.status_code == 201, said.text
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        await person.visit(said.json()["html_url"].removeprefix(deployment.url))
        if not javascript:
            await person.read("50 fathoms")
            await person.follow("", within="main .other-pages a")
        await person.read("51 fathoms")
        target = "document.querySelector(':target')?.innerText.includes('51 fathoms')"
        await person.page.wait_for(target)
        assert await person.page.value("location.search") == "?page=2"
        assert not person.page.complaints


async def _changed_file(url, name):
    """Return the page of a commit that changes the middle of a file of 60 lines, in a new repository."""
    lines = [f"hour {number}" for number in range(1, 61)]

    async with api_of(url) as http:
        await http.post("user/repos", json={"name": name, "auto_init": True})
        file = f"repos/{ADMINISTRATOR[0]}/{name}/contents/tide.txt"
        first = (await http.post(file, json={"content": content("\n".join(lines))})).json()
        lines[29] = "half past"
        body = {"content": content("\n".join(lines)), "sha": first["content"]["sha"]}
        changed = (await http.put(file, json=body)).json()
    return f"{ADMINISTRATOR[0]}/{name}/commit/{changed['commit']['sha']}"


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_lines_around_changes_are_shown_on_demand(deployment, tmp_path, javascript):
    name = f"tide-{'with' if javascript else 'without'}"
    commit = await _changed_file(deployment.url, name)
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        await person.visit(commit)
        assert not await person.page.value("document.body.innerText.includes('hour 20')")
        await person.mark()
        await person.press("\N{UPWARDS ARROW} 20 more lines above")
        await person.read("hour 20")
        assert await person.stays() == javascript
        if javascript:
            await person.page.wait_for("document.activeElement.localName === 'tr'")
            await person.press("\N{UPWARDS ARROW} 6 more lines above")
            await person.read("hour 1\n")
            await person.press("\N{DOWNWARDS ARROW} More lines below")
            await person.read("hour 53")
        else:
            assert await person.page.value("location.hash") == "#L1"
        assert not person.page.complaints


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_where_lines_do_not_come_their_links_stay(deployment, tmp_path):
    commit, more = await _changed_file(deployment.url, "ebb"), "\N{UPWARDS ARROW} 20 more lines above"
    reason = "document.querySelector('tr:has(.more) [role=alert]')?.innerText"
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    async with open_browser(deployment.url, tmp_path) as person:
        await person.visit(commit)
        await person.page.call("Network.emulateNetworkConditions", offline=True, **network)
        await person.press(more)
        await person.page.wait_for(f"{reason} === 'The site does not answer. Try it again in a moment.'")
        await person.page.call("Network.emulateNetworkConditions", offline=False, **network)
        await person.press(more)
        await person.read("hour 20")
        assert not await person.page.value(reason)
        async with api_of(deployment.url) as http:
            gone = await http.delete(f"repos/{ADMINISTRATOR[0]}/ebb")
            assert gone.status_code == 204, gone.text
        await person.press("\N{UPWARDS ARROW} 6 more lines above")
        await person.page.wait_for(f"{reason}?.includes('ot found') || {reason}?.includes('no such page')")
        await person.read("hour 20")


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_the_number_of_files_is_said_while_a_path_is_written(deployment, tmp_path):
    commit = await _changed_file(deployment.url, "flood")
    async with open_browser(deployment.url, tmp_path) as person:
        await person.visit(f"{commit.partition('/commit/')[0]}/find/branch/main")
        await person.page.value("window.place = document.querySelector('main [role=status]')")
        for text, words in (("tid", "1 file"), ("nothing", "No file has “nothing” in its path.")):
            await person.write("Part of the path", text)
            await person.page.wait_for(f"window.place.innerText === '{words}'")
        assert await person.page.value("window.place.isConnected")
        assert not await person.page.value("document.querySelector('#files').innerText.includes('tide')")
        assert not person.page.complaints


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_a_name_is_completed_while_it_is_written(deployment, tmp_path):
    crew = "tugs"
    async with api_of(deployment.url) as http:
        assert (await http.post("orgs", json={"username": crew})).status_code == 201
        assert (await http.post(f"orgs/{crew}/repos", json={"name": "boat"})).status_code == 201
        await http.post(f"orgs/{crew}/teams", json={"name": "stokers", "permission": "read"})
    async with open_browser(deployment.url, tmp_path) as person:
        await person.sign_in(*ADMINISTRATOR)
        for path, label, text, name in (
            ("collaboration", "User name", ADMINISTRATOR[0][:2], ADMINISTRATOR[0]),
            ("teams", "Team", "stok", "stokers"),
        ):
            await person.visit(f"{crew}/boat/settings/{path}")
            await person.write(label, text)
            options = "[...document.querySelectorAll('datalist option')].map(one => one.value)"
            await person.page.wait_for(f"{options}.includes('{name}')")
        assert not person.page.complaints


DROP = """(() => {
  const box = document.querySelector("#body").getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
"""The text of a comment."""


async def _drop(person, file):
    """Drop a file on the text of a comment."""
    x, y = await person.page.value(DROP)
    data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        await person.page.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)
    await person.page.wait_for("document.querySelector('#files').files.length === 1")


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_a_file_is_dropped_on_a_comment_and_removed(deployment, tmp_path, javascript):
    name = f"drops-{'with' if javascript else 'without'}"
    issue = f"{ADMINISTRATOR[0]}/{name}/issues/1"
    file = tmp_path / "lamp.txt"
    file.write_text("a lamp\n")
    async with api_of(deployment.url) as http:
        await make(http, "user/repos", name=name, auto_init=True)
        await make(http, f"repos/{ADMINISTRATOR[0]}/{name}/issues", title="It flickers")
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(issue)
        # Without JavaScript nothing takes what is dropped.
        await person.read("Drop, paste or choose files." if javascript else "Choose files.")
        await person.write("Comment", "See this.")
        await (_drop(person, file) if javascript else person.attach("Files", file))
        await person.press("Comment", within="button")
        await person.read("lamp.txt")
        await person.follow("Edit this comment")
        address = await person.page.value("[...document.links].find(one => one.text === 'lamp.txt').href")
        assert (await _answer(deployment, address)).text == "a lamp\n"
        await person.press("Remove lamp.txt")
        await person.follow("Remove lamp.txt", within="main button")
        assert not await person.page.value("document.body.innerText.includes('Remove lamp.txt')")
        assert (await _answer(deployment, address)).status_code == 404
        assert not person.page.complaints


ISSUE_FORM = """
name: Bug
body:
  - type: input
    id: version
    attributes: {label: Version}
  - type: checkboxes
    id: terms
    attributes: {label: Terms, options: [{label: Searched before, required: true}]}
"""


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_a_refused_issue_form_shows_problems_at_its_fields(deployment, tmp_path, javascript):
    name = f"forms-{'with' if javascript else 'without'}"
    base = f"repos/{ADMINISTRATOR[0]}/{name}"
    async with api_of(deployment.url) as http:
        await make(http, "user/repos", name=name, auto_init=True)
        await make(http, f"{base}/contents/.gitea/ISSUE_TEMPLATE/bug.yaml", content=content(ISSUE_FORM))
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{ADMINISTRATOR[0]}/{name}/issues/new")
        await person.follow("Bug")
        await person.write("Title", "It flickers")
        await person.write("Version", "1.2")
        await person.follow("Create issue")
        await person.read("Select: Searched before")
        await person.press("Searched before", within="label")
        await person.follow("Create issue")
        await person.read("It flickers #1")
        await person.read("1.2")


async def _answer(deployment, address):
    async with api_of(deployment.url) as http:
        return await http.get(address)


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without JavaScript"])
async def test_a_suggestion_keeps_what_was_written_and_no_text_is_left_unasked(
    deployment, tmp_path, javascript
):
    owner, name = ADMINISTRATOR[0], f"berth-{'with' if javascript else 'without'}"
    async with api_of(deployment.url) as http:
        await http.post("user/repos", json={"name": name, "auto_init": True})
        file = {"content": content("one\ntwo\n"), "new_branch": "topic"}
        await http.post(f"repos/{owner}/{name}/contents/file", json=file)
        await http.post(f"repos/{owner}/{name}/pulls", json={"title": "Two", "head": "topic", "base": "main"})
    asks = "!dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    async with open_browser(deployment.url, tmp_path, javascript=javascript) as person:
        await person.sign_in(*ADMINISTRATOR)
        await person.visit(f"{owner}/{name}/pulls/1/files")
        await person.follow("Comment on line 2")
        await person.page.wait_for("document.activeElement.id === 'body'")
        assert not await person.page.value(asks)
        await person.write("Comment on line 2", "Shorter:")
        assert await person.page.value(asks) == javascript
        await person.mark()
        await person.press("Suggest a change")
        await person.page.wait_for("document.querySelector('#body').value.includes('suggestion')")
        assert await person.page.value("document.querySelector('#body').value") == (
            "Shorter:\n\n```suggestion\ntwo\n```"
        )
        assert (await person.stays(), await person.page.value(asks)) == (javascript, javascript)
        await person.follow("Comment now")
        await person.read("In place of line 2 is written:")
        place = await person.page.value("location.hash")
        assert place.startswith("#pullrequestreviewcomment-")
        assert not await person.page.value(asks)
        assert not person.page.complaints


@pytest.mark.skipif(PROGRAM is None, reason="needs Chromium on PATH")
@pytest.mark.parametrize("deployment", ["standalone"], indirect=True)
async def test_other_looks_at_a_file_keep_the_line(deployment, tmp_path):
    owner = ADMINISTRATOR[0]
    async with api_of(deployment.url) as http:
        await http.post("user/repos", json={"name": "pier", "auto_init": True})
        await http.post(f"repos/{owner}/pier/contents/file", json={"content": content("one\ntwo\n")})
    async with open_browser(deployment.url, tmp_path) as person:
        await person.visit(f"{owner}/pier/src/branch/main/file#L2")
        await person.follow("Permalink")
        await person.press("Line 1")
        await person.follow("Blame", "File")
        assert (await person.page.value("location.href")).endswith("/file#L1")
        assert not person.page.complaints
