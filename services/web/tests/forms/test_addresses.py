"""The page of a form, by the address to which the form is sent."""

import pytest

from ingot_web.forms.rules.addresses import page_of_form

PAGES = (
    "/",
    "/ann/a b",
    "/ann/demo",
    "/ann/demo/branches",
    "/ann/demo/pulls/1",
    "/ann/demo/pulls/1/comments/2",
)


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/ann/demo/branches/delete", "/ann/demo/branches"),
        ("/ann/demo/branches/delete/", "/ann/demo/branches"),
        ("/ann/demo/one/two/three", "/ann/demo"),
        ("/ann/a b/star", "/ann/a%20b"),
        ("/ann/a b/x?y#z/star", "/ann/a%20b"),
        ("/nobody/here", "/"),
        ("//evil.example/ann", "/"),
        ("/", "/"),
        ("/user/settings/password", "/user/settings/security"),
        ("/ann/demo/settings/migrate/retry", "/ann/demo"),
        ("/ann/demo/pulls/1/merge", "/ann/demo/pulls/1#merge"),
        ("/ann/demo/pulls/1/viewed", "/ann/demo/pulls/1/files"),
        ("/ann/demo/pulls/1/comments/2/replies", "/ann/demo/pulls/comments/2"),
        ("/ann/demo/pulls/1/other", "/ann/demo/pulls/1"),
        ("/a?b/demo/pulls/1/merge", "/a%3Fb/demo/pulls/1#merge"),
    ],
)
def test_a_form_is_on_the_nearest_page_above_its_address_or_on_one_that_is_named(path, page):
    assert page_of_form(path, PAGES.__contains__) == page
