"""Prompt files: the shipped ones load, and a broken one stops the start with a sentence that names it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from services.errors import SettingsError
from services.prompts import PROMPTS_DIRECTORY, load_prompts

PROMPTS = [
    "persona",
    "rag/answer",
    "rag/conversation",
    "rag/general",
    "agent/answer",
    "memory/summary",
    "qa/analyse",
    "qa/technical",
    "llm/repair",
    "pictures/read",
]
TODAY = "2026年11月22日，星期日"
ANSWER = {
    "persona": "你是群知。",
    "today": TODAY,
    "fence": "====",
    "context": "资料",
    "chat_history": [],
    "input": "问题",
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a copy of the shipped prompts that a test may break."""
    return Path(shutil.copytree(PROMPTS_DIRECTORY, tmp_path / "prompts"))


def change(directory: Path, name: str, **values: Any) -> None:
    """Change keys of one file; None removes a key."""
    path = directory / f"{name}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8")) | values
    content = {key: value for key, value in content.items() if value is not None}
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")


def refusal(directory: Path, summary_text: str = "") -> str:
    """Return the sentence with which these prompts are refused."""
    with pytest.raises(SettingsError) as caught:
        load_prompts(directory, summary_text)
    assert caught.value.user_message.endswith("。")
    return caught.value.user_message


def test_the_shipped_prompts_load_and_fill() -> None:
    prompts = load_prompts()
    assert "群知" in prompts.persona
    history = [HumanMessage("早先的问题"), AIMessage("早先的回答")]
    messages = prompts.answer.format_messages(**ANSWER | {"chat_history": history, "fence": "==边界=="})
    assert [message.type for message in messages] == ["system", "human", "ai", "human"]
    system = messages[0].text
    assert system.startswith("你是群知。")
    # The rules name the fence once, and it stands once on either side of the passages.
    assert system.count("==边界==") == 3
    assert system.rstrip().endswith("==边界==\n资料\n==边界==")
    assert messages[-1].text == "问题"
    values = {"persona": "你是群知。", "today": TODAY, "chat_history": history, "input": "问题"}
    for template, mark in (
        (prompts.conversation, {"nothing": "【没有】", "chat": "【闲聊】"}),
        (prompts.general, {"chat": "【闲聊】"}),
        (prompts.agent, {"nothing": "【没有】", "chat": "【闲聊】"}),
    ):
        messages = template.format_messages(**values | mark | {"fence": "==边界==", "context": "摘要"})
        assert messages[0].text.count("==边界==") == 3
        assert messages[0].text.rstrip().endswith("==边界==\n摘要\n==边界==")
        assert [message.type for message in messages] == ["system", "human", "ai", "human"]
        assert messages[0].text.startswith("你是群知。")
        assert all(messages[0].text.count(value) == 1 for value in mark.values())
    (summary,) = prompts.summary.format_messages(history_text="用户：你好")
    assert summary.text.rstrip().endswith("用户：你好")


def test_all_files_in_the_folder_are_prompts_of_the_product() -> None:
    found = {path.relative_to(PROMPTS_DIRECTORY).with_suffix("").as_posix() for path in PROMPTS_DIRECTORY.rglob("*.*")}
    assert found == set(PROMPTS)


