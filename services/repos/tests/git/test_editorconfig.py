"""Properties of files by `.editorconfig`, by the rules of the specification, and hostile files."""

import pytest

from ingot_testing.service import serve

from ..world import commit, git, work_tree

# Nothing here depends on the kind of database.
pytestmark = pytest.mark.parametrize("database_backend", ["sqlite"], indirect=True)

ROOT = """\ufeff; of the project
root = true
nonsense without a meaning

[*]
charset = UTF-8
indent_style = space
indent_size = 4
end_of_line = lf # a comment
insert_final_newline = true
trim_trailing_whitespace = true
other = ignored

[*.{md,rst}]
trim_trailing_whitespace = false
indent_size = unset

[Makefile]
indent_style = tab
indent_size = tab
tab_width = 8

[lib/**.js]
indent_size = 2

[page{1..12}.txt]
indent_size = 3

[[z-a].txt
indent_size = 9

[[z-a].txt]
indent_size = 9
"""
BELOW = "[*.py]\nindent_size = 3\n[/top.c]\nindent_style=tab\n"


async def several_files(world, folder):
    ann = world.user(1, "ann", full_name="Ann")
    await ann.create("app")
    work = await work_tree(folder)
    await commit(work, ".editorconfig", ROOT.replace("\n", "\r\n"))
    await commit(work, "src/.editorconfig", BELOW)
    await commit(work, "a[b]/.editorconfig", "[x/*]\nindent_size=7\n")
    await commit(work, "alone/.editorconfig", "root=true\n[*]\ncharset = latin1\n")
    (work / "linked").mkdir()
    (work / "linked/.editorconfig").symlink_to("../src/.editorconfig")
    (work / "folder/.editorconfig").mkdir(parents=True)
    await commit(work, "folder/.editorconfig/x", "x")
    async with serve(world.app) as url:
        await git("push", "-q", f"{url}/ann/app.git", "master", cwd=work, person=ann)


@pytest.fixture
def arrangement(request):
    return several_files if "work_tree_of_app" in request.fixturenames else None


@pytest.fixture
async def work_tree_of_app(world, tmp_path):
    return tmp_path / "work"


FORMATTING = {
    "charset": "utf-8",
    "indent_style": "space",
    "indent_size": "4",
    "tab_width": 4,
    "end_of_line": "lf",
    "insert_final_newline": True,
    "trim_trailing_whitespace": True,
}


@pytest.mark.parametrize(
    ("path", "differs"),
    [
        ("x.py", {}),
        ("none/of/these/x.py", {}),
        ("README.md", {"trim_trailing_whitespace": None, "indent_size": None, "tab_width": None}),
        ("Makefile", {"indent_style": "tab", "indent_size": "8", "tab_width": 8}),
        ("lib/a/b.js", {"indent_size": "2", "tab_width": 2}),
        ("src/lib/a.js", {}),
        ("page12.txt", {"indent_size": "3", "tab_width": 3}),
        ("page13.txt", {}),
        ("src/deep/er/x.py", {"indent_size": "3", "tab_width": 3}),
        ("src/top.c", {"indent_style": "tab"}),
        ("src/deep/top.c", {}),
        ("a[b]/x/y", {"indent_size": "7", "tab_width": 7}),
        ("ab/x/y", {}),
        ("linked/x.py", {}),
        ("folder/.editorconfig/x.py", {}),
    ],
)
async def test_the_nearest_section_that_fits_wins(ann, work_tree_of_app, path, differs):
    answer = await ann.get(f"/repos/ann/app/editorconfig/{path}")
    assert answer.status_code == 200, answer.text
    assert answer.json() == {key: value for key, value in (FORMATTING | differs).items() if value is not None}


async def test_nothing_above_a_root_is_looked_at(ann, work_tree_of_app):
    assert (await ann.get("/repos/ann/app/editorconfig/alone/x")).json() == {"charset": "latin1"}


async def test_another_branch_is_asked_by_name(ann, work_tree_of_app, git_url):
    await git("checkout", "-q", "-b", "other/one", cwd=work_tree_of_app)
    await commit(work_tree_of_app, ".editorconfig", "[*]\nindent_size = 6\n")
    await git("push", "-q", f"{git_url}/ann/app.git", "other/one", cwd=work_tree_of_app, person=ann)
    path = "/repos/ann/app/editorconfig/x.py"
    assert (await ann.get(f"{path}?ref=other/one")).json()["indent_size"] == "6"
    assert (await ann.get(path)).json()["indent_size"] == "4"
    assert (await ann.get(f"{path}?ref=none")).status_code == 404


@pytest.mark.parametrize("path", ["..", "a/../b", ".", "%00", "a%00b", "a/.."])
async def test_what_is_no_path_is_not_found(ann, work_tree_of_app, path):
    assert (await ann.get(f"/repos/ann/app/editorconfig/{path.replace('.', '%2e')}")).status_code == 404


async def test_without_such_a_file_nothing_is_found(ann, bob):
    await ann.create("app", auto_init=True, private=True)
    answer = await ann.get("/repos/ann/app/editorconfig/x")
    assert (answer.status_code, answer.json()["message"]) == (404, "there is no .editorconfig")
    assert (await bob.get("/repos/ann/app/editorconfig/x")).status_code == 404


@pytest.mark.parametrize(
    "text",
    [
        "[" + "*a" * 400 + "b]\nindent_size=9\n[*]\nindent_size=2\n",
        "[" + "{a*,*a}" * 30 + "]\nindent_size=9\n[*]\nindent_size=2\n",
        "[" + "{" * 5000 + "]\nindent_size=9\n[*]\nindent_size=2\n",
        "[" + "{a" * 900 + "}" * 900 + "]\nindent_size=9\n[*]\nindent_size=2\n",
        "[*]\nindent_size=2\n" + "charset" + " " * 100_000 + "x\n" * 2,
        "[*]\nindent_size=2\n" + ("charset=" + "x" * 240 + "#\n") * 500,
        "[{1.." + "9" * 500 + "}]\nindent_size=9\n[*]\nindent_size=2\n",
        "[{a,{1..3}}]\nindent_size=9\n[*]\nindent_size=2\n",
        "[*]\nindent_size=2\n\0\0\0=\0\n[\0]\nindent_size=5\n",
        "[*]\nindent_size=2\n[*\nindent_size",
    ],
)
async def test_hostile_files_are_read_in_no_time(ann, git_url, tmp_path, text):
    """Each of them would keep a backtracking matcher, or a parser without bounds, busy for minutes."""
    await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, ".editorconfig", text)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    answer = await ann.get(f"/repos/ann/app/editorconfig/{'a' * 200}")
    assert answer.json()["indent_size"] == "2"


async def test_a_range_of_numbers_has_no_number_of_thousands_of_digits(ann, work_tree_of_app):
    answer = await ann.get(f"/repos/ann/app/editorconfig/page{'1' * 5000}.txt")
    assert answer.json()["indent_size"] == "4"


async def test_a_file_that_is_too_large_is_not_read(ann, git_url, tmp_path):
    await ann.create("app")
    work = await work_tree(tmp_path)
    await commit(work, ".editorconfig", "[*]\nindent_size=2\n" + "# x\n" * 70_000)
    await git("push", "-q", f"{git_url}/ann/app.git", "master", cwd=work, person=ann)
    answer = await ann.get("/repos/ann/app/editorconfig/x")
    assert (answer.status_code, answer.json()["message"]) == (404, ".editorconfig is too large")
