"""Submodules in `.gitmodules`, compared with git."""

import subprocess

import pygit2
import pytest
from pygit2.enums import FileMode

from ingot_git.history.submodules import LARGEST, module_urls
from ingot_git.storage.read_cache import SharedCache
from ingot_git.testing.builders import commit

URL = "https://example.org/lib.git"
PLAIN = f'[submodule "lib"]\n\tpath = lib\n\turl = {URL}\n'
CASES = {
    PLAIN: {"lib": URL},
    PLAIN.replace("\n", "\r\n"): {"lib": URL},
    "\ufeff" + PLAIN: {"lib": URL},
    PLAIN.replace("\t", ""): {"lib": URL},
    PLAIN.replace(" = ", "="): {"lib": URL},
    PLAIN.replace("submodule", "SubModule").replace("path", "Path").replace("url", "URL"): {"lib": URL},
    f"[submodule.LIB]\npath=lib\nurl={URL}": {"lib": URL},
    f'[submodule "lib"] path = lib\nurl = {URL}': {"lib": URL},
    f'[submodule "lib"]\nurl = {URL}\npath = lib\nbranch = main\nignore = dirty\n': {"lib": URL},
    # Comments
    f"# first\n; second\n{PLAIN}": {"lib": URL},
    f'[submodule "lib"] # more\n  path = lib ; more\n  url = {URL} # more\n': {"lib": URL},
    f'[submodule "lib"]\npath = lib#more\nurl = {URL};more\n': {"lib": URL},
    f'[submodule "lib"]\npath = "lib#one"\nurl = "{URL}#x"\n': {"lib#one": f"{URL}#x"},
    f'[submodule "lib"]\n# path = other\npath = lib\n;url = none\nurl = {URL}\n': {"lib": URL},
    # Quotes and escapes
    f'[submodule "lib"]\npath = "a b"\nurl = "{URL}"\n': {"a b": URL},
    f'[submodule "lib"]\npath = a" b "c\nurl = {URL}\n': {"a b c": URL},
    f'[submodule "lib"]\npath = a  b  \nurl = {URL}   \n': {"a  b": URL},
    f'[submodule "lib"]\npath = " a "\nurl = {URL}\n': {" a ": URL},
    f'[submodule "lib"]\npath = a\\"b\nurl = {URL}\n': {'a"b': URL},
    f'[submodule "lib"]\npath = a\\\\b\nurl = {URL}\n': {"a\\b": URL},
    f'[submodule "lib"]\npath = a\\tb\nurl = {URL}\n': {"a\tb": URL},
    f'[submodule "lib"]\npath = "a\\nb"\nurl = {URL}\n': {"a\nb": URL},
    f'[submodule "lib"]\npath = "\\"a\\""\nurl = {URL}\n': {'"a"': URL},
    f'[submodule "a\\"b\\\\c"]\npath = lib\nurl = {URL}\n': {"lib": URL},
    f'[submodule "a]b"]\npath = lib\nurl = {URL}\n': {"lib": URL},
    f'[submodule "a.b.c"]\npath = lib\nurl = {URL}\n': {"lib": URL},
    f'[submodule "\u00fc"]\npath = \u00fc\nurl = {URL}\n': {"\u00fc": URL},
    # Lines that continue
    '[submodule "lib"]\npath = l\\\nib\nurl = https://example.org/\\\nlib.git\n': {"lib": URL},
    f'[submodule "lib"]\npath = "l\\\nib"\nurl = {URL}\n': {"lib": URL},
    f'[submodule "lib"]\npath = lib # \\\nurl = {URL}\n': {"lib": URL},
    # Several sections and values
    f'{PLAIN}[submodule "b"]\npath = b\nurl = ../b\n': {"lib": URL, "b": "../b"},
    f'[submodule "b"]\npath = b\n{PLAIN}[submodule "b"]\nurl = ../b\n': {"lib": URL, "b": "../b"},
    f'[submodule "lib"]\npath = other\npath = lib\nurl = none\nurl = {URL}\n': {"lib": URL},
    f'{PLAIN}[other "b"]\npath = b\nurl = c\n[submodule]\npath = d\nurl = e\n': {"lib": URL},
    f'[submodule "LIB"]\npath = a\n[submodule "lib"]\nurl = {URL}\n': {},
    # Nothing, or not all that is needed
    "": {},
    '[submodule "lib"]\npath = lib\n': {},
    '[submodule "lib"]\npath\nurl\n': {},
    '[submodule "lib"]\npath = lib\nurl =\n': {},
    # What git ignores because it could do harm
    f'[submodule "../x"]\npath = lib\nurl = {URL}\n': {},
    f'[submodule "a/../b"]\npath = lib\nurl = {URL}\n': {},
    f'[submodule "lib"]\npath = -x\nurl = {URL}\n': {},
    '[submodule "lib"]\npath = lib\nurl = -u./payload\n': {},
    f'[submodule "a..b"]\npath = lib\nurl = {URL}\n': {"lib": URL},
    # Broken: git reads nothing of it
    f"{PLAIN}[submodule\n": {},
    f"{PLAIN}path = \\x\n": {},
    f'{PLAIN}path = "open\n': {},
    f'{PLAIN}[submodule "b\n"]\n': {},
    f"{PLAIN}<<<<<<< HEAD\n": {},
    "\0": {},
}


