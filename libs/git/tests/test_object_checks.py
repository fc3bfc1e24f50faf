"""Objects that the service writes pass the checks of a push. receive-pack checks each of them here."""

import pygit2
import pytest
from pygit2.enums import ObjectType

from ingot_git.process.command import GitArgs, run_git
from ingot_git.process.errors import GitFailed, UnsafeObject
from ingot_git.refs.refs import ZERO_OID
from ingot_git.storage.object_checks import is_judged
from ingot_git.storage.scratch import scratch, staged
from ingot_git.storage.storage import Storage

FILE, EXECUTABLE, LINK, FOLDER, SUBMODULE = b"100644", b"100755", b"120000", b"40000", b"160000"
WHO = b"Ann <ann@example.org> 1600000000 +0000"
GOOD = b'[submodule "x"]\n\tpath = x\n\turl = https://example.org/x\n'
CONTENTS = {
    "good": GOOD,
    "path": GOOD.replace(b"= x", b"= -x"),
    "url": GOOD.replace(b"https://example.org/x", b"-u./payload"),
    "name": GOOD.replace(b'"x"', b'"../../x"'),
    "update": GOOD + b"\tupdate = !sh\n",
    "no configuration": b"[[[",
    "long line": b"a" * 4096,
    "long url": GOOD.replace(b"https://example.org/x", b"-" + b"u" * 8192),
}
SPELLINGS = (
    *(".git", ".gitmodules", ".gitattributes", ".gitignore", ".mailmap", ".github", ".gitkeep",
      ".gitmodulesx"),
    *("git~1", "git~2", "gitmod~4", "gi7eba~1", "gitatt~1", "gi7d29~1", "mailma~1", "gitmod~1x"),
    *(".git . .", ".git::$INDEX_ALLOCATION", ".gitmodules ", ".gitmodules:x", ".gitattributes."),
    *(".g\u200cit", ".gitmod\u200fules", "\ufeff.git", ".gitattri\u202abutes", ".gitm\u00f6dules"),
    *("a\\.git", "a\\.gitmodules", "a\\git~1", ".git\\hooks", "..", ".", "...", "a~", "x~1", "README.md",
      "\u00e9.txt"),
)  # fmt: skip
NAMES = dict.fromkeys(
    name.encode() for name in (*SPELLINGS, ".GIT", ".GitModules", "GIT~1", "GITMOD~1", ".GITATTRIBUTES")
)


@pytest.fixture
def storage(tmp_path):
    return Storage(tmp_path)


def blob(repo, content):
    return repo.create_blob(content).raw


def write_tree(repo, *entries):
    """A tree as a hostile client writes one: (mode, name, raw id)."""
    text = b"".join(mode + b" " + name + b"\0" + oid for mode, name, oid in entries)
    return repo.odb.write(ObjectType.TREE, text)


def write_commit(repo, tree):
    text = b"tree " + str(tree).encode() + b"\nauthor " + WHO + b"\ncommitter " + WHO + b"\n\nx\n"
    return repo.odb.write(ObjectType.COMMIT, text)


def push_succeeds(target, *builds):
    """True if receive-pack takes commits of these trees; each push is of objects of its own."""
    with scratch(pygit2.Repository(str(target))) as view:
        commits = [write_commit(view, build(view)) for build in builds]
        pack = pygit2.PackBuilder(view)
        for file in view.folder.glob("??/*"):
            pack.add(pygit2.Oid(hex=file.parent.name + file.name))
        pack.write(view.folder)
        objects = next(view.folder.glob("*.pack")).read_bytes()
    commands = [f"{ZERO_OID} {commit} refs/heads/x-{commit}" for commit in commits]
    commands[0] += "\0report-status"
    lines = b"".join(f"{len(line) + 4:04x}{line}".encode() for line in commands)
    output = run_git(
        GitArgs("receive-pack", ("--stateless-rpc",), (str(target),)), stdin=lines + b"0000" + objects
    )
    assert b"unpack " in output
    return b"unpack ok" in output


