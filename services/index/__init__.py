"""The search index: chunks of documents, searchable by meaning (vectors) and by words."""
