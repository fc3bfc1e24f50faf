"""Titles, addresses and files of wiki pages, as Gitea writes them."""

import pytest

from ingot_chassis.errors import BadRequest
from ingot_repos.catalog.rules import wiki_names


@pytest.mark.parametrize(
    ("address", "title"),
    [
        ("unnamed", ""),
        ("unnamed", "."),
        ("unnamed", ".."),
        ("wiki-name", "wiki name"),
        ("title.md.-", "title.md"),
        ("wiki-name.-", "wiki-name"),
        ("the+wiki-name.-", "the wiki-name"),
        ("a%2Fb", "a/b"),
        ("a%25b", "a%b"),
        ("%C3%9Cbung-1", "Übung 1"),
        ("_Sidebar", "_Sidebar"),
        ("..%2F..%2Fetc%2Fpasswd", "../../etc/passwd"),
        ("a%5Cb", "a\\b"),
    ],
)
def test_a_title_has_one_address(address, title):
    assert wiki_names.address_of_title(title) == address
    if title.strip("."):
        assert wiki_names.title_of(address) == title


@pytest.mark.parametrize(
    ("title", "address"),
    [
        ("wiki name", "wiki-name"),
        ("wiki-name", "wiki-name.-"),
        ("name with / slash", "name-with %2F slash"),
        ("name with % percent", "name-with %25 percent"),
        ("2000-01-02 meeting", "2000-01-02+meeting.-.md"),
        ("a b", "a%20b.md"),
    ],
)
def test_an_address_has_a_title(title, address):
    assert wiki_names.title_of(address) == title


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("wiki-name.md", "wiki-name"),
        ("wiki-name.-.md", "wiki-name.-"),
        ("a b.md", "a%20b.md"),
        ("2000-01-02 meeting.-.md", "2000-01-02+meeting.-"),
        ("a%2Fb.md", "a%2Fb"),
        ("100%25 of a-b.-.md", "100%25+of+a-b.-"),
    ],
)
def test_an_address_has_a_file(file, address):
    assert wiki_names.file_of(address) == file


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("Hello-World", "Hello-World.md"),
        ("Hello-World", "Hello World.md"),
        ("Hello-World.-", "Hello-World.-.md"),
        ("Hello+World.-", "Hello World.-.md"),
        ("Symbols-%2F", "Symbols %2F.md"),
        ("100%25", "100%.md"),
        ("%C3%9C", "Ü.md"),
    ],
)
def test_a_file_that_was_pushed_has_an_address_and_is_found_by_it(address, file):
    assert wiki_names.address_of_file(file) == address
    assert file in wiki_names.files_of(address)


@pytest.mark.parametrize("file", ["picture.png", "folder/Page.md", ".md", "README"])
def test_other_files_are_no_pages(file):
    assert wiki_names.address_of_file(file) is None


@pytest.mark.parametrize(
    ("raw", "address"),
    [
        ("Home", "Home"),
        ("a/b", "a%2Fb"),
        ("a%2Fb", "a%2Fb"),
        ("../../Home", "Home"),
        ("a/../b", "b"),
        ("..", ""),
        ("", ""),
    ],
)
def test_no_request_leads_out_of_the_folder(raw, address):
    assert wiki_names.address_of_request(raw) == address
    for name in wiki_names.files_of(address):
        assert "/" not in name


@pytest.mark.parametrize("title", ["_pages", "_new", "_edit", "raw", "x" * 300, "漢" * 60])
def test_some_titles_cannot_be_used(title):
    with pytest.raises(BadRequest, match="title"):
        wiki_names.require_free_name(wiki_names.address_of_title(title))