@pytest.fixture
def repo(tmp_path):
    return pygit2.init_repository(str(tmp_path / "bare.git"), bare=True)


def urls_of(repo, text, cache=None):
    content = text if isinstance(text, bytes) else text.encode()
    tree = str(repo[commit(repo, {".gitmodules": content})].tree_id)
    return module_urls(repo, tree, SharedCache() if cache is None else cache)


@pytest.mark.parametrize("text", CASES)
def test_submodules_are_read_like_git_does(repo, text):
    assert urls_of(repo, text) == CASES[text]


def test_git_finds_the_submodules_of_these_files(tmp_path):
    """As `git submodule init` in a work tree that has them."""
    index = "".join(
        f"160000 {'1' * 40}\t{path}\0" for path in {path for urls in CASES.values() for path in urls}
    )
    for number, (text, urls) in enumerate(CASES.items()):
        work = tmp_path / str(number)
        work.mkdir()
        (work / ".gitmodules").write_bytes(text.encode())

        def git(*args, work=work, **more):
            return subprocess.run(
                ["git", *args], cwd=work, capture_output=True, check=False, text=True, **more
            )

        git("init", "-q")
        git("update-index", "-z", "--index-info", input=index)
        git("config", "remote.origin.url", "https://example.org/app/app.git")
        for path, url in urls.items():
            git("submodule", "init", "--", path)
            written = git("config", "--get-regexp", r"^submodule\..*\.url$").stdout
            assert url.replace("../b", "https://example.org/app/b") in written, text
        if not urls:
            git("submodule", "init")
            assert git("config", "--get-regexp", r"^submodule\..*\.url$").stdout == "", text


def test_no_other_file_is_included(repo, tmp_path):
    other = tmp_path / "other"
    other.write_text(PLAIN)
    for section in ("include", f'includeIf "gitdir:{repo.path}"', 'includeIf "onbranch:**"'):
        assert urls_of(repo, f'[{section}]\n\tpath = {other}\n[submodule "b"]\npath = b\nurl = c\n') == {
            "b": "c"
        }


def test_a_file_is_read_once_unless_it_is_too_large(repo, git_log):
    cache = SharedCache()
    git_log.clear()
    for _ in range(2):
        assert urls_of(repo, PLAIN, cache) == {"lib": URL}
    assert len(list(git_log)) == 1
    assert urls_of(repo, PLAIN + "#" * LARGEST, cache) == {}
    assert len(list(git_log)) == 1


def test_only_a_file_is_read(repo):
    for files in ({"a": b""}, {".gitmodules/a": b""}, {".gitmodules": (FileMode.LINK, PLAIN.encode())}):
        assert module_urls(repo, str(repo[commit(repo, files)].tree_id), SharedCache()) == {}
