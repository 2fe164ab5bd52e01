"""Models of a loopback server, opened as the container opens them."""

from typing import Any

from services.llm import ChatModel, ModelMeter, open_chat_model
from services.prompts import load_prompts
from services.settings import LLMSettings
from tests.e2e.model_server import ModelServer

REPAIR = load_prompts().repair


def open_model(
    server: ModelServer, meter: ModelMeter | None = None, *, name: str = "test-model", **values: Any
) -> ChatModel:
    """Return a model as the container opens it; without retries unless requested."""
    options = {"base_url": server.base_url, "api_key": "k", "model": name, "timeout_s": 5, "max_retries": 0}
    return open_chat_model(LLMSettings.model_validate(options | values), name, meter, REPAIR)
