"""What the process holds for all of its requests."""

from dataclasses import dataclass

from ingot_chassis.http.concurrency import ConcurrencyLimiter
from ingot_chassis.jobs.jobs import Jobs
from ingot_chassis.jobs.workers import Workers
from ingot_chassis.objects.files import StoredFiles
from ingot_chassis.objects.store import ObjectStore
from ingot_chassis.security.sealing import Seal
from ingot_repos.clients.identity import HttpIdentity
from ingot_repos.clients.shards import Shards
from ingot_repos.clients.socks_proxy import SocksProxy
from ingot_repos.core.accounts import AccountCopies
from ingot_repos.core.admission import Admission
from ingot_repos.core.lfs_objects import LfsObjects
from ingot_repos.core.lfs_pushes import LfsPushes
from ingot_repos.core.loads import RepositoryLoads
from ingot_repos.core.presenter import Presenter
from ingot_repos.core.protected_contents import ContentJudge
from ingot_repos.core.pushes import Pushes
from ingot_repos.core.release_assets import AssetEditor
from ingot_repos.git.archive import Archives
from ingot_repos.git.fetch_cache import FetchCache
from ingot_repos.git.read_cache import ReadCache
from ingot_repos.git.storage import Storage


@dataclass(frozen=True)
class Components:
    """The objects that live as long as the process."""

    identity: HttpIdentity
    accounts: AccountCopies
    presenter: Presenter
    storage: Storage
    archives: Archives
    fetches: FetchCache
    objects: ObjectStore
    assets: AssetEditor
    asset_files: StoredFiles
    lfs: LfsObjects
    lfs_pushes: LfsPushes
    lfs_files: StoredFiles
    reads: ReadCache
    pushes: Pushes
    judge: ContentJudge
    loads: RepositoryLoads
    jobs: Jobs
    workers: Workers
    import_workers: Workers
    mirror_workers: Workers
    move_workers: Workers
    seal: Seal
    proxy: SocksProxy
    shards: Shards
    limiter: ConcurrencyLimiter
    admission: Admission
    long_requests: Admission
