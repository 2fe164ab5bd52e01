"""The models that the settings name, as clients of their service."""

from dataclasses import dataclass

from langchain_core.prompts import ChatPromptTemplate
from pydantic import SecretStr

from services.llm.call import ModelMeter
from services.llm.chat import ChatModel
from services.llm.prices import price_of
from services.llm.providers import PROVIDERS, provider_of
from services.settings import LLMSettings

# A token is at most about four Chinese characters, each six bytes of escaped JSON. `_OTHER_BYTES` is for the rest.
_BYTES_PER_TOKEN = 24
_OTHER_BYTES = 512 * 1024
# In a stream every token has a frame of its own, with the name of the model and the number of the answer.
_FRAME_BYTES = 600


@dataclass(frozen=True, slots=True)
class Models:
    """The opened models: for answers, for small tasks, and for images. Some of them may be the same.

    `images` is None if no model is known to see them.
    """

    answers: ChatModel
    small_tasks: ChatModel
    images: ChatModel | None

    @property
    def all(self) -> tuple[ChatModel, ...]:
        """Every model once."""
        return tuple(dict.fromkeys(model for model in (self.answers, self.small_tasks, self.images) if model))


def open_models(
    settings: LLMSettings, meter: ModelMeter | None = None, repair: ChatPromptTemplate | None = None
) -> Models:
    """Return the configured models. Nothing is sent yet."""
    opened: dict[str, ChatModel] = {}
    for name in (settings.model, settings.fast_model, settings.vision_model):
        if name and name not in opened:
            opened[name] = open_chat_model(settings, name, meter, repair)
    answers = opened[settings.model]
    images = opened[settings.vision_model] if settings.vision_model else answers
    return Models(answers, opened.get(settings.fast_model, answers), images if images.sees_images else None)


def open_chat_model(
    settings: LLMSettings, name: str, meter: ModelMeter | None = None, repair: ChatPromptTemplate | None = None
) -> ChatModel:
    """Return a model of the configured service. Nothing is sent yet.

    The limit of an answer is sent as `max_tokens`, which nearly every OpenAI-compatible service accepts; DeepSeek
    ignores the newer `max_completion_tokens`. Models that reason may refuse the older name, and several services refuse
    both together, so the newer one replaces it after the first refusal that names it.
    """
    # Importing these takes 1.4 s of processor time, which only a bot with a key needs to spend.
    from langchain_openai import ChatOpenAI  # noqa: PLC0415

    from services.net.bounded import BoundedConnection  # noqa: PLC0415

    auto = settings.provider == "auto"
    provider = provider_of(settings.base_url) if auto else PROVIDERS[settings.provider]
    connection = BoundedConnection(
        max_bytes=_OTHER_BYTES + _BYTES_PER_TOKEN * settings.max_tokens,
        max_stream_bytes=_OTHER_BYTES + (_BYTES_PER_TOKEN + _FRAME_BYTES) * settings.max_tokens,
    )
    model = ChatOpenAI(
        model=name,
        base_url=settings.base_url,
        api_key=SecretStr(settings.api_key.get_secret_value()),
        timeout=settings.timeout_s,
        max_retries=settings.max_retries,
        stream_chunk_timeout=settings.timeout_s,
        stream_usage=True,
        use_responses_api=False,
        http_async_client=connection,
    )
    method = settings.structured_method
    return ChatModel(
        model,
        name,
        deadline_s=settings.timeout_s * (settings.max_retries + 1) + 10,
        structured_method=provider.structured_method if method == "auto" else method,
        meter=meter,
        provider=provider,
        price=price_of(settings.base_url, name, settings.prices),
        limit=settings.max_tokens,
        thinking=settings.thinking,
        sees_images=name == settings.vision_model or provider.sees_images(name),
        repair=repair,
        close=connection.aclose,
    )
