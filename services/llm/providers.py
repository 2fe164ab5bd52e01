"""The providers of language models and what each does differently from OpenAI's interface.

Read on 2026-11-21, none of it measured against the services themselves:

- DeepSeek: api-docs.deepseek.com (pricing, guides/thinking_mode, create-chat-completion). It thinks unless told
  otherwise, and then refuses a forced tool (deepseek-ai/DeepSeek-V3#1376) and requires earlier thoughts with each tool
  result. It ignores `max_completion_tokens` (earendil-works/pi#8018) and refuses `json_schema` (langchain#29282).
- DashScope: alibabacloud.com/help/en/model-studio (structured output, deep-thinking). JSON needs the word JSON in the
  prompt and no thinking; ten texts for each request of the embedding models v3 and v4.
- GLM: docs.bigmodel.cn (chat completion). `tool_choice` is always `auto`.
- Kimi: platform.kimi.ai and java.agentscope.io. K2.5 and K2.6 think unless told otherwise, later models always; a
  forced tool is refused while they think, and earlier thoughts are required with each tool result.
- Ollama: docs.ollama.com/api/openai-compatibility. Whether a tool can be forced is not stated.
- OpenAI: models that reason refuse `max_tokens`.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal
from urllib.parse import urlsplit

StructuredMethod = Literal["json_mode", "function_calling", "json_schema"]
LimitName = Literal["max_tokens", "max_completion_tokens"]
ThinkingChoice = Literal["auto", "on", "off"]


class Need(StrEnum):
    """What a call asks for beyond text."""

    TOOLS = "tools"
    FORCED_TOOL = "forced tool"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider: how it is recognised, and what it does differently.

    `hosts` are the ends of host names. `vision` and `unswitchable` are the beginnings of names of models: those that
    see images, and those whose thinking cannot be switched. Calls with a need of `without_thinking` are sent with
    `thinking_off`, because the provider refuses or spoils them otherwise.
    `forces_tools` tells whether a call can demand a tool. `embedding_batch` is the most texts in one request.
    """

    name: str
    hosts: tuple[str, ...] = ()
    limit_name: LimitName = "max_tokens"
    structured_method: StructuredMethod = "json_mode"
    forces_tools: bool = True
    vision: tuple[str, ...] = ()
    thinking_on: Mapping[str, Any] = field(default_factory=dict[str, Any])
    thinking_off: Mapping[str, Any] = field(default_factory=dict[str, Any])
    unswitchable: tuple[str, ...] = ()
    without_thinking: frozenset[Need] = frozenset()
    # The smallest limit in use, for services that are not in the table.
    embedding_batch: int = 10

    def sees_images(self, model: str) -> bool:
        """Return whether `model` is known to accept images."""
        return model.lower().startswith(self.vision)

    def thinking(self, model: str, choice: ThinkingChoice, needs: Set[Need]) -> Mapping[str, Any]:
        """Return what a request says about thinking: the operator's `choice`, or what its needs require."""
        if model.lower().startswith(self.unswitchable):
            return {}
        if choice == "auto":
            return self.thinking_off if needs & self.without_thinking else {}
        return self.thinking_on if choice == "on" else self.thinking_off

    def can_force_tools(self, model: str, choice: ThinkingChoice) -> bool:
        """Return whether a call can demand a tool."""
        thinks = choice == "on" or model.lower().startswith(self.unswitchable)
        return self.forces_tools and not (thinks and Need.FORCED_TOOL in self.without_thinking)


_THINKING_ON = {"thinking": {"type": "enabled"}}
_THINKING_OFF = {"thinking": {"type": "disabled"}}

OTHER = Provider("other")
PROVIDERS: Mapping[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            "deepseek",
            hosts=("api.deepseek.com",),
            vision=("deepseek-flash", "deepseek-v4-flash"),
            thinking_on=_THINKING_ON,
            thinking_off=_THINKING_OFF,
            without_thinking=frozenset({Need.TOOLS, Need.FORCED_TOOL}),
        ),
        Provider(
            "dashscope",
            hosts=(
                "dashscope.aliyuncs.com",
                "dashscope-intl.aliyuncs.com",
                "dashscope-us.aliyuncs.com",
                "maas.aliyuncs.com",
            ),
            vision=("qwen-vl", "qwen2.5-vl", "qwen3-vl", "qwen3.5-", "qwen3.6-", "qwen3.7-plus", "qwen3.7-flash"),
            thinking_on={"enable_thinking": True},
            thinking_off={"enable_thinking": False},
            unswitchable=("qwq", "qvq", "deepseek-r1"),
            without_thinking=frozenset({Need.FORCED_TOOL, Need.JSON}),
        ),
        Provider(
            "glm",
            hosts=("open.bigmodel.cn", "api.z.ai"),
            forces_tools=False,
            vision=("glm-4v", "glm-4.1v", "glm-4.5v", "glm-4.6v", "glm-5.3-flash"),
            thinking_on=_THINKING_ON,
            thinking_off=_THINKING_OFF,
            embedding_batch=64,
        ),
        Provider(
            "kimi",
            hosts=("api.moonshot.cn", "api.moonshot.ai"),
            forces_tools=False,
            vision=("kimi-k2.5", "kimi-k2.6", "kimi-k2.7", "kimi-k3"),
            thinking_on=_THINKING_ON,
            thinking_off=_THINKING_OFF,
            unswitchable=("kimi-k2.7", "kimi-k3", "moonshot-v1"),
            without_thinking=frozenset({Need.TOOLS}),
        ),
        Provider("ollama", hosts=("ollama.com",), forces_tools=False, thinking_off={"reasoning_effort": "none"}),
        Provider(
            "openai",
            hosts=("api.openai.com",),
            limit_name="max_completion_tokens",
            structured_method="json_schema",
            vision=("gpt-4o", "gpt-4.1", "gpt-5", "o3", "o4"),
            embedding_batch=2048,
        ),
        OTHER,
    )
}
_OLLAMA_PORT = 11434


def provider_of(base_url: str) -> Provider:
    """Return the provider whose service answers at `base_url`, or `OTHER`.

    >>> provider_of("https://api.deepseek.com/v1").name, provider_of("http://127.0.0.1:11434/v1").name
    ('deepseek', 'ollama')
    """
    parts = urlsplit(base_url)
    host = (parts.hostname or "").lower()
    if parts.port == _OLLAMA_PORT:
        return PROVIDERS["ollama"]
    for provider in PROVIDERS.values():
        if any(host == end or host.endswith(f".{end}") for end in provider.hosts):
            return provider
    return OTHER
