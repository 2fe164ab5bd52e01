"""What is kept in the database: tables and the queries on them."""
