"""Tests of what the operator reads at start."""

from nonebot import get_plugin

from services.settings import Settings


def test_everything_one_needs_is_named(loaded: Settings) -> None:
    plugin = get_plugin("announcement")
    assert plugin is not None
    text = plugin.module.announcement()
    assert text.endswith("\n")
    for told in (
        "试用网页　　没有打开（SANDBOX__ENABLED）",
        f"接入地址　　ws://{loaded.local_address}/onebot/v11/ws（没有设置令牌，只接受本机的连接）",
        f"大模型　　　{loaded.llm.model}",
        f"数据目录　　{loaded.data_dir}",
    ):
        assert told in text
    assert loaded.llm.api_key.get_secret_value() not in text
