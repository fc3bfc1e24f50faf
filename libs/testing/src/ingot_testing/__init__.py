"""Real servers for tests: found or started, shared by a whole test run, and provided as pytest fixtures.

Only tests import this package.
"""
