"""Text embeddings: the embedded model, its fallback, and any OpenAI-compatible service."""
