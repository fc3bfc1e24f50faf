"""Pages: what is asked for, and the headers that lead to the others."""

import pytest

from ingot_chassis.http.paging import Page, page_headers


@pytest.mark.parametrize(
    ("query", "number", "limit"),
    [
        ({}, 1, 30),
        ({"page": "3", "limit": "7"}, 3, 7),
        ({"page": "0", "limit": "0"}, 1, 30),
        ({"page": "-1", "limit": "-9"}, 1, 30),
        ({"page": "x", "limit": "1e3"}, 1, 30),
        ({"limit": "51"}, 1, 50),
        ({"page": "99999999999999999999"}, 2**31, 30),
    ],
)
def test_what_is_not_a_page_becomes_the_default(query, number, limit):
    assert Page.of(query, 30) == Page(number, limit)


def test_a_middle_page_links_to_all_four_and_keeps_the_filters_but_no_secret():
    headers = page_headers(
        Page(2, 10), 35, url="http://x/l", query=[("q", "a b"), ("page", "2"), ("token", "s3")]
    )
    assert headers["X-Total-Count"] == "35"
    assert headers["Link"] == (
        '<http://x/l?q=a+b&page=3&limit=10>; rel="next",<http://x/l?q=a+b&page=4&limit=10>; rel="last",'
        '<http://x/l?q=a+b&page=1&limit=10>; rel="first",<http://x/l?q=a+b&page=1&limit=10>; rel="prev"'
    )


def test_a_single_page_has_no_link():
    assert page_headers(Page(1, 10), 10, url="http://x/", query=[]) == {"X-Total-Count": "10"}


def test_a_page_behind_the_last_leads_back_to_the_last():
    assert 'page=2&limit=10>; rel="prev"' in page_headers(Page(9, 10), 15, url="http://x/", query=[])["Link"]
