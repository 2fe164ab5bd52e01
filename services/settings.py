"""Every setting of the bot: typed, bounded and frozen.

Settings are read once at start from the environment and one `.env` file. A name is the upper-case path of its field,
with sections joined by two underscores: `RETRIEVAL__SUBMIT_TOP_K`. The environment overrides the file. An unknown name
stops the start, so that a misspelt key never silently means its default.
"""

import difflib
import io
import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from dotenv.parser import parse_stream
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from services.errors import SettingsError
from services.session import KnowledgeScope, SessionScope

FILE_TYPES = (
    *("pdf", "txt", "md", "markdown", "docx", "pptx", "xlsx", "csv", "html", "htm"),
    *("png", "jpg", "jpeg", "webp", "bmp"),
)

# The tools that the agent layer has.
AGENT_TOOLS = ("knowledge_search", "time", "calculator")

# Eight random letters and digits withstand years of guessing over a network.
_MIN_PUBLIC_TOKEN_CHARS = 8
# `isdigit` is also true for ９, which is never equal to the number that a client reports.
_QQ_NUMBER = re.compile("[1-9][0-9]*")

# The name of a model, and two or three prices of at most six digits before the point.
_PRICE = re.compile(r"[^=]+=[0-9]{1,6}(\.[0-9]+)?(/[0-9]{1,6}(\.[0-9]+)?){1,2}")

UploadRole = Literal["member", "admin", "owner"]


def _items(value: Any) -> Any:
    """Accept both `["a", "b"]`, as NoneBot writes lists, and `a, b`, as people do."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("["):
        try:
            return [str(item) for item in json.loads(text)]
        except (ValueError, TypeError) as error:
            raise ValueError("not a list") from error
    return [item.strip() for item in text.split(",") if item.strip()]


def _prices(value: Any) -> Any:
    """Accept `，` between prices, too; no price contains one."""
    return _items(value.replace("，", ",") if isinstance(value, str) else value)


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


Items = Annotated[tuple[str, ...], BeforeValidator(_items)]


class SettingsSection(BaseModel):
    """A group of settings that share a prefix."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class LLMSettings(SettingsSection):
    """The language model: any OpenAI-compatible service. Without a key the bot answers with excerpts."""

    provider: Literal["auto", "deepseek", "dashscope", "glm", "kimi", "ollama", "openai", "other"] = Field(
        "auto", description="服务商；auto 按接口地址认"
    )
    base_url: str = Field("", description="接口地址，例如 https://api.deepseek.com/v1")
    api_key: SecretStr = Field(SecretStr(""), description="密钥；留空则不用模型，只摘录原文")
    model: str = Field("", description="回答用的模型名")
    fast_model: str = Field("", description="总结记忆等小事用的模型名；留空则与 LLM__MODEL 相同")
    vision_model: str = Field("", description="看图用的模型名；留空则用文字识别（make ocr）读图")
    timeout_s: float = Field(60, ge=1, le=600, description="一次调用最多等几秒")
    max_retries: int = Field(2, ge=0, le=10, description="失败后重试几次")
    max_tokens: int = Field(4096, ge=256, le=131072, description="一个回答最多多少 token，推理模型的思考也算在内")
    structured_method: Literal["auto", "json_mode", "function_calling", "json_schema"] = Field(
        "auto", description="结构化输出方式；auto 按服务商定"
    )
    thinking: Literal["auto", "on", "off"] = Field(
        "auto", description="先思考再答；auto 由服务商定，要工具或 JSON 时按需关"
    )
    prices: Annotated[tuple[str, ...], BeforeValidator(_prices)] = Field(
        (), description="模型价格，元/百万 token，逗号分隔，写成 模型名=输入/输出 或 模型名=输入/缓存命中/输出"
    )

    @property
    def enabled(self) -> bool:
        """Whether a model writes the answers."""
        return bool(self.api_key.get_secret_value())

    @model_validator(mode="after")
    def _key_needs_model(self) -> "LLMSettings":
        if self.enabled and not (self.model and self.base_url):
            raise ValueError("填了 LLM__API_KEY，还要填 LLM__BASE_URL 和 LLM__MODEL")
        if self.base_url and not self.base_url.startswith(("http://", "https://")):
            raise ValueError("LLM__BASE_URL 要以 http:// 或 https:// 开头")
        wrong = [entry for entry in self.prices if not _PRICE.fullmatch(entry)]
        if wrong:
            raise ValueError(f"LLM__PRICES 里的 {wrong[0]} 不对，要写成 模型名=输入/输出 或 模型名=输入/缓存命中/输出")
        names = [entry.partition("=")[0].strip() for entry in self.prices]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"LLM__PRICES 里的 {twice} 写了不止一次，只能留一个价格")
        return self


