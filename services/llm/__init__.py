"""Language models: providers and their quirks, one metered way to call them, streaming, tools, images and objects."""

from services.llm.call import ModelCall, ModelMeter
from services.llm.chat import MAX_REPLY_CHARS, ChatModel
from services.llm.client import Models, open_chat_model, open_models

__all__ = ["MAX_REPLY_CHARS", "ChatModel", "ModelCall", "ModelMeter", "Models", "open_chat_model", "open_models"]
