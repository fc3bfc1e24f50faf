"""Creates the app of mail and connects its parts."""

from datetime import timedelta
from functools import partial

from litestar import Litestar

from ingot_chassis.events.bus import Bus
from ingot_chassis.http.app import service_app
from ingot_chassis.http.database_request import DatabaseRequest
from ingot_chassis.http.parts import PARTS, Parts
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.periodic import CLEANUP, PeriodicTask
from ingot_chassis.jobs.workers import Workers
from ingot_chassis.peers.peers import Peers
from ingot_chassis.security.sealing import Seal
from ingot_chassis.service import assemble
from ingot_chassis.settings import SettingsError
from ingot_mail.access_tokens.rules import smtp_tokens
from ingot_mail.clients.identity import HttpIdentity
from ingot_mail.clients.issues import HttpIssues
from ingot_mail.clients.repos import HttpRepos
from ingot_mail.mailboxes.jobs import MailboxPoller
from ingot_mail.mails import api as mails
from ingot_mail.mails.components import MailComponents
from ingot_mail.mails.jobs.contents import Clients, Contents
from ingot_mail.mails.jobs.retention import Retention, examine_mails, measure_lag
from ingot_mail.mails.jobs.sending import MailWorker
from ingot_mail.notices.events import MailEvents
from ingot_mail.preferences import api as preferences
from ingot_mail.preferences.components import PreferenceComponents
from ingot_mail.preferences.rules import UnsubscribeLinks
from ingot_mail.replies import api as replies
from ingot_mail.replies.components import ReplyComponents
from ingot_mail.replies.jobs.receiving import Receiver
from ingot_mail.replies.jobs.retention import ReplyRetention
from ingot_mail.reply_addresses.rules import ReplyAddresses
from ingot_mail.schema import metadata
from ingot_mail.settings import Settings
from ingot_mail.smtp.clients import SmtpPool

LAG_INTERVAL = timedelta(seconds=15)


def create_app(settings: Settings, *, bus: Bus | None = None, peers: Peers | None = None) -> Litestar:
    """Return the app of mail, which calls identity, repos and issues.

    Without an SMTP server it sends nothing.
    """
    urls = {
        "identity": settings.identity_url,
        "repos": settings.repos_url,
        "issues": settings.issues_url,
    }
    parts = assemble("mail", settings, metadata=metadata, urls=urls, bus=bus, peers=peers)
    database = parts.require_database()
    repos = HttpRepos(parts.peers["repos"])
    Seal(settings.sealing_key, "INGOT_MAIL_SEALING_KEY")
    links, addresses = (
        UnsubscribeLinks(settings.sealing_key, settings.public_url),
        ReplyAddresses(settings),
    )
    queue = MailComponents()
    identity, issues = HttpIdentity(parts.peers["identity"]), HttpIssues(parts.peers["issues"])
    receiver: Receiver | None = None
    if settings.smtp_host and addresses.is_on:
        receiver = Receiver(database, settings, queue, addresses, identity, issues)
    components = Parts(
        queue,
        PreferenceComponents(repos, links),
        ReplyComponents(receiver.receive if receiver else None, settings.reply_key),
    )
    parts.subscribe(MailEvents(queue, is_on=bool(settings.smtp_host)).subscriptions())
    parts.examinations.append(lambda _repair: examine_mails(database))
    parts.tasks += [
        PeriodicTask("mail_delete_old_mails", CLEANUP, Retention(database, settings).step),
        PeriodicTask("mail_delete_old_replies", CLEANUP, ReplyRetention(database, settings).step),
        PeriodicTask("mail_measure_lag", LAG_INTERVAL, partial(measure_lag, database)),
    ]
    if settings.smtp_host:
        contents = Contents(Clients(identity, repos, issues), settings.site_name)
        pool = SmtpPool(settings, smtp_tokens(settings, database))
        parts.close.append(pool.close)
        worker = MailWorker(database, settings, queue, contents, pool, links, addresses)
        parts.loops.append(("mail sends", worker.run))
    if settings.imap_host:
        if receiver is None:
            raise SettingsError(["INGOT_MAIL_IMAP_HOST needs INGOT_MAIL_SMTP_HOST and …_REPLY_ADDRESS"])
        if settings.imap_oauth_url and not settings.imap_user:
            raise SettingsError(["INGOT_MAIL_IMAP_OAUTH_URL needs INGOT_MAIL_IMAP_USER"])
        jobs = Jobs(database)
        poller = MailboxPoller(jobs, settings, receiver.receive)
        workers = Workers("mail", jobs, poller.work(), concurrency=1)
        parts.start.append(poller.schedule)
        parts.tasks += workers.tasks()
        parts.loops += workers.loops()
    return service_app(
        parts,
        routes=[*mails.routes, *preferences.routes, *replies.routes],
        request_class=DatabaseRequest,
        state={PARTS: components},
    )
