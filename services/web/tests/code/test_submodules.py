"""Pages to which addresses of submodules lead."""

import pytest

from ingot_web.code.rules.submodules import page_of

from ..forge import HOME

COMMIT = "1" * 40
HERE = f"/bob/lib/src/commit/{COMMIT}"
OVER_SSH = "ssh://git@forge.example:2222/ann/demo.git"


def page(address, *, public_url="https://forge.example/", ssh_url=OVER_SSH):
    repository = {"clone_url": f"{public_url}ann/demo.git", "ssh_url": ssh_url}
    shown = page_of(address, COMMIT, repository, public_url)
    return None if shown is None else (shown.href, shown.is_here)


@pytest.mark.parametrize(
    "address",
    [
        "https://forge.example/bob/lib.git",
        "https://FORGE.example:443/bob/lib/",
        "http://forge.example/bob/lib",
        "https://bob:secret@forge.example/bob/lib.git",
        "ssh://git@forge.example:2222/bob/lib.git",
        "../../bob/lib.git",
        ".././../bob/lib",
    ],
)
def test_a_submodule_of_this_site_leads_to_its_commit(address):
    assert page(address) == (HERE, True)


def test_a_neighbour_is_found_and_a_site_may_have_a_path():
    assert page("../lib.git") == (f"/ann/lib/src/commit/{COMMIT}", True)
    tools = {"public_url": "https://forge.example/tools/"}
    assert page("../../bob/lib", **tools) == ("/tools" + HERE, True)
    assert page("https://forge.example/tools/bob/lib", **tools) == ("/tools" + HERE, True)
    assert page("https://forge.example/bob/lib", **tools) == ("https://forge.example/bob/lib", False)
    assert page("ssh://git@forge.example:2222/bob/lib", **tools) == ("/tools" + HERE, True)


def test_an_address_of_ssh_may_be_short():
    assert page("git@forge.example:bob/lib.git", ssh_url="git@forge.example:ann/demo.git") == (HERE, True)
    assert page("git@[::1]:/bob/lib.git", ssh_url="git@[::1]:ann/demo.git") == (HERE, True)
    for address in ("git@forge.example:bob/lib.git", "git@other.example:bob/lib.git", OVER_SSH):
        assert page(address, ssh_url="") is None


@pytest.mark.parametrize(
    ("address", "href"),
    [
        ("https://other.example/bob/lib.git", "https://other.example/bob/lib.git"),
        ("http://other.example:8080/lib", "http://other.example:8080/lib"),
        ("https://forge.example:8443/bob/lib", "https://forge.example:8443/bob/lib"),
        ("https://forge.example@other.example/lib", "https://other.example/lib"),
        ("https://[2001:db8::1]/lib", "https://[2001:db8::1]/lib"),
        ('https://other.example/a b"<i>?x=1#y', "https://other.example/a%20b%22%3Ci%3E?x=1"),
        ("https://forge.example/bob", "https://forge.example/bob"),
        ("https://forge.example/../lib", "https://forge.example/../lib"),
    ],
)
def test_a_submodule_of_another_site_leads_there(address, href):
    assert page(address) == (href, False)


@pytest.mark.parametrize(
    "address",
    [
        "", "javascript:alert(1)", "JavaScript://forge.example/%0aalert(1)", "data:text/html,x",
        "file:///etc/passwd", "git://other.example/lib", "git://forge.example/bob/lib",
        "ftp://other.example/lib", "/srv/git/lib.git", "lib", "//other.example/lib", "https:///lib",
        "https://", "https://other.example:x/lib", "https://[::1/lib", "https://ex\u00e4mple.org/lib",
        "../../../x", "../" * 40_000 + "x", "ssh://git@other.example/bob/lib",
        "ssh://git@forge.example:2222/bob", "ext::sh -c x", "https://a\\@other.example\\.evil/lib",
    ],
)  # fmt: skip
def test_no_other_address_is_a_link(address):
    assert page(address) is None


async def test_a_submodule_in_a_list_of_files_leads_to_its_page(pages, forge):
    def entry(name, address):
        return {
            "type": "submodule", "name": name, "path": name, "sha": COMMIT, "size": 0,
            "submodule_git_url": address,
        }  # fmt: skip

    entries = [
        entry("near", "../../bob/lib.git"),
        entry("far", "https://x.example/lib"),
        entry("lost", "git://x/y"),
    ]
    forge.answers[f"{HOME}/contents-ext"] = {"dir_contents": entries}
    shown = (await pages.get("/ann/demo/src/branch/main")).text
    for link in (
        f'<a href="{HERE}">near</a>',
        '<a href="https://x.example/lib" rel="nofollow noopener">far</a>',
        '<a href="/ann/demo/src/branch/main/lost">lost</a>',
    ):
        assert link in shown
    label = f"The submodule near at {COMMIT[:10]}"
    assert f'href="/ann/demo/src/branch/main/near" aria-label="{label}">@ {COMMIT[:10]}</a>' in shown


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("../../bob/lib.git", f'of <a href="{HERE}">../../bob/lib.git</a>.'),
        ("https://x.example/lib",
         'of <a href="https://x.example/lib" rel="nofollow noopener">https://x.example/lib</a>.'),
        ("javascript:alert(1)", "of javascript:alert(1).</p>"),
        (None, f"at commit <code>{COMMIT}</code>.</p>"),
    ],
)  # fmt: skip
async def test_the_page_of_a_submodule_leads_to_where_it_comes_from(pages, forge, address, words):
    file = {
        "type": "submodule",
        "name": "lib",
        "path": "lib",
        "sha": COMMIT,
        "size": 0,
        "submodule_git_url": address,
    }
    forge.answers[f"{HOME}/contents-ext/lib"] = {"file_contents": file}
    assert words in (await pages.get("/ann/demo/src/branch/main/lib")).text
