"""The routes of the gateway itself: version, API description, settings, periodic tasks and audit logs."""
