"""Real servers for tests: found or started, shared by a whole test run, and provided as pytest fixtures.

Nothing outside of tests imports this package.
"""