class EmbeddingSettings(SettingsSection):
    """Conversion of text to vectors: the embedded model, or an OpenAI-compatible service."""

    provider: Literal["local", "openai"] = Field("local", description="local 用自带模型，openai 用兼容接口")
    base_url: str = Field("", description="接口地址；provider 为 openai 时用")
    api_key: SecretStr = Field(SecretStr(""), description="密钥；provider 为 openai 时用")
    model: str = Field("", description="向量模型名；provider 为 openai 时用")

    @model_validator(mode="after")
    def _service_needs_address(self) -> "EmbeddingSettings":
        if self.provider == "openai" and not (self.base_url and self.model):
            raise ValueError("EMBEDDING__PROVIDER=openai 时要填 EMBEDDING__BASE_URL 和 EMBEDDING__MODEL")
        return self


class SessionSettings(SettingsSection):
    """The sharing of memory in a group, and the silence that ends a dialogue."""

    scope: SessionScope = Field(SessionScope.MEMBER, description="member 每人各有记忆，group 全群共用记忆")
    silence_minutes: int = Field(120, ge=1, le=10080, description="多少分钟没说话，就算这段对话结束")

    @property
    def silence(self) -> timedelta:
        """How long nothing is said until a dialogue counts as abandoned."""
        return timedelta(minutes=self.silence_minutes)


class KnowledgeSettings(SettingsSection):
    """The files that a knowledge base accepts, from whom, and how they are split into chunks."""

    scope: KnowledgeScope = Field(KnowledgeScope.GROUP, description="group 每群各有知识库，global 所有群共用")
    upload_role: UploadRole = Field("member", description="谁发的群文件会入库：member、admin 或 owner")
    max_file_mb: int = Field(20, ge=1, le=200, description="单个文件上限，MB")
    file_types: Items = Field(FILE_TYPES, description="收哪些类型的文件，逗号分隔")
    max_chunks: int = Field(100_000, ge=0, le=10_000_000, description="一个知识库最多多少块，0 为不限")
    max_total_mb: int = Field(2000, ge=0, le=1_000_000, description="一个知识库的原文件合计最多多少 MB，0 为不限")
    min_download_kbps: int = Field(20, ge=0, le=10_000, description="下载文件最低速度，KB 每秒，更慢就停下；0 为不限")
    client_file_dirs: Items = Field(
        (), description="QQ 客户端存文件的目录，逗号分隔；只从这些目录读客户端给的路径，留空则不按路径读"
    )
    chunk_chars: int = Field(500, ge=100, le=2000, description="每块最多多少字")
    chunk_overlap_chars: int = Field(50, ge=0, le=500, description="相邻两块重叠多少字")

    @model_validator(mode="after")
    def _overlap_fits(self) -> "KnowledgeSettings":
        if self.chunk_overlap_chars * 2 > self.chunk_chars:
            raise ValueError("KNOWLEDGE__CHUNK_OVERLAP_CHARS 不能超过 KNOWLEDGE__CHUNK_CHARS 的一半")
        wrong = [item for item in self.client_file_dirs if not _is_directory_path(Path(item))]
        if wrong:
            raise ValueError(
                f"KNOWLEDGE__CLIENT_FILE_DIRS 要填目录的完整路径，不能是相对路径、带 .. 或整个盘：{'、'.join(wrong)}"
            )
        unknown = sorted(set(self.file_types) - set(FILE_TYPES))
        if unknown or not self.file_types:
            raise ValueError(
                f"KNOWLEDGE__FILE_TYPES 里有不支持的类型 {'、'.join(unknown) or '（空）'}，可用 {'、'.join(FILE_TYPES)}"
            )
        return self


