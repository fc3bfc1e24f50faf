"""Forms that are remembered."""

from ingot_web.core.sent_forms import SentForms, digest_of


def test_a_form_is_taken_once_unless_it_was_refused():
    forms = SentForms()
    assert [forms.add(b"a"), forms.add(b"a"), forms.add(b"b")] == [True, False, True]
    forms.remove(b"a")
    forms.remove(b"c")
    assert forms.add(b"a")


def test_the_oldest_form_is_forgotten_first():
    forms = SentForms(most=2)
    assert [forms.add(digest) for digest in (b"a", b"b", b"c", b"a", b"c")] == [True, True, True, True, False]


def test_where_a_field_ends_counts():
    assert digest_of([b"ab", b"c"]) != digest_of([b"a", b"bc"])
