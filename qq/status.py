"""The state of the whole bot, as /bot status and GET /status show it."""

import platform
import shutil
import time
import tomllib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from nonebot import get_bots

from qq.depends import outbox, services, settings, started_at
from qq.reports.usage import usage_text
from services.budgets.model import ModelUsage
from services.text.sizes import size_text

_PACKAGES = ("nonebot2", "nonebot-adapter-onebot", "langchain-core", "chromadb")


@dataclass(frozen=True, slots=True)
class BotStatus:
    """The state of the bot. Times are in seconds, sizes in bytes.

    `model` is empty without a language model; `model_usage` is that of all chats today. `degraded` says why the
    embedding model is a weaker one, or is empty.
    """

    uptime_s: int
    accounts: list[str]
    messages_waiting: int
    files_building: int
    model: str
    model_usage: ModelUsage
    embedding: str
    degraded: str
    reranker: str
    disk_free_bytes: int
    disk_total_bytes: int
    version: str
    python: str
    packages: dict[str, str]


def bot_status() -> BotStatus:
    """Return the present state. Read a few small files, so call it in a thread."""
    usage = shutil.disk_usage(settings().data_dir)
    opened = services()
    return BotStatus(
        uptime_s=int(time.monotonic() - started_at),
        accounts=sorted(get_bots()),
        messages_waiting=outbox.waiting,
        files_building=opened.knowledge.building_count,
        model=opened.model_name,
        model_usage=opened.model_budget.today().total,
        embedding=opened.embedding.description,
        degraded=opened.embedding.degraded,
        reranker=opened.reranker_name,
        disk_free_bytes=usage.free,
        disk_total_bytes=usage.total,
        version=version_of_bot(),
        python=platform.python_version(),
        packages={name: version(name) for name in _PACKAGES},
    )


def status_text(status: BotStatus) -> str:
    """Return the state in lines that fit on one phone screen."""
    minutes = status.uptime_s // 60
    return "\n".join(
        (
            f"运行：{minutes // 1440} 天 {minutes // 60 % 24} 小时 {minutes % 60} 分",
            f"在线账号：{'、'.join(status.accounts) or '无'}",
            f"排队：待发 {status.messages_waiting} 条，入库中 {status.files_building} 个文件",
            f"模型：{status.model or '未配置，只摘录原文'}",
            *((usage_text(status.model_usage),) if status.model else ()),
            f"向量：{status.embedding}",
            f"重排：{status.reranker}",
            *((status.degraded,) if status.degraded else ()),
            f"磁盘：剩余 {size_text(status.disk_free_bytes)}，共 {size_text(status.disk_total_bytes)}",
            f"版本：群知 {status.version}，Python {status.python}",
            "，".join(f"{name} {number}" for name, number in status.packages.items()),
        )
    )


def version_of_bot() -> str:
    """Return the version from pyproject.toml, the only place that states it."""
    content = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    return content["project"]["version"]
