"""Components of web."""

from dataclasses import dataclass

from ingot_web.forms.rules.outcomes import Outcomes
from ingot_web.forms.rules.sent import SentForms
from ingot_web.forms.rules.tokens import FormTokens
from ingot_web.pages.rules.rendered_text_cache import RenderedTextCache
from ingot_web.pages.rules.templates import Templates


@dataclass(frozen=True)
class Components:
    """At ``app.state.components``."""

    templates: Templates
    form_tokens: FormTokens
    outcomes: Outcomes
    rendered_texts: RenderedTextCache
    sent_forms: SentForms
