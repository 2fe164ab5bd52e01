"""Benchmarks that measure the product against a baseline in the same run. They are not tests."""
