"""SQL for imports."""
