"""SQL: tables, and one module of statements per aggregate."""
