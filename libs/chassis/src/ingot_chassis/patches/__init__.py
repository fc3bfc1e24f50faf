"""Changes of libraries at run time, one per module (ADR 14).

Each module names the defect, the version, and the release that makes it unnecessary.
"""
