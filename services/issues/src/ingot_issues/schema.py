"""The schema of the database of issues: the metadata of its tables.

Each subject declares its tables in its store. A foreign key names its table as text: a store imports only the
stores of lower subjects.

Transactions lock in this order, which prevents deadlocks:

1. A copy (``account``, ``repository``, ``team``) is saved in a transaction of its own. Other transactions may
   insert a missing copy, and do not change an existing one.
2. A request or a job locks the counter of its repository before other rows of the repository. It locks only
   one repository. A single statement needs no such lock.
3. The consumer of events of repos may lock several counters. It locks all of them before any other row. There
   is one such consumer at a time.
4. The deletion of a comment or repository also deletes its rows in timelines of other repositories. It does
   not lock the counters of these repositories. The rows are locked in the order of their ids.
5. A request for a review by a team saves the copy of the team after it has locked the counter. The deletion
   of a team deletes the copy before the requests.
"""

from sqlalchemy import MetaData

from ingot_chassis.db.tables import NAMING, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)