@pytest.mark.parametrize("name", PROMPTS)
class TestBrokenFile:
    def test_missing(self, directory: Path, name: str) -> None:
        (directory / f"{name}.yaml").unlink()
        assert refusal(directory) == f"缺少提示词文件 prompts/{name}.yaml。"

    @pytest.mark.parametrize("content", [b"system: [", b"\xff\xfe\x00", b"a: b: c", b"\tsystem: x"])
    def test_not_yaml(self, directory: Path, name: str, content: bytes) -> None:
        (directory / f"{name}.yaml").write_bytes(content)
        assert f"prompts/{name}.yaml 读不出来" in refusal(directory)

    @pytest.mark.parametrize("content", ["", "- a\n- b", "just text", "42"])
    def test_not_a_mapping(self, directory: Path, name: str, content: str) -> None:
        (directory / f"{name}.yaml").write_text(content, encoding="utf-8")
        assert f"prompts/{name}.yaml 的 内容 不对" in refusal(directory)

    @pytest.mark.parametrize(
        ("values", "field"),
        [
            ({"sytem": "x"}, "sytem"),
            ({"description": None}, "description"),
            ({"variables": None}, "variables"),
            ({"variables": "input"}, "variables"),
            ({"system": 42}, "system"),
            ({"human": ["x"]}, "human"),
        ],
    )
    def test_wrong_fields(self, directory: Path, name: str, values: dict[str, Any], field: str) -> None:
        change(directory, name, **values)
        message = refusal(directory)
        assert f"prompts/{name}.yaml " in message
        assert field in message

    def test_without_text(self, directory: Path, name: str) -> None:
        change(directory, name, system=None, human=None)
        assert f"prompts/{name}.yaml 里没有 system 也没有 human" in refusal(directory)

    def test_variables_that_nobody_fills(self, directory: Path, name: str) -> None:
        change(directory, name, variables=["input", "wether"])
        assert f"prompts/{name}.yaml 的 variables 要写成 [" in refusal(directory)


def test_a_persona_is_its_system_text(directory: Path) -> None:
    change(directory, "persona", system="  \n", human="你是谁？")
    assert refusal(directory) == "提示词文件 prompts/persona.yaml 里没有 system。"


@pytest.mark.parametrize("name", PROMPTS[1:])
@pytest.mark.parametrize("text", ["{", "}", "{input", "input}", "{a.b}", "{0}", "{a[0]}"])
def test_braces_that_do_not_pair(directory: Path, name: str, text: str) -> None:
    change(directory, name, system=text)
    message = refusal(directory)
    assert message == f"提示词文件 prompts/{name}.yaml 的花括号不对，字面的花括号请写成 {{{{ 和 }}}}。"


@pytest.mark.parametrize("text", ["{history_text:d}", "{history_text!z}"])
def test_a_format_that_no_text_has(directory: Path, text: str) -> None:
    change(directory, "memory/summary", human=text)
    assert "prompts/memory/summary.yaml 的花括号不对" in refusal(directory)


@pytest.mark.parametrize("missing", sorted(ANSWER))
def test_a_variable_that_is_not_used(directory: Path, missing: str) -> None:
    used = [name for name in ANSWER if name not in (missing, "chat_history")]
    history = "" if missing == "chat_history" else "chat_history"
    change(directory, "rag/answer", system=" ".join(f"{{{name}}}" for name in used), history=history, human="问：")
    assert refusal(directory) == f"提示词文件 prompts/rag/answer.yaml 里少了 {{{missing}}}。"


@pytest.mark.parametrize("unknown", ["{contxt}", "{}"])
def test_an_unknown_variable(directory: Path, unknown: str) -> None:
    change(directory, "rag/answer", human="{input} " + unknown)
    assert refusal(directory) == f"提示词文件 prompts/rag/answer.yaml 里有不认识的 {unknown}。"


def test_the_summary_of_the_settings_takes_the_files_place(directory: Path) -> None:
    (message,) = load_prompts(directory, "缩短：{history_text}").summary.format_messages(history_text="长文")
    assert (message.type, message.text) == ("human", "缩短：长文")
    for text in ("缩短", "缩短：{history_text} {more}", "缩短：{history_text} {"):
        assert "MEMORY__SUMMARY_PROMPT" in refusal(directory, text)


def test_literal_braces_are_written_twice(directory: Path) -> None:
    change(directory, "memory/summary", human='{{"a": 1}} {history_text}')
    (message,) = load_prompts(directory).summary.format_messages(history_text="x")
    assert message.text == '{"a": 1} x'


@given(st.text(st.sampled_from("{}%$a:!.[]0 \n")), st.text(st.sampled_from("{}input context")))
def test_what_people_write_is_never_read_as_a_template(text: str, other: str) -> None:
    values = ANSWER | {"persona": other, "context": text, "input": text, "chat_history": [SystemMessage(text)]}
    first, earlier, last = load_prompts().answer.format_messages(**values)
    assert last.text == earlier.text == text
    assert first.text.startswith(other)
    assert first.text.endswith(f"====\n{text}\n====")
