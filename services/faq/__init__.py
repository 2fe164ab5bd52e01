"""Approved question–answer pairs of one knowledge base, found by what a question means."""
