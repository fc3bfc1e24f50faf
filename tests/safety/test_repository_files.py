"""Parsers of pushed files that services read: any text is parsed, or rejected with the documented error."""

import contextlib

import msgspec
import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygit2.enums import FileMode

from ingot_chassis.csv_tables import read_table
from ingot_contracts.limits import is_web_url
from ingot_git.history.editorconfig import NAME, PROPERTIES, editor_settings
from ingot_git.history.submodules import module_urls
from ingot_git.process.errors import ObjectNotFound, OutputTooLarge
from ingot_git.storage.read_cache import SharedCache
from ingot_repos.files.rules import MOST_PARTS, InvalidForm, PartBudget, read_config, read_template
from ingot_repos.repositories.rules.template_names import filled_paths
from ingot_web.issues.rules.templates import draft_of

from .test_parsers import CHANGE, changed

EXAMPLES = settings(max_examples=150, deadline=None)
FIELDS = st.sampled_from(
    ["name", "about", "description", "title", "labels", "assignees", "ref", "body", "type", "id",
     "attributes", "validations",
     "visible", "blank_issues_enabled", "contact_links", "url", "label", "options", "value"]
)  # fmt: skip
VALUES = st.sampled_from(
    ["a", "input", "dropdown", "checkboxes", "markdown", "~", "true", "Off", "1", "-0", "9999999999999999999",
     "1.5", "1:1:1", "1:1.5",
     "0x_", "0b", "1e400", ".inf", ".nan", "2026-99-99", "2026-01-02T03:04:05+99:99", "=", "<<", "&a a", "*a",
     "!!bool x", "!!int ''", "!!float '-'", "!!timestamp x", "!!python/object/apply:os.system [id]",
     "!!binary _", "!!set {a}", "!x y", "! ''",
     "'\0'", '"\\ud800"', '"\\x00"', "'\ufeff'", "|\n  a", ">-\n  a", "? a", "- a", "%YAML 9.9", "---", "...",
     "@", "`", "\t", "# a", ""]
)  # fmt: skip
KEYS = FIELDS | VALUES
YAML = st.recursive(
    VALUES | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(KEYS, inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=10,
)
FILE = st.lists(st.tuples(KEYS, YAML), max_size=8).map(
    lambda pairs: "\n".join(["name: a", *(f"{key}: {value}" for key, value in pairs)])
)
DATA = st.binary(max_size=200) | st.builds(
    changed, FILE.map(lambda text: text.encode("utf-8", "surrogatepass")), st.lists(CHANGE, max_size=3)
)


@EXAMPLES
@given(DATA, st.sampled_from(["a.yaml", "a.yml", "a.md", "A.MD"]))
def test_a_template_is_read_within_its_bound_or_refused(data, path):
    budget = PartBudget()
    content = b"---\n" + data + b"\n---\ntext" if path.lower().endswith("md") else data
    with contextlib.suppress(InvalidForm):
        template = read_template(path, content, budget)
        shown = msgspec.json.decode(msgspec.json.encode(template))
        assert isinstance(draft_of(shown).body, str)
    assert MOST_PARTS - 4 * len(content) - 10 <= budget.left <= MOST_PARTS


@EXAMPLES
@given(DATA)
def test_a_configuration_is_read_or_refused(data):
    try:
        config = read_config(data)
    except InvalidForm:
        return
    assert msgspec.json.decode(msgspec.json.encode(config))["blank_issues_enabled"] in (True, False)
    assert all(is_web_url(link.url) in (True, False) for link in config.contact_links)


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    return pygit2.init_repository(str(tmp_path_factory.mktemp("pushed")), bare=True)


def tree_with(repo, name, content):
    index = pygit2.Index()
    index.add(pygit2.IndexEntry(name, repo.create_blob(content), FileMode.BLOB))
    return str(index.write_tree(repo))


def test_settings_of_editors_are_read_whatever_is_in_their_file(repo):
    words = [
        *PROPERTIES,
        "root",
        "=",
        ":",
        "[",
        "]",
        "{",
        "}",
        "..",
        ",",
        "*",
        "?",
        "!",
        "\\",
        "#",
        ";",
        "\n",
        "1",
        "-9",
        "x",
        "\0",
        "\ufeff",
    ]
    who = pygit2.Signature("a", "a@b", 1, 0)

    @EXAMPLES
    @given(
        st.binary(max_size=200)
        | st.lists(st.sampled_from(words), max_size=60).map(lambda one: "".join(one).encode()),
        st.text(alphabet="ab1/.x-", min_size=1, max_size=30),
    )
    def read(content, path):
        commit = repo.create_commit(None, who, who, "m", pygit2.Oid(hex=tree_with(repo, NAME, content)), [])
        with contextlib.suppress(ObjectNotFound, OutputTooLarge):
            shown = editor_settings(repo, str(commit), path)
            assert shown.keys() <= set(PROPERTIES)
            assert all(isinstance(value, str) for value in shown.values())

    read()


def test_addresses_of_submodules_are_read_whatever_is_in_their_file(repo):
    words = ["[", "]", "submodule", '"', "path", "url", "=", "\n", "\r", " ", "a", "../x", "\0", "\u2028"]

    @EXAMPLES
    @given(
        st.binary(max_size=200)
        | st.lists(st.sampled_from(words), max_size=60).map(lambda one: "".join(one).encode())
    )
    def read(content):
        urls = module_urls(repo, tree_with(repo, ".gitmodules", content), SharedCache(1))
        assert "" not in {*urls, *urls.values()}

    read()


@EXAMPLES
@given(st.text(alphabet="ab/*?[]{}!-,\\.\u00e9\0\n", max_size=60), st.text(alphabet="ab/.-", max_size=60))
def test_a_pattern_of_a_template_stands_for_a_path_or_not(pattern, path):
    assert filled_paths([pattern], [path]) <= {path}


@EXAMPLES
@given(st.text(alphabet='a,";\r\n\0\t ', max_size=80))
def test_a_table_has_no_more_cells_than_its_text_has_signs(text):
    rows, _ = read_table(text)
    assert sum(len(row) for row in rows) <= len(text) + 1
