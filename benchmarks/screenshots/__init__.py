"""Screenshots of error messages, drawn for the benchmark of reading pictures."""
