"""Wiring of web."""

from urllib.parse import urlsplit

from litestar import Litestar

from ingot_chassis.events.bus import Bus
from ingot_chassis.http.app import service_app
from ingot_chassis.peers.peers import Peers
from ingot_chassis.service import assemble
from ingot_web.api import (
    account_security,
    account_settings,
    account_webhooks,
    accounts,
    administration,
    blame,
    branches,
    comments,
    comments_on_lines,
    comparisons,
    errors,
    excerpts,
    file_editing,
    file_search,
    file_views,
    history,
    home,
    imports,
    issue_facts,
    issues,
    labels,
    more_settings,
    new_repositories,
    operations,
    organization_settings,
    other_names,
    protections,
    pulls,
    releases,
    repositories,
    repository_settings,
    review_links,
    reviews,
    site,
    suggestions,
    tasks,
    webhooks,
)
from ingot_web.api.request import WebRequest, settle_sent_form
from ingot_web.components import Components
from ingot_web.core.form_tokens import FormTokens
from ingot_web.core.outcomes import Outcomes
from ingot_web.core.rendered_text_cache import RenderedTextCache
from ingot_web.core.sent_forms import SentForms
from ingot_web.core.templates import Templates
from ingot_web.settings import Settings
from ingot_web.store.shared_digests import open_digests

ROUTES = [
    *site.routes,
    *other_names.routes,
    *account_settings.routes,
    *account_security.routes,
    *account_webhooks.routes,
    *administration.routes,
    *operations.routes,
    *organization_settings.routes,
    *repository_settings.routes,
    *more_settings.routes,
    *protections.routes,
    *webhooks.routes,
    *home.routes,
    *accounts.routes,
    *new_repositories.routes,
    *imports.routes,
    *repositories.routes,
    *blame.routes,
    *file_search.routes,
    *file_views.routes,
    *excerpts.routes,
    *file_editing.routes,
    *history.routes,
    *branches.routes,
    *comparisons.routes,
    *releases.routes,
    *issues.routes,
    *issue_facts.routes,
    *comments.routes,
    *comments_on_lines.routes,
    *labels.routes,
    *pulls.routes,
    *review_links.routes,
    *reviews.routes,
    *suggestions.routes,
    *tasks.routes,
]


def create_app(settings: Settings, *, bus: Bus | None = None, peers: Peers | None = None) -> Litestar:
    """The app of web. It calls identity, repos, issues and hooks. Raises SettingsError."""
    parts = assemble("web", settings, urls=settings.urls(), peers=peers, bus=bus)
    templates = Templates(
        site_name=settings.site_name,
        public_url=settings.public_url,
        root=urlsplit(settings.public_url).path.rstrip("/"),
    )
    tokens = FormTokens(settings.private_key)
    digests = open_digests(settings.store_url)
    if digests is not None:
        parts.close.append(digests.close)
        parts.examinations.append(digests.examine)
    components = Components(templates, tokens, Outcomes(tokens), RenderedTextCache(), SentForms(digests))
    return service_app(
        parts,
        routes=ROUTES,
        request_class=WebRequest,
        state={"components": components},
        error_pages=errors.handlers,
        before_send=[settle_sent_form],
    )
