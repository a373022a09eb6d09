"""DuckDB: the schema, the loader and the queries."""
