"""Stars and watches."""