class RetrievalSettings(SettingsSection):
    """The number of candidates that each stage passes on, and the requirements of the gate."""

    recall_top_k: int = Field(30, ge=10, le=50, description="向量和字词各先找出多少段候选")
    rerank_top_k: int = Field(8, ge=1, le=50, description="最好的多少段候选交给重排")
    submit_top_k: int = Field(5, ge=1, le=20, description="一个回答最多参考几段资料")
    min_vector_similarity: float | None = Field(None, ge=-1, le=1, description="向量相似度下限；留空按向量模型自动定")
    min_rerank_score: float | None = Field(None, ge=0, le=1, description="重排得分下限；留空用重排模型校准好的值")
    min_qualified_count: int = Field(1, ge=1, le=10, description="至少几段资料过关才作答")
    max_reference_chars: int = Field(4000, ge=500, le=32000, description="一个回答参考的资料合计最多多少字")

    @model_validator(mode="after")
    def _enough_are_reranked(self) -> "RetrievalSettings":
        if max(self.submit_top_k, self.min_qualified_count) > self.rerank_top_k:
            raise ValueError(
                "RETRIEVAL__SUBMIT_TOP_K 和 RETRIEVAL__MIN_QUALIFIED_COUNT 不能大于 RETRIEVAL__RERANK_TOP_K"
            )
        return self


class RerankSettings(SettingsSection):
    """The ranking of candidates: the embedded model, or a rerank service."""

    provider: Literal["local", "jina", "cohere", "siliconflow", "dashscope"] = Field(
        "local", description="local 用自带模型，其余用对应服务的重排接口"
    )
    base_url: str = Field("", description="重排接口的完整地址；留空用该服务的官方地址")
    api_key: SecretStr = Field(SecretStr(""), description="重排服务的密钥；provider 不是 local 时必填")
    model: str = Field("", description="重排模型名；provider 不是 local 时必填")
    timeout_s: float = Field(5, ge=0.5, le=60, description="一次重排最多等几秒")

    @model_validator(mode="after")
    def _service_needs_key(self) -> "RerankSettings":
        if self.provider != "local" and not (self.api_key.get_secret_value() and self.model):
            raise ValueError(f"RERANK__PROVIDER={self.provider} 时要填 RERANK__API_KEY 和 RERANK__MODEL")
        if self.base_url and not self.base_url.startswith(("http://", "https://")):
            raise ValueError("RERANK__BASE_URL 要以 http:// 或 https:// 开头")
        return self


class AnswerSettings(SettingsSection):
    """The sources that an answer may use besides the group's documents."""

    general_knowledge: bool = Field(False, description="资料里没有时，是否让模型凭常识回答（会注明不是出自资料）")


class AgentSettings(SettingsSection):
    """The agent layer: the model may use tools before it answers. Each call of the model counts as one."""

    enabled: bool = Field(
        False,
        description="让模型先用工具（查资料、看时间、计算）再回答，一个问题可能多调用几次模型；没有模型时不起作用",
    )
    tools_member: Items = Field(AGENT_TOOLS, description="群成员的问题可以用哪些工具，逗号分隔")
    tools_admin: Items = Field(AGENT_TOOLS, description="管理员的问题可以用哪些工具，逗号分隔")
    max_model_calls: int = Field(5, ge=1, le=10, description="一个问题最多调用几次模型，最后一次不再给工具")
    max_tool_calls: int = Field(8, ge=1, le=20, description="一个问题最多用几次工具")
    timeout_s: int = Field(90, ge=5, le=600, description="一个问题从开始查到写完最多几秒")

    @model_validator(mode="after")
    def _tools_exist(self) -> "AgentSettings":
        for name, tools in (("AGENT__TOOLS_MEMBER", self.tools_member), ("AGENT__TOOLS_ADMIN", self.tools_admin)):
            if unknown := sorted(set(tools) - set(AGENT_TOOLS)):
                raise ValueError(f"{name} 里没有 {'、'.join(unknown)} 这个工具，可用 {'、'.join(AGENT_TOOLS)}")
            if len(set(tools)) < len(tools):
                raise ValueError(f"{name} 里有重复的工具")
        return self


