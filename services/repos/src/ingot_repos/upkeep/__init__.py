"""Maintenance of the storage: packing, checks, backups."""
