"""Pictures through QQ without any model: a screenshot as a question, and a picture that was sent as a file."""

import pytest

from services.pictures.ocr import is_installed
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.services.pictures.drawings import drawn

GROUP, MEMBER = 777, 10002
MANUAL = (
    "# 集群排错\n\n## CrashLoopBackOff\n\n出现 CrashLoopBackOff 时，先看 kubectl logs，多半是配置里少了 DB_HOST。\n\n"
    "## ImagePullBackOff\n\n出现 ImagePullBackOff 时，检查镜像名和 imagePullSecrets。\n"
)

pytestmark = pytest.mark.skipif(not is_installed(), reason="rapidocr is optional: make ocr")


async def test_a_screenshot_is_answered_and_a_picture_file_is_found(
    bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    bot = await bot_factory(LLM__API_KEY="")
    client = await client_factory(bot)
    await client.upload_group_file(GROUP, MEMBER, "排错.md", MANUAL.encode())
    await client.wait_sent("已入库", timeout=20)
    screenshot = drawn("$ kubectl get pods", "payment-api-7d9f   0/1   CrashLoopBackOff   17", dark=True)
    asked = await client.group_message(GROUP, MEMBER, [client.image("a.png", screenshot)], at_bot=True)
    answer = await client.wait_sent("DB_HOST", timeout=60)
    assert answer.reply_id == asked
    assert "〔1〕排错.md" in answer.text

    notice = drawn("关于机房停电检修的通知", "五月六日晚十点至次日六点机房停电，请提前保存数据。")
    await client.upload_group_file(GROUP, MEMBER, "通知.png", notice)
    await client.wait_sent("「通知.png」已入库", timeout=60)
    await client.group_message(GROUP, MEMBER, "机房什么时候停电检修", at_bot=True)
    assert "五月六日晚十点" in (await client.wait_sent("通知.png", timeout=20)).text