def is_written(storage, build):
    """Return the service's error, or nothing if it has written the objects that ``build`` creates."""
    repo = storage.open(1)
    commit, error = None, None
    try:
        with staged(repo) as view:
            commit = write_commit(view, build(view))
            view.keep(str(commit))
    except UnsafeObject as refusal:
        error = refusal
    assert (commit in repo) is (error is None)
    return error


def refusals(storage, builds):
    """Return the service's errors by name. A push accepts exactly the objects that the service writes."""
    storage.create(1, "main")
    target = storage.create(2, "main")
    refused = {name: error for name, build in builds.items() if (error := is_written(storage, build))}
    assert push_succeeds(target, *(build for name, build in builds.items() if name not in refused))
    assert [name for name in refused if push_succeeds(target, builds[name])] == []
    return refused


def tree_of(mode, name):
    def build(repo):
        oid = write_tree(repo).raw if mode == FOLDER else blob(repo, b"text\n")
        oid = b"\1" * 20 if mode == SUBMODULE else oid
        return write_tree(repo, (FOLDER, b"deep", write_tree(repo, (mode, name, oid)).raw))

    return build


def tree_with(name, content):
    return lambda repo: write_tree(repo, (FILE, name.encode(), blob(repo, content)))


def test_names_and_kinds_of_entries_are_judged_as_in_a_push(storage):
    kinds = [(name, mode) for name in NAMES for mode in (FILE, LINK)]
    kinds += [(name.encode(), mode) for name in SPELLINGS[:8] for mode in (FOLDER, SUBMODULE, EXECUTABLE)]
    kinds.remove((b".gitmodules", SUBMODULE))
    refused = refusals(storage, {(name, mode): tree_of(mode, name) for name, mode in kinds})
    for (name, _), refusal in refused.items():
        assert refusal.path.encode() == b"deep/" + name
    for name, mode in ((b".git", FILE), (b"GIT~1", FILE), (b".gitmodules", LINK), (b".gitattributes", LINK)):
        assert (name, mode) in refused
    assert (b".gitmodules", FOLDER) in refused
    assert not any(is_judged(name) for name in (b".gitignore", b".github", b".gitkeep", b"README.md"))


def test_contents_are_judged_as_in_a_push(storage):
    names = (".gitmodules", ".GITMODULES", "gitmod~1", ".gitattributes", "README.md")
    refused = refusals(
        storage,
        {(name, kind): tree_with(name, text) for name in names for kind, text in CONTENTS.items()},
    )
    reasons = {name: str(refusal) for name, refusal in refused.items()}
    assert reasons[".gitmodules", "path"] == "disallowed submodule path: -x (gitmodulesPath)"
    assert reasons["gitmod~1", "url"] == "disallowed submodule url: -u./payload (gitmodulesUrl)"
    assert reasons[".GITMODULES", "name"] == "disallowed submodule name: ../../x (gitmodulesName)"
    assert reasons[".gitmodules", "long url"] == "a value is too long"
    assert "gitattributesLineLength" in reasons[".gitattributes", "long line"]
    assert {refusal.path for refusal in refused.values()} == {name for name, _ in reasons}
    assert not any(name == "README.md" for name, _ in reasons)


def test_a_submodule_called_gitmodules_is_refused(storage):
    storage.create(1, "main")
    refusal = is_written(storage, tree_of(SUBMODULE, b".gitmodules"))
    assert (refusal.path, "gitmodulesMissing" in str(refusal)) == ("deep/.gitmodules", True)


def test_a_file_that_is_in_the_repository_already_is_judged_under_its_new_name(storage):
    storage.create(1, "main")
    oid = blob(storage.open(1), CONTENTS["path"])
    refusal = is_written(storage, lambda view: write_tree(view, (FILE, b".gitmodules", oid)))
    assert (refusal.path, "gitmodulesPath" in str(refusal)) == (".gitmodules", True)


def test_a_check_that_git_cannot_make_is_no_verdict(storage):
    repo = pygit2.Repository(str(storage.create(1, "main")))
    with pytest.raises(GitFailed), staged(repo) as view:  # an object of the tree is missing
        tree = write_tree(view, (FILE, b".gitmodules", b"\1" * 20))
    assert tree not in repo
