"""Relevance scores from a rerank service."""

from services.reranking.service import RerankService

__all__ = ["RerankService"]
