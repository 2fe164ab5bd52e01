"""The library of the retrieval tests."""

from tests.services.retrieval.conftest import library

__all__ = ["library"]
