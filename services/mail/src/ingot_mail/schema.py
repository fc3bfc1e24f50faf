"""The schema with the tables of all subjects."""

from sqlalchemy import MetaData

from ingot_chassis.db.audit import audit_table
from ingot_chassis.db.tables import NAMING, chassis_tables

metadata = MetaData(naming_convention=NAMING)
chassis_tables(metadata)
audit_table(metadata)
