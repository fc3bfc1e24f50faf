"""The one public door of Ingot."""
