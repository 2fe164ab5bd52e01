"""The search index: chunks of documents, found by meaning (vectors) and by words."""