class BudgetSettings(SettingsSection):
    """Limits on the use of the bot by one member and one group, so that some cannot use it up for all."""

    member_questions_per_minute: int = Field(6, ge=0, le=600, description="每人每分钟最多问几个问题，0 为不限")
    member_questions_per_day: int = Field(200, ge=0, le=100_000, description="每人每天最多问几个问题，0 为不限")
    group_questions_per_day: int = Field(1000, ge=0, le=1_000_000, description="每群每天最多问几个问题，0 为不限")
    waiting_questions: int = Field(3, ge=1, le=50, description="每人在一个群（或私聊）里最多同时等几个问题")
    group_model_calls_per_day: int = Field(
        2000, ge=0, le=1_000_000, description="每群（或每个私聊）每天最多调用几次模型，用完只摘录原文；0 为不限"
    )
    group_model_tokens_per_day: int = Field(
        4_000_000,
        ge=0,
        le=1_000_000_000,
        description="每群（或每个私聊）每天最多用多少 token，用完只摘录原文；0 为不限",
    )
    group_cny_per_day: float = Field(
        0, ge=0, le=1_000_000, description="每群（或每个私聊）每天最多花多少元，用完只摘录原文；0 为不限"
    )
    total_cny_per_day: float = Field(
        0, ge=0, le=1_000_000, description="所有群合计每天最多花多少元，用完只摘录原文；0 为不限"
    )


class ProactiveSettings(SettingsSection):
    """Unasked answers; each group switches them on for itself with /bot auto on."""

    per_hour: int = Field(6, ge=1, le=60, description="没被叫到时，每群每小时最多主动回答几次")
    quiet_s: int = Field(120, ge=0, le=3600, description="两个人正在对话时，停多少秒才算说完")
    delay_s: float = Field(8, ge=0, le=60, description="先等多少秒，没有人接话才主动回答；实际前后浮动四分之一")


class ReviewSettings(SettingsSection):
    """Answers that a person looks at before, or after, they are sent."""

    # Off: a group whose admins do not expect it would wait for nobody. /review and corrections work in any case.
    below: float = Field(0, ge=0, le=1, description="把握低于多少就先请管理员看，再回答；0 为不请")
    notify: Literal["group", "private", "off"] = Field(
        "group", description="有回答要看时怎么告诉管理员：group 在群里说一声，private 私聊，off 不说"
    )
    show_draft: bool = Field(False, description="等管理员看的时候，要不要先把没审核的草稿给提问的人；true 或 false")


class MemorySettings(SettingsSection):
    """The length at which the beginning of a conversation is summarised."""

    max_history_messages: int = Field(20, ge=2, le=200, description="对话超过多少条消息就总结")
    summary_chunk_size: int = Field(10, ge=2, le=200, description="每次把最早的多少条总结成一条")
    summary_every_messages: int = Field(0, ge=0, le=1000, description="每累积多少条也总结一次，0 为关")
    summary_prompt: str = Field("", description="总结提示词，含 {history_text}；留空用 prompts/memory/summary.yaml")
    recent_shown: int = Field(10, ge=1, le=50, description="/memory show 显示最近几条")

    @model_validator(mode="after")
    def _chunk_fits(self) -> "MemorySettings":
        if self.summary_chunk_size > self.max_history_messages:
            raise ValueError("MEMORY__SUMMARY_CHUNK_SIZE 不能大于 MEMORY__MAX_HISTORY_MESSAGES")
        if self.summary_prompt and "{history_text}" not in self.summary_prompt:
            raise ValueError("MEMORY__SUMMARY_PROMPT 里要有 {history_text}")
        return self


