"""What models cost, in yuan. A model that is not listed has no price, so that no wrong sum is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Price:
    """Yuan for a million tokens: of the prompt, of the part of it that the service had cached, and of the answer."""

    prompt: float
    cached_prompt: float
    completion: float

    def cost(self, prompt_tokens: int, cached_tokens: int, completion_tokens: int) -> int:
        """Return what a call costs in millionths of a yuan. `cached_tokens` are a part of `prompt_tokens`.

        >>> Price(2, 0.04, 8).cost(1000, 500, 100)
        1820
        """
        cached = min(max(cached_tokens, 0), prompt_tokens)
        # Yuan for a million tokens are millionths of a yuan for one token.
        return round(
            (prompt_tokens - cached) * self.prompt + cached * self.cached_prompt + completion_tokens * self.completion
        )


PRICES_READ_ON = date(2026, 11, 21)

# By host, since the same model costs something else elsewhere, and by the complete name of the model. Sources:
# api-docs.deepseek.com/zh-cn/quick_start/pricing (the price of peak hours; at other times it is half) and
# docs.bigmodel.cn/cn/guide/start/pricing (without temporary discounts). DashScope charges by the length of the prompt,
# Kimi and OpenAI publish no price in yuan that could be read: for these the operator sets LLM__PRICES.
_FLASH = Price(2, 0.04, 8)
_PRICES = {
    ("api.deepseek.com", "deepseek-flash"): _FLASH,
    ("api.deepseek.com", "deepseek-v4-flash"): _FLASH,
    ("api.deepseek.com", "deepseek-v4-flash-vision-exp"): _FLASH,
    ("api.deepseek.com", "deepseek-v4-pro"): Price(9, 0.3, 27),
    ("open.bigmodel.cn", "glm-5.3"): Price(8, 2, 28),
    ("open.bigmodel.cn", "glm-5.3-flash"): Price(0.8, 0.23, 2.8),
}


def price_of(base_url: str, model: str, configured: Sequence[str] = ()) -> Price | None:
    """Return the price of `model`, or None if it is unknown.

    `configured` holds entries of LLM__PRICES, which override the table: `name=prompt/completion` or
    `name=prompt/cached prompt/completion`.

    >>> price_of("https://api.deepseek.com/v1", "deepseek-v4-pro").completion
    27
    >>> price_of("https://api.example/v1", "qwen3:8b", ["qwen3:8b=0.5/2"])
    Price(prompt=0.5, cached_prompt=0.5, completion=2.0)
    """
    entries = dict(map(_entry, configured))
    host = (urlsplit(base_url).hostname or "").lower()
    return entries.get(model) or _PRICES.get((host, model.lower()))


def _entry(text: str) -> tuple[str, Price]:
    model, _, numbers = text.rpartition("=")
    prompt, *cached, completion = map(float, numbers.split("/"))
    return model.strip(), Price(prompt, cached[0] if cached else prompt, completion)
