"""Data: tables and rows, a module of SQL for each aggregate, and values that expire."""
