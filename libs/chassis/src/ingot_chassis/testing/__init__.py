"""Real servers for tests: found or started, shared by a whole test run, and handed out as pytest fixtures.

Installed with the extra `ingot-chassis[testing]`; nothing outside of tests imports this package.
"""