class SendSettings(SettingsSection):
    """The pace of sending: messages wait, none is dropped."""

    group_interval_s: float = Field(1.5, ge=0, le=60, description="同一个群两条消息至少隔几秒，0 为不限")
    per_minute: int = Field(20, ge=0, le=600, description="一个账号在所有群合计每分钟最多发几条，0 为不限")


class TraceSettings(SettingsSection):
    """The records of how answers came about, for `/trace`."""

    keep_days: int = Field(14, ge=0, le=365, description="回答的来历（/trace）保存几天，0 为不保存")
    max_mb: int = Field(200, ge=1, le=100_000, description="这些记录合计最多多少 MB，超过就删最早的")


class RenderSettings(SettingsSection):
    """Pictures that the bot draws, such as tables."""

    enabled: bool = Field(True, description="把回答里较长的表格和代码画成图片：true 画，false 只发文字")


class SandboxSettings(SettingsSection):
    """The local page that simulates a QQ group, for trying the bot without QQ."""

    enabled: bool | None = Field(None, description="本机试用网页：true 开，false 关；留空则只在 HOST 是本机地址时打开")
    token: SecretStr = Field(
        SecretStr(""), description="打开试用网页要输入的口令；HOST 不是本机地址时必填才能打开，至少 8 个字符"
    )


class HttpSettings(SettingsSection):
    """The HTTP routes for the operator's own programs."""

    token: SecretStr = Field(
        SecretStr(""),
        description="程序访问 /status 等接口用的令牌，放在请求头里；只用英文字母、数字和符号，留空则没有这些接口",
    )


