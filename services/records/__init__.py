"""The contents of the database: tables and the queries on them."""
