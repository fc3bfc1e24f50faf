"""Outcomes of forms, which the next page shows once."""

from urllib.parse import parse_qs

import pytest

from ingot_web.forms.rules.outcomes import LIFETIME, Outcomes
from ingot_web.forms.rules.tokens import FormTokens

NOW, PAGE = 1_800_000_000, "/user/settings"


def proof_of(outcomes, **changed):
    words = {"caller": "1 11", "path": PAGE, "outcome": "saved", "now": NOW} | changed
    query = parse_qs(outcomes.query(**words))
    assert query["outcome"] == [words["outcome"]]
    return query["proof"][0]


def test_it_is_said_once_and_each_time_that_it_was_done():
    outcomes = Outcomes(FormTokens("a key"))
    first, second = proof_of(outcomes), proof_of(outcomes)
    said = [outcomes.is_new("1 11", PAGE, "saved", proof, NOW) for proof in (first, first, second)]
    assert said == [True, False, True]


@pytest.mark.parametrize(
    "changed",
    [{"caller": "2 12"}, {"path": "/ann/demo/settings"}, {"outcome": "merge"}, {"now": NOW - LIFETIME - 1}],
)
def test_it_is_said_to_nobody_else_nowhere_else_and_no_more_later(changed):
    outcomes = Outcomes(FormTokens("a key"))
    assert not outcomes.is_new("1 11", PAGE, "saved", proof_of(outcomes, **changed), NOW)


def test_the_token_of_a_form_proves_nothing():
    tokens = FormTokens("a key")
    assert not Outcomes(tokens).is_new("1 11", PAGE, "saved", tokens.token("1 11", NOW), NOW)
