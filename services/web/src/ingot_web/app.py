"""Creates the app of web and connects its parts."""

from litestar import Litestar

from ingot_chassis.events.bus import Bus
from ingot_chassis.http.app import service_app
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.peers.peers import Peers
from ingot_chassis.service import assemble
from ingot_contracts.web import PageFrame
from ingot_web.account_settings import api as account_settings
from ingot_web.account_settings.rules.browsers import browser
from ingot_web.accounts import api as accounts
from ingot_web.administration import api as administration
from ingot_web.code import api as code
from ingot_web.code.rules.highlighting import code_rows
from ingot_web.conflicts import api as conflicts
from ingot_web.diffs import api as diffs
from ingot_web.diffs.rules.rows import split_rows, unified_rows
from ingot_web.forms.rules.outcomes import Outcomes
from ingot_web.forms.rules.sent import SentForms
from ingot_web.forms.rules.tokens import FormTokens
from ingot_web.forms.store import open_digests
from ingot_web.history import api as history
from ingot_web.history.rules import references
from ingot_web.home import api as home
from ingot_web.invitations import api as invitations
from ingot_web.issues import api as issues
from ingot_web.labels import api as labels
from ingot_web.milestones import api as milestones
from ingot_web.notifications import api as notifications
from ingot_web.organizations import api as organizations
from ingot_web.pages.api import errors
from ingot_web.pages.api.request import WebRequest, settle_sent_form
from ingot_web.pages.rules.rendered_text_cache import RenderedTextCache
from ingot_web.pages.rules.templates import Templates
from ingot_web.pulls import api as pulls
from ingot_web.releases import api as releases
from ingot_web.repositories import api as repositories
from ingot_web.repository_settings import api as repository_settings
from ingot_web.reviews import api as reviews
from ingot_web.search import api as search
from ingot_web.settings import Settings
from ingot_web.site import api as site
from ingot_web.site.api.branding import read_site_files
from ingot_web.webhooks import api as webhooks
from ingot_web.wiki import api as wiki

ROUTES = [
    *account_settings.routes,
    *accounts.routes,
    *administration.routes,
    *code.routes,
    *conflicts.routes,
    *diffs.routes,
    *history.routes,
    *home.routes,
    *invitations.routes,
    *issues.routes,
    *labels.routes,
    *milestones.routes,
    *notifications.routes,
    *organizations.routes,
    *pulls.routes,
    *releases.routes,
    *repositories.routes,
    *repository_settings.routes,
    *reviews.routes,
    *search.routes,
    *site.routes,
    *webhooks.routes,
    *wiki.routes,
]
FILTERS = (browser, references)
FUNCTIONS = (code_rows, split_rows, unified_rows)
"""Functions of all subjects, and their filters, for templates, by name."""


def create_app(settings: Settings, *, bus: Bus | None = None, peers: Peers | None = None) -> Litestar:
    """Return the app of web. It calls identity, repos, issues, hooks and mail. Raises SettingsError."""
    parts = assemble("web", settings, urls=settings.urls(), peers=peers, bus=bus)
    site_files = read_site_files(settings.site_logo, settings.accent)
    templates = Templates(
        frame=PageFrame.of(settings),
        public_url=settings.public_url,
        style=site_files.style,
        filters=FILTERS,
        functions=FUNCTIONS,
    )
    tokens = FormTokens(settings.private_key)
    digests = open_digests(settings.store_url)
    if digests is not None:
        parts.close.append(digests.close)
        parts.examinations.append(digests.examine)
    components = Parts(
        templates, site_files, tokens, Outcomes(tokens), RenderedTextCache(), SentForms(digests)
    )
    return service_app(
        parts,
        routes=ROUTES,
        request_class=WebRequest,
        state={PARTS: components},
        error_pages=errors.handlers,
        before_send=[settle_sent_form],
    )