class Settings(SettingsSection):
    """All settings. The first block is NoneBot's own, the rest is ours."""

    host: str = Field("127.0.0.1", description="监听地址；不是本机地址时必须填 ONEBOT_ACCESS_TOKEN，至少 8 个字符")
    port: int = Field(8080, ge=1, le=65535, description="监听端口")
    onebot_access_token: SecretStr = Field(
        SecretStr(""), description="与 QQ 客户端约定的令牌，只用英文字母、数字和符号"
    )
    superusers: Items = Field((), description="机器人管理员的 QQ 号，逗号分隔")
    nickname: Items = Field(("群知",), description="喊这些名字也会回答，逗号分隔")
    command_start: Items = Field(("/", "／"), description="命令前缀，逗号分隔")
    log_level: Annotated[Literal["DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR"], BeforeValidator(_upper)] = Field(
        "INFO", description="日志级别"
    )
    api_timeout: float = Field(30, ge=1, le=300, description="等 QQ 客户端回应最多几秒")

    data_dir: Path = Field(Path("data"), description="数据目录")
    llm: LLMSettings = LLMSettings.model_construct()
    embedding: EmbeddingSettings = EmbeddingSettings.model_construct()
    session: SessionSettings = SessionSettings.model_construct()
    knowledge: KnowledgeSettings = KnowledgeSettings.model_construct()
    retrieval: RetrievalSettings = RetrievalSettings.model_construct()
    rerank: RerankSettings = RerankSettings.model_construct()
    answer: AnswerSettings = AnswerSettings.model_construct()
    agent: AgentSettings = AgentSettings.model_construct()
    budget: BudgetSettings = BudgetSettings.model_construct()
    proactive: ProactiveSettings = ProactiveSettings.model_construct()
    review: ReviewSettings = ReviewSettings.model_construct()
    memory: MemorySettings = MemorySettings.model_construct()
    send: SendSettings = SendSettings.model_construct()
    trace: TraceSettings = TraceSettings.model_construct()
    render: RenderSettings = RenderSettings.model_construct()
    sandbox: SandboxSettings = SandboxSettings.model_construct()
    http: HttpSettings = HttpSettings.model_construct()

    @model_validator(mode="after")
    def _public_address_needs_token(self) -> "Settings":
        _check_token("ONEBOT_ACCESS_TOKEN", self.onebot_access_token, self.host, in_header=True)
        _check_token("SANDBOX__TOKEN", self.sandbox.token, self.host, in_header=False)
        _check_token("HTTP__TOKEN", self.http.token, self.host, in_header=True)
        if not _is_loopback(self.host) and not self.onebot_access_token.get_secret_value():
            raise ValueError("HOST 不是本机地址，必须填 ONEBOT_ACCESS_TOKEN，否则任何人都能冒充管理员")
        if self.sandbox_enabled and not _is_loopback(self.host) and not self.sandbox.token.get_secret_value():
            raise ValueError("HOST 不是本机地址，打开试用网页必须填 SANDBOX__TOKEN，否则任何人都能冒充群主")
        if self.agent.enabled and self.answer.general_knowledge:
            raise ValueError("AGENT__ENABLED 和 ANSWER__GENERAL_KNOWLEDGE 不能同时为 true，用工具时只按资料回答")
        not_numbers = [item for item in self.superusers if not _QQ_NUMBER.fullmatch(item)]
        if not_numbers:
            raise ValueError(f"SUPERUSERS 要填 QQ 号，不能是 {'、'.join(not_numbers)}")
        return self

    @property
    def sandbox_enabled(self) -> bool:
        """Whether the local page is served."""
        return _is_loopback(self.host) if self.sandbox.enabled is None else self.sandbox.enabled

    @property
    def secrets(self) -> frozenset[str]:
        """Everything that must not be written down: tokens, keys, and what addresses of services carry of them."""
        found = {
            value.get_secret_value()
            for section in (self, self.llm, self.embedding, self.rerank, self.sandbox, self.http)
            for value in vars(section).values()
            if isinstance(value, SecretStr)
        }
        for address in (self.llm.base_url, self.embedding.base_url, self.rerank.base_url):
            parts = urlsplit(address)
            found |= {parts.password or "", *(value for _, value in parse_qsl(parts.query))}
        return frozenset(secret for secret in found if len(secret) >= _LEAST_SECRET_CHARS)

    @property
    def local_address(self) -> str:
        """The `host:port` at which programs on this machine reach the bot."""
        everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognised, not listened on
        host = everywhere.get(self.host, self.host)
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def _check_token(name: str, secret: SecretStr, host: str, *, in_header: bool) -> None:
    """Raise `ValueError` for a token that cannot be displayed or is easily guessed. Empty means no token."""
    token = secret.get_secret_value()
    if not token:
        return
    if token != token.strip() or not token.isprintable():
        raise ValueError(f"{name} 的首尾不能有空格，里面不能有换行等控制字符")
    if in_header and not token.isascii():
        raise ValueError(f"{name} 只能用英文字母、数字和符号，请求头里放不了别的字符")
    if len(token) < _MIN_PUBLIC_TOKEN_CHARS and not _is_loopback(host):
        raise ValueError(f"HOST 不是本机地址，{name} 至少要 {_MIN_PUBLIC_TOKEN_CHARS} 个字符，否则很容易被猜到")


def _is_directory_path(path: Path) -> bool:
    return path.is_absolute() and ".." not in path.parts and path != Path(path.anchor)


# Shorter ones are words, and would make the log unreadable.
_LEAST_SECRET_CHARS = 5


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def setting_fields() -> Iterator[tuple[str, FieldInfo]]:
    """Yield the name and field of every setting, in the order of `.env.example`."""
    for name, info in Settings.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, SettingsSection):
            for inner, inner_info in info.annotation.model_fields.items():
                yield f"{name}__{inner}".upper(), inner_info
        else:
            yield name.upper(), info


