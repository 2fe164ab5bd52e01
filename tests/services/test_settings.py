"""Settings: names, bounds, sources and sentences. Every test goes through `load_settings`, as the bot does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.errors import SettingsError
from services.session import KnowledgeScope, SessionScope
from services.settings import AGENT_TOOLS, FILE_TYPES, Settings, load_settings, setting_fields

REPOSITORY = Path(__file__).parents[2]
NOWHERE = Path("does-not-exist.env")
NAMES = [name for name, _ in setting_fields()]
SECRET = "sk-Kmn4-never-shown-77"

# Name -> default, and the smallest and largest accepted values; values just below and above them are tested too.
BOUNDS: dict[str, tuple[float, float, float]] = {
    "PORT": (8080, 1, 65535),
    "API_TIMEOUT": (30, 1, 300),
    "SESSION__SILENCE_MINUTES": (120, 1, 10080),
    "LLM__TIMEOUT_S": (60, 1, 600),
    "LLM__MAX_RETRIES": (2, 0, 10),
    "LLM__MAX_TOKENS": (4096, 256, 131_072),
    "KNOWLEDGE__MAX_FILE_MB": (20, 1, 200),
    "KNOWLEDGE__MAX_CHUNKS": (100_000, 0, 10_000_000),
    "KNOWLEDGE__MAX_TOTAL_MB": (2000, 0, 1_000_000),
    "KNOWLEDGE__MIN_DOWNLOAD_KBPS": (20, 0, 10_000),
    "KNOWLEDGE__CHUNK_CHARS": (500, 100, 2000),
    "KNOWLEDGE__CHUNK_OVERLAP_CHARS": (50, 0, 500),
    "RETRIEVAL__RECALL_TOP_K": (30, 10, 50),
    "RETRIEVAL__RERANK_TOP_K": (8, 1, 50),
    "RETRIEVAL__SUBMIT_TOP_K": (5, 1, 20),
    "RETRIEVAL__MIN_QUALIFIED_COUNT": (1, 1, 10),
    "RETRIEVAL__MAX_REFERENCE_CHARS": (4000, 500, 32000),
    "RERANK__TIMEOUT_S": (5, 0.5, 60),
    "AGENT__MAX_MODEL_CALLS": (5, 1, 10),
    "AGENT__MAX_TOOL_CALLS": (8, 1, 20),
    "AGENT__TIMEOUT_S": (90, 5, 600),
    "BUDGET__MEMBER_QUESTIONS_PER_MINUTE": (6, 0, 600),
    "BUDGET__MEMBER_QUESTIONS_PER_DAY": (200, 0, 100_000),
    "BUDGET__GROUP_QUESTIONS_PER_DAY": (1000, 0, 1_000_000),
    "BUDGET__WAITING_QUESTIONS": (3, 1, 50),
    "BUDGET__GROUP_MODEL_CALLS_PER_DAY": (2000, 0, 1_000_000),
    "BUDGET__GROUP_MODEL_TOKENS_PER_DAY": (4_000_000, 0, 1_000_000_000),
    "BUDGET__GROUP_CNY_PER_DAY": (0, 0, 1_000_000),
    "BUDGET__TOTAL_CNY_PER_DAY": (0, 0, 1_000_000),
    "PROACTIVE__PER_HOUR": (6, 1, 60),
    "PROACTIVE__QUIET_S": (120, 0, 3600),
    "PROACTIVE__DELAY_S": (8, 0, 60),
    "REVIEW__BELOW": (0, 0, 1),
    "MEMORY__MAX_HISTORY_MESSAGES": (20, 2, 200),
    "MEMORY__SUMMARY_CHUNK_SIZE": (10, 2, 200),
    "MEMORY__SUMMARY_EVERY_MESSAGES": (0, 0, 1000),
    "MEMORY__RECENT_SHOWN": (10, 1, 50),
    "TRACE__KEEP_DAYS": (14, 0, 365),
    "TRACE__MAX_MB": (200, 1, 100_000),
    "SEND__GROUP_INTERVAL_S": (1.5, 0, 60),
    "SEND__PER_MINUTE": (20, 0, 600),
}
FRACTIONS = {
    "PROACTIVE__DELAY_S",
    "RERANK__TIMEOUT_S",
    "API_TIMEOUT",
    "LLM__TIMEOUT_S",
    "SEND__GROUP_INTERVAL_S",
    "BUDGET__GROUP_CNY_PER_DAY",
    "BUDGET__TOTAL_CNY_PER_DAY",
    "REVIEW__BELOW",
}
# Numbers that the product chooses while they are not set: the smallest and largest accepted values.
OPTIONAL: dict[str, tuple[float, float]] = {
    "RETRIEVAL__MIN_VECTOR_SIMILARITY": (-1, 1),
    "RETRIEVAL__MIN_RERANK_SCORE": (0, 1),
}
SWITCHES = {
    "AGENT__ENABLED": False,
    "ANSWER__GENERAL_KNOWLEDGE": False,
    "REVIEW__SHOW_DRAFT": False,
    "RENDER__ENABLED": True,
    "SANDBOX__ENABLED": None,
}
# Other settings that must be set to make a bound reachable.
COMPANIONS = {
    ("KNOWLEDGE__CHUNK_CHARS", 100): {"KNOWLEDGE__CHUNK_OVERLAP_CHARS": "0"},
    ("KNOWLEDGE__CHUNK_OVERLAP_CHARS", 500): {"KNOWLEDGE__CHUNK_CHARS": "1000"},
    ("RETRIEVAL__RERANK_TOP_K", 1): {"RETRIEVAL__SUBMIT_TOP_K": "1"},
    ("RETRIEVAL__SUBMIT_TOP_K", 20): {"RETRIEVAL__RERANK_TOP_K": "20"},
    ("RETRIEVAL__MIN_QUALIFIED_COUNT", 10): {"RETRIEVAL__RERANK_TOP_K": "10"},
    ("MEMORY__MAX_HISTORY_MESSAGES", 2): {"MEMORY__SUMMARY_CHUNK_SIZE": "2"},
    ("MEMORY__SUMMARY_CHUNK_SIZE", 200): {"MEMORY__MAX_HISTORY_MESSAGES": "200"},
}
CHOICES: dict[str, list[str]] = {
    "REVIEW__NOTIFY": ["group", "private", "off"],
    "LOG_LEVEL": ["DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR"],
    "LLM__PROVIDER": ["auto", "deepseek", "dashscope", "glm", "kimi", "ollama", "openai", "other"],
    "LLM__THINKING": ["auto", "on", "off"],
    "LLM__STRUCTURED_METHOD": ["auto", "json_mode", "function_calling", "json_schema"],
    "EMBEDDING__PROVIDER": ["local", "openai"],
    "RERANK__PROVIDER": ["local", "jina", "cohere", "siliconflow", "dashscope"],
    "SESSION__SCOPE": [scope.value for scope in SessionScope],
    "KNOWLEDGE__SCOPE": [scope.value for scope in KnowledgeScope],
    "KNOWLEDGE__UPLOAD_ROLE": ["member", "admin", "owner"],
}
LISTS: dict[str, tuple[str, ...]] = {
    "SUPERUSERS": (),
    "NICKNAME": ("群知",),
    "COMMAND_START": ("/", "／"),
    "KNOWLEDGE__FILE_TYPES": FILE_TYPES,
    "KNOWLEDGE__CLIENT_FILE_DIRS": (),
    "LLM__PRICES": (),
    "AGENT__TOOLS_MEMBER": AGENT_TOOLS,
    "AGENT__TOOLS_ADMIN": AGENT_TOOLS,
}
TEXTS = {
    "HOST": "127.0.0.1",
    "DATA_DIR": "data",
    "LLM__BASE_URL": "",
    "LLM__MODEL": "",
    "LLM__FAST_MODEL": "",
    "LLM__VISION_MODEL": "",
    "EMBEDDING__BASE_URL": "",
    "EMBEDDING__MODEL": "",
    "MEMORY__SUMMARY_PROMPT": "",
    "RERANK__BASE_URL": "",
    "RERANK__MODEL": "",
}
SECRETS = [
    "ONEBOT_ACCESS_TOKEN",
    "LLM__API_KEY",
    "EMBEDDING__API_KEY",
    "RERANK__API_KEY",
    "SANDBOX__TOKEN",
    "HTTP__TOKEN",
]


def load(**environment: str) -> Settings:
    """Return settings from an environment alone."""
    return load_settings(NOWHERE, environment)


def get(settings: Settings, name: str) -> Any:
    """Return the value of a setting by its name."""
    value: Any = settings
    for part in name.lower().split("__"):
        value = getattr(value, part)
    return value


def refusal(**environment: str) -> str:
    """Return the sentence with which these settings are refused."""
    with pytest.raises(SettingsError) as caught:
        load(**environment)
    assert caught.value.user_message.endswith("。")
    return caught.value.user_message


def test_the_tables_of_this_file_name_every_setting_once() -> None:
    assert sorted([*BOUNDS, *OPTIONAL, *SWITCHES, *CHOICES, *LISTS, *TEXTS, *SECRETS]) == sorted(NAMES)


def test_defaults() -> None:
    settings = load()
    for name, (default, _, _) in BOUNDS.items():
        assert get(settings, name) == default, name
    for name, (first, *_) in CHOICES.items():
        assert get(settings, name) == ("INFO" if name == "LOG_LEVEL" else first), name
    for name, default in LISTS.items():
        assert get(settings, name) == default, name
    for name, default in TEXTS.items():
        assert str(get(settings, name)) == default, name
    for name in SECRETS:
        assert get(settings, name).get_secret_value() == "", name
    for name in OPTIONAL:
        assert get(settings, name) is None, name
    for name, default in SWITCHES.items():
        assert get(settings, name) is default, name


@pytest.mark.parametrize("name", OPTIONAL)
def test_optional_numbers(name: str) -> None:
    least, most = OPTIONAL[name]
    for value in (least, 0.25, most):
        assert get(load(**{name: f"{value:g}"}), name) == value
    assert refusal(**{name: str(least - 1)}) == f"设置 {name} 的值不对：不能小于 {least:.15g}。请改正后再启动。"
    assert refusal(**{name: str(most + 1)}) == f"设置 {name} 的值不对：不能大于 {most:.15g}。请改正后再启动。"
    assert refusal(**{name: "自动"}) == f"设置 {name} 的值不对：要填数字。请改正后再启动。"


@pytest.mark.parametrize("name", SWITCHES)
def test_switches(name: str) -> None:
    assert get(load(**{name: "true"}), name) is True
    assert get(load(**{name: "false"}), name) is False
    assert refusal(**{name: "开"}) == f"设置 {name} 的值不对：要填 true 或 false。请改正后再启动。"


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_of_numbers(name: str) -> None:
    _, least, most = BOUNDS[name]
    for bound in (least, most):
        extra = COMPANIONS.get((name, int(bound)), {})
        assert get(load(**{name: str(bound)}, **extra), name) == bound
    assert refusal(**{name: str(least - 1)}) == f"设置 {name} 的值不对：不能小于 {least:.15g}。请改正后再启动。"
    assert refusal(**{name: str(most + 1)}) == f"设置 {name} 的值不对：不能大于 {most:.15g}。请改正后再启动。"
    for wrong in ("许多", "1,5", "nan", "inf", "1e999"):
        assert f"设置 {name} " in refusal(**{name: wrong})
    if name in FRACTIONS:
        assert get(load(**{name: str(least + 0.25)}), name) == least + 0.25
    else:
        assert f"设置 {name} 的值不对：要填整数" in refusal(**{name: "7.5"})


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name: str) -> None:
    companions = {"EMBEDDING__BASE_URL": "http://127.0.0.1:9/v1", "EMBEDDING__MODEL": "m"}
    companions |= {"RERANK__API_KEY": SECRET, "RERANK__MODEL": "m"}
    for choice in CHOICES[name]:
        assert get(load(**{name: choice}, **companions), name) == choice
    listed = "、".join(CHOICES[name])
    assert refusal(**{name: "nonsense"}) == f"设置 {name} 的值不对：只能是 {listed}。请改正后再启动。"


def test_levels_of_the_log_in_any_case() -> None:
    assert load(LOG_LEVEL="debug").log_level == "DEBUG"


@pytest.mark.parametrize("directory", ["/", "data/in", "/srv/../etc"])
def test_directories_of_the_client_are_whole_paths_and_not_the_disk(directory: str) -> None:
    assert directory in refusal(KNOWLEDGE__CLIENT_FILE_DIRS=directory)


def test_secrets_are_tokens_keys_and_what_addresses_carry() -> None:
    model = {
        "LLM__BASE_URL": "https://user:pass-word@a.cn/v1?key=in-query&v=2",
        "LLM__API_KEY": "sk-model-key",
        "LLM__MODEL": "m",
    }
    tokens = {"ONEBOT_ACCESS_TOKEN": "access-token", "SANDBOX__TOKEN": "page-token", "HTTP__TOKEN": "http-token"}
    secrets = load(**model, **tokens).secrets
    assert secrets == {"pass-word", "in-query", "sk-model-key", *tokens.values()}


@pytest.mark.parametrize("name", ["NICKNAME", "COMMAND_START", "SUPERUSERS"])
def test_a_list_is_read_as_people_write_it_and_as_nonebot_does(name: str) -> None:
    for text in ("12,345", " 12 , 345 ", "12,,345,", '["12", "345"]', ' ["12","345"] ', "[12, 345]"):
        assert get(load(**{name: text}), name) == ("12", "345"), text
    assert get(load(**{name: "12"}), name) == ("12",)
    assert refusal(**{name: '["12"'}) == f'设置 {name} 的格式不对，列表请写成 a,b 或 ["a", "b"]。请改正后再启动。'


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), min_size=1))
def test_both_ways_to_write_a_list_mean_the_same(items: list[str]) -> None:
    written = load(NICKNAME=",".join(items)).nickname
    assert written == load(NICKNAME=json.dumps(items)).nickname == tuple(items)


def test_prices_name_models_and_numbers() -> None:
    written = "deepseek-flash=2/0.04/8, qwen3:8b=0.5/2"
    assert load(LLM__PRICES=written).llm.prices == ("deepseek-flash=2/0.04/8", "qwen3:8b=0.5/2")
    for wrong in ("deepseek-flash", "m=2", "m=2/3/4/5", "m=-1/2", "=1/2", "m=1e9/2", "m=nan/2", "m=a/b", "a=b=1/2"):
        assert f"LLM__PRICES 里的 {wrong} 不对" in refusal(LLM__PRICES=wrong)
    assert load(LLM__PRICES="a=1/2，b=1/2").llm.prices == ("a=1/2", "b=1/2")
    assert "LLM__PRICES 里的 a 写了不止一次" in refusal(LLM__PRICES="a=1/2,b=1/2,a =3/4")


def test_file_types_are_those_that_can_be_read() -> None:
    assert load(KNOWLEDGE__FILE_TYPES="pdf, md").knowledge.file_types == ("pdf", "md")
    assert "exe" in refusal(KNOWLEDGE__FILE_TYPES="pdf,exe")
    assert "KNOWLEDGE__FILE_TYPES" in refusal(KNOWLEDGE__FILE_TYPES=",")


def test_every_default_file_type_has_a_loader() -> None:
    from services.knowledge.loaders import LOADERS  # noqa: PLC0415 - settings must not import loaders, only this test

    assert set(FILE_TYPES) == set(LOADERS)


def test_an_empty_value_means_not_set(tmp_path: Path) -> None:
    empty = dict.fromkeys(NAMES, "")
    file = tmp_path / ".env"
    file.write_text("\n".join(f"{name}=" for name in NAMES), encoding="utf-8")
    assert load(**empty) == load_settings(file, {}) == load()


def test_the_environment_beats_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("PORT=9001\nretrieval__submit_top_k=7\nNICKNAME='小 群'\nLLM__MODEL=a$HOME${X}\n", encoding="utf-8")
    settings = load_settings(file, {"PORT": "9002", "HOME": "/root"})
    assert settings.port == 9002
    assert settings.retrieval.submit_top_k == 7
    assert settings.nickname == ("小 群",)
    assert settings.llm.model == "a$HOME${X}"
    assert load_settings(file, {"Port": "9003"}).port == 9003


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("RETRIEVAL__SUBMIT_TOPK", "RETRIEVAL__SUBMIT_TOP_K"),
        ("RETREIVAL__SUBMIT_TOP_K", "RETRIEVAL__SUBMIT_TOP_K"),
        ("retrieval__submit_top_kk", "RETRIEVAL__SUBMIT_TOP_K"),
        ("LLM__APIKEY", "LLM__API_KEY"),
        ("ONEBOT_ACCES_TOKEN", "ONEBOT_ACCESS_TOKEN"),
        ("SUPER_USERS", ""),
        ("MEMORY__NONSENSE_OF_MINE", ""),
        ("LLM__", ""),
    ],
)
def test_a_misspelt_name_stops_the_start(wrong: str, meant: str, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(f"{wrong}={SECRET}\n", encoding="utf-8")
    with pytest.raises(SettingsError) as in_file:
        load_settings(file, {})
    assert in_file.value.user_message.startswith(f".env里有不认识的设置 {wrong}，")
    messages = [in_file.value.user_message]
    if "__" in wrong or meant:
        messages.append(refusal(**{wrong: SECRET}))
        assert messages[1].startswith(f"环境变量里有不认识的设置 {wrong}，")
    for message in messages:
        assert meant in message
        assert SECRET not in message


@pytest.mark.parametrize("name", ["HOME", "PATH", "HOSTNAME", "GIT__DIR", "PYTHONPATH", "LC_ALL", "LLM", "TZ", "_"])
def test_other_programs_variables_are_left_alone_but_not_in_our_file(name: str, tmp_path: Path) -> None:
    assert load(**{name: "x"}) == load()
    file = tmp_path / ".env"
    file.write_text(f"{name}=x\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=name):
        load_settings(file, {})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "8.8.8.8", "bot.example.com", "127.0.0.1.evil.cn"])
def test_a_public_address_needs_a_token(host: str) -> None:
    assert "必须填 ONEBOT_ACCESS_TOKEN" in refusal(HOST=host)
    assert load(HOST=host, ONEBOT_ACCESS_TOKEN=SECRET).host == host


@pytest.mark.parametrize("name", ["ONEBOT_ACCESS_TOKEN", "SANDBOX__TOKEN", "HTTP__TOKEN"])
def test_tokens_that_are_no_secret(name: str) -> None:
    for token in (
        " ",
        "   ",
        " long-enough",
        "long-enough ",
        "\t",
        "　",
        "long\nenough",
        "long\x00enough",
        "long\x7fer",
    ):
        assert refusal(**{name: token}).startswith(f"设置不对：{name} 的首尾不能有空格"), repr(token)
    public = {"HOST": "0.0.0.0", "ONEBOT_ACCESS_TOKEN": SECRET}
    message = refusal(**{**public, name: "1234567"})
    assert message == f"设置不对：HOST 不是本机地址，{name} 至少要 8 个字符，否则很容易被猜到。请改正后再启动。"
    assert "1234567" not in message
    for taken in ("12345678", "correct horse"):
        assert get(load(**{**public, name: taken}), name).get_secret_value() == taken
    assert get(load(**{name: "1"}), name).get_secret_value() == "1"


def test_a_header_carries_ascii_only() -> None:
    for token in ("芝麻开门芝麻开门", "tökenlang"):
        for name in ("ONEBOT_ACCESS_TOKEN", "HTTP__TOKEN"):
            assert f"{name} 只能用英文字母、数字和符号" in refusal(**{name: token})
    assert load(SANDBOX__TOKEN="芝麻开门芝麻开门").sandbox.token.get_secret_value() == "芝麻开门芝麻开门"


@pytest.mark.parametrize("number", ["９", "１０００１", "٣٤٥", "²", "007", "0", "-1", "1.5", "10001 10002"])
def test_superusers_are_numbers_as_clients_report_them(number: str) -> None:
    assert f"SUPERUSERS 要填 QQ 号，不能是 {number}" in refusal(SUPERUSERS=number)


def test_directories_of_the_client_are_complete_paths() -> None:
    assert load(KNOWLEDGE__CLIENT_FILE_DIRS="/srv/qq, /srv/b").knowledge.client_file_dirs == ("/srv/qq", "/srv/b")
    assert "KNOWLEDGE__CLIENT_FILE_DIRS 要填目录的完整路径" in refusal(KNOWLEDGE__CLIENT_FILE_DIRS="/srv,qq")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.5.0.1", "::1", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    assert load(HOST=host).host == host


def test_the_page_is_for_this_machine_or_behind_a_token() -> None:
    assert load().sandbox_enabled
    assert not load(SANDBOX__ENABLED="false").sandbox_enabled
    elsewhere = {"HOST": "0.0.0.0", "ONEBOT_ACCESS_TOKEN": SECRET}
    assert not load(**elsewhere).sandbox_enabled
    assert "必须填 SANDBOX__TOKEN" in refusal(SANDBOX__ENABLED="true", **elsewhere)
    assert load(SANDBOX__ENABLED="true", SANDBOX__TOKEN=SECRET, **elsewhere).sandbox_enabled


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1:8080"),
        ("localhost", "localhost:8080"),
        ("::1", "[::1]:8080"),
        ("0.0.0.0", "127.0.0.1:8080"),
        ("::", "[::1]:8080"),
        ("192.168.1.5", "192.168.1.5:8080"),
    ],
)
def test_how_this_machine_reaches_the_bot(host: str, address: str) -> None:
    assert load(HOST=host, ONEBOT_ACCESS_TOKEN=SECRET).local_address == address


def test_rules_across_fields() -> None:
    assert "还要填 LLM__BASE_URL 和 LLM__MODEL" in refusal(LLM__API_KEY=SECRET)
    assert "还要填 LLM__BASE_URL 和 LLM__MODEL" in refusal(LLM__API_KEY=SECRET, LLM__MODEL="m")
    assert not load(LLM__MODEL="m", LLM__BASE_URL="http://127.0.0.1:9").llm.enabled
    assert load(LLM__API_KEY=SECRET, LLM__MODEL="m", LLM__BASE_URL="http://127.0.0.1:9").llm.enabled
    assert "EMBEDDING__BASE_URL 和 EMBEDDING__MODEL" in refusal(EMBEDDING__PROVIDER="openai", EMBEDDING__MODEL="m")
    assert "RERANK__API_KEY 和 RERANK__MODEL" in refusal(RERANK__PROVIDER="jina", RERANK__MODEL="m")
    assert "http://" in refusal(RERANK__BASE_URL="api.jina.ai")
    assert "一半" in refusal(KNOWLEDGE__CHUNK_CHARS="100", KNOWLEDGE__CHUNK_OVERLAP_CHARS="51")
    assert load(KNOWLEDGE__CHUNK_CHARS="100", KNOWLEDGE__CHUNK_OVERLAP_CHARS="50").knowledge.chunk_overlap_chars == 50
    message = refusal(MEMORY__SUMMARY_CHUNK_SIZE="21")
    assert "MEMORY__SUMMARY_CHUNK_SIZE 不能大于 MEMORY__MAX_HISTORY_MESSAGES" in message
    assert load(MEMORY__SUMMARY_CHUNK_SIZE="20").memory.summary_chunk_size == 20
    assert "{history_text}" in refusal(MEMORY__SUMMARY_PROMPT="总结一下")
    assert load(MEMORY__SUMMARY_PROMPT="总结 {history_text}").memory.summary_prompt == "总结 {history_text}"
    assert "SUPERUSERS 要填 QQ 号，不能是 张三" in refusal(SUPERUSERS="10001,张三")


@pytest.mark.parametrize("wrong", [{"PORT": "0"}, {"SUPERUSERS": "x"}, {"RETRIEVAL__TOPK": "1"}, {"LLM__MODEL": ""}])
def test_no_secret_is_ever_in_a_message(wrong: dict[str, str]) -> None:
    secrets = dict.fromkeys(SECRETS, SECRET) | {"LLM__BASE_URL": "http://127.0.0.1:9"}
    with pytest.raises(SettingsError) as caught:
        load(**secrets, **wrong)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in str(error)
        assert SECRET not in repr(error)
        error = error.__cause__
    settings = load(**secrets, LLM__MODEL="m")
    assert SECRET not in str(settings) + repr(settings) + settings.model_dump_json()


def test_settings_cannot_be_changed() -> None:
    settings = load()
    for owner, name in ((settings, "port"), (settings.llm, "model")):
        with pytest.raises(ValueError, match="frozen"):
            setattr(owner, name, "x")


def test_the_example_file_holds_every_setting_with_its_default() -> None:
    example = REPOSITORY / ".env.example"
    lines = example.read_text(encoding="utf-8").splitlines()
    assignments = [number for number, line in enumerate(lines) if line and not line.startswith("#")]
    written = [tuple(lines[number].split("=", 1)) for number in assignments]
    assert written == [(name, _written(name)) for name in NAMES]
    for number in assignments:
        comment = lines[number - 1]
        assert re.match(r"# \S", comment), f"{lines[number]} has no comment above it"
    for name, info in setting_fields():
        above = lines[assignments[NAMES.index(name)] - 1].removeprefix("# ")
        assert info.description is not None
        assert above.startswith(info.description), f"{name}: {above}"
    assert load_settings(example, {}) == load()


def _written(name: str) -> str:
    """Return a default as the example file writes it."""
    value = get(load(), name)
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if name in SECRETS:
        return value.get_secret_value()
    return ",".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)


def test_the_tools_of_an_agent_exist() -> None:
    settings = load(AGENT__TOOLS_MEMBER="knowledge_search", AGENT__TOOLS_ADMIN="time, calculator").agent
    assert (settings.tools_member, settings.tools_admin) == (("knowledge_search",), ("time", "calculator"))
    assert refusal(AGENT__TOOLS_MEMBER="knowledge_search,shell") == (
        "设置不对：AGENT__TOOLS_MEMBER 里没有 shell 这个工具，可用 knowledge_search、time、calculator。请改正后再启动。"
    )
    assert "AGENT__TOOLS_ADMIN 里有重复的工具" in refusal(AGENT__TOOLS_ADMIN="time,time")
    assert "不能同时为 true" in refusal(AGENT__ENABLED="true", ANSWER__GENERAL_KNOWLEDGE="true")
