"""What the process of web holds."""

from dataclasses import dataclass

from ingot_web.core.form_tokens import FormTokens
from ingot_web.core.outcomes import Outcomes
from ingot_web.core.rendered_text_cache import RenderedTextCache
from ingot_web.core.sent_forms import SentForms
from ingot_web.core.templates import Templates


@dataclass(frozen=True)
class Components:
    """At ``app.state.components``."""

    templates: Templates
    form_tokens: FormTokens
    outcomes: Outcomes
    rendered_texts: RenderedTextCache
    sent_forms: SentForms