def load_settings(env_file: Path, environment: Mapping[str, str]) -> Settings:
    """Read and validate all settings.

    `env_file` need not exist. Raise `SettingsError` naming the first setting that is unknown or out of range, or the
    line of the file that cannot be read.
    """
    known = {name for name, _ in setting_fields()}
    values: dict[str, str] = {}
    if env_file.is_file():
        for key, value in _assignments(env_file):
            if key.upper() not in known:
                raise _unknown(key, known, env_file.name)
            values[key.upper()] = value
    for key, value in environment.items():
        if key.upper() in known:
            values[key.upper()] = value
        elif _looks_like_ours(key.upper(), known):
            raise _unknown(key, known, "环境变量")
    try:
        return Settings.model_validate(_nested(values))
    except ValidationError as error:
        raise SettingsError(_sentence(error.errors()[0])) from error


def _assignments(env_file: Path) -> Iterator[tuple[str, str]]:
    """Yield names and values in order. Quotes, comments and `export` work as in a shell; nothing is expanded."""
    try:
        # Editors on Windows start UTF-8 files with a byte order mark.
        text = env_file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{env_file.name} 不是 UTF-8 编码，请用 UTF-8 另存后再启动。") from error
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            line = binding.original.line
            raise SettingsError(f"{env_file.name} 第 {line} 行读不懂，要写成 名字=值。请改正后再启动。")
        if binding.key is not None:
            yield binding.key, binding.value or ""


def _nested(values: Mapping[str, str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *sections, name = key.lower().split("__")
        branch = tree
        for section in sections:
            branch = branch.setdefault(section, {})
        # An empty line in .env means "not set", as in .env.example.
        if value != "":
            branch[name] = value
    return tree


def _looks_like_ours(key: str, known: set[str]) -> bool:
    """Distinguish a misspelt setting from the many variables of a shell that are unrelated to the bot."""
    section, separator, _ = key.partition("__")
    if separator:
        sections = {name.partition("__")[0] for name in known if "__" in name}
        return section in sections or bool(difflib.get_close_matches(key, known, n=1, cutoff=0.85))
    distinctive = [name for name in known if "_" in name and "__" not in name]
    return bool(difflib.get_close_matches(key, distinctive, n=1, cutoff=0.85))


def _unknown(key: str, known: set[str], where: str) -> SettingsError:
    near = difflib.get_close_matches(key.upper(), known, n=1, cutoff=0.6)
    hint = f"，是不是想写 {near[0]}" if near else "，全部设置见 .env.example"
    return SettingsError(f"{where}里有不认识的设置 {key}{hint}。请改正后再启动。")


_REASONS = {
    "greater_than_equal": "不能小于 {ge}",
    "less_than_equal": "不能大于 {le}",
    "int_parsing": "要填整数",
    "int_from_float": "要填整数",
    "float_parsing": "要填数字",
    "bool_parsing": "要填 true 或 false",
    "literal_error": "只能是 {expected}",
    "enum": "只能是 {expected}",
    "extra_forbidden": "没有这个设置",
}


def _sentence(error: ErrorDetails) -> str:
    name = "__".join(str(part) for part in error["loc"] if isinstance(part, str)).upper()
    context = {key: _plainly(value) for key, value in (error.get("ctx") or {}).items()}
    if error["type"] == "value_error":
        reason = str(context.get("error", error["msg"]))
        if any("\u4e00" <= character <= "\u9fff" for character in reason):
            return f"设置不对：{reason}。请改正后再启动。"
        return f'设置 {name} 的格式不对，列表请写成 a,b 或 ["a", "b"]。请改正后再启动。'
    reason = _REASONS.get(error["type"], "格式不对").format_map(_Context(context))
    return f"设置 {name} 的值不对：{reason}。请改正后再启动。"


def _plainly(value: Any) -> Any:
    """Format a bound or a list of choices for people: `1` for 1.0, `a、b` for pydantic's "'a' or 'b'"."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return re.sub(r"', '|' or '", "、", value).strip("'") if isinstance(value, str) else value


class _Context(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "规定的值"
