"""Prompts, which are YAML files under `prompts/`.

All of them are read and checked at start, so that none fails while a user waits. A file holds `description`, the
`variables` that are filled in, and `system`, `history` (the name of the placeholder for earlier messages) and `human`.
At least one of `system` and `human` must be present.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from pydantic import BaseModel, ConfigDict, ValidationError

from services.errors import SettingsError

FENCE_BEGIN = "====资料边界"
PROMPTS_DIRECTORY = Path(__file__).parent.parent / "prompts"


class _PromptFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str
    variables: list[str]
    system: str = ""
    history: str = ""
    human: str = ""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of the product, ready to be filled in.

    `persona` is plain text that other prompts include. `analyse` reads a question before it is searched. `answer`
    answers it from references, and `technical` does so in a structure. Without references, `general` is used if general
    knowledge is allowed, otherwise `conversation`. `agent` is that of a model that uses tools. `repair` gives a
    structured output that does not fit back to the model. `picture` asks for the text of a picture, which is sent with
    its last message.
    """

    persona: str
    analyse: ChatPromptTemplate
    answer: ChatPromptTemplate
    technical: ChatPromptTemplate
    conversation: ChatPromptTemplate
    general: ChatPromptTemplate
    agent: ChatPromptTemplate
    summary: ChatPromptTemplate
    repair: ChatPromptTemplate
    picture: ChatPromptTemplate


# The variables that the code fills in. A file that names others would not work.
_VARIABLES: Mapping[str, frozenset[str]] = {
    "persona": frozenset(),
    "rag/answer": frozenset({"persona", "today", "fence", "context", "chat_history", "input"}),
    "rag/conversation": frozenset({"persona", "today", "nothing", "chat", "fence", "context", "chat_history", "input"}),
    "rag/general": frozenset({"persona", "today", "chat", "fence", "context", "chat_history", "input"}),
    "qa/analyse": frozenset({"fence", "conversation", "question"}),
    "qa/technical": frozenset({"persona", "today", "fence", "context", "chat_history", "input"}),
    "agent/answer": frozenset({"persona", "nothing", "chat", "fence", "context", "chat_history", "input"}),
    "memory/summary": frozenset({"history_text"}),
    "llm/repair": frozenset({"fence", "error"}),
    "pictures/read": frozenset(),
}


def new_fence() -> str:
    """Return a line that stands before and behind what is data and no instruction.

    It is random and made for one call, so no file, message or summary can contain it.
    """
    return f"{FENCE_BEGIN} {secrets.token_hex(8)}===="


def load_prompts(directory: Path = PROMPTS_DIRECTORY, summary_text: str = "") -> Prompts:
    """Read and check every prompt.

    `summary_text` replaces `memory/summary.yaml` if it is not empty. Raise `SettingsError`, which names the file and
    the fault, if a prompt is missing or invalid.
    """
    files = {name: _read(directory / f"{name}.yaml", name) for name in _VARIABLES}
    summary_place = _place("memory/summary")
    if summary_text:
        summary_place = "设置 MEMORY__SUMMARY_PROMPT "
        files["memory/summary"] = _PromptFile(
            description="MEMORY__SUMMARY_PROMPT", variables=["history_text"], human=summary_text
        )
    persona = files["persona"].system.strip()
    if not persona:
        raise SettingsError(f"{_place('persona')}里没有 system。")
    return Prompts(
        persona=persona,
        analyse=_template(_place("qa/analyse"), files["qa/analyse"]),
        answer=_template(_place("rag/answer"), files["rag/answer"]),
        technical=_template(_place("qa/technical"), files["qa/technical"]),
        conversation=_template(_place("rag/conversation"), files["rag/conversation"]),
        general=_template(_place("rag/general"), files["rag/general"]),
        agent=_template(_place("agent/answer"), files["agent/answer"]),
        summary=_template(summary_place, files["memory/summary"]),
        repair=_template(_place("llm/repair"), files["llm/repair"]),
        picture=_template(_place("pictures/read"), files["pictures/read"]),
    )


def _place(name: str) -> str:
    return f"提示词文件 prompts/{name}.yaml "


def _read(path: Path, name: str) -> _PromptFile:
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        file = _PromptFile.model_validate(content)
    except FileNotFoundError as error:
        raise SettingsError(f"缺少{_place(name).strip()}。") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{_place(name)}读不出来，请检查 YAML 格式。", str(error)) from error
    except ValidationError as error:
        field = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise SettingsError(f"{_place(name)}的 {field or '内容'} 不对。", str(error)) from error
    if not (file.system or file.human):
        raise SettingsError(f"{_place(name)}里没有 system 也没有 human。")
    if frozenset(file.variables) != _VARIABLES[name]:
        wanted = ", ".join(sorted(_VARIABLES[name]))
        raise SettingsError(f"{_place(name)}的 variables 要写成 [{wanted}]。", str(file.variables))
    return file


def _template(place: str, file: _PromptFile) -> ChatPromptTemplate:
    parts: list[Any] = []
    if file.system:
        parts.append(("system", file.system))
    if file.history:
        parts.append(MessagesPlaceholder(file.history))
    if file.human:
        parts.append(("human", file.human))
    braces = f"{place}的花括号不对，字面的花括号请写成 {{{{ 和 }}}}。"
    try:
        template = ChatPromptTemplate.from_messages(parts)
    except ValueError as error:
        raise SettingsError(braces, str(error)) from error
    wanted, found = set(file.variables), set(template.input_variables)
    if missing := sorted(wanted - found):
        raise SettingsError(f"{place}里少了 {{{missing[0]}}}。")
    if extra := sorted(found - wanted):
        raise SettingsError(f"{place}里有不认识的 {{{extra[0]}}}。")
    try:
        template.invoke({name: [] if name == file.history else "" for name in wanted})
    except ValueError as error:
        # A conversion or format that does not fit a text, as in {name:d}, fails only when the template is filled in.
        raise SettingsError(braces, str(error)) from error
    return template
