"""Tests of the page in a real browser with the real bot."""

import asyncio
import struct
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.bot_process import BotProcess
from tests.e2e.browser import drop, launched, serious_findings, visited
from tests.e2e.conftest import BotFactory, ClientFactory
from tests.samples.documents import lines_pdf

RULES = "宿舍每晚十一点熄灯，周末推迟到十二点。"
WAIT_MS = 30_000


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
async def bot(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[BotProcess]:
    assert browser.is_connected()
    settings = {
        "LLM__API_KEY": "",
        "SEND__GROUP_INTERVAL_S": "0",
        "SEND__PER_MINUTE": "0",
        "BUDGET__MEMBER_QUESTIONS_PER_MINUTE": "0",
    }
    async with BotProcess(tmp_path_factory.mktemp("page"), settings) as bot:
        yield bot


@pytest.fixture
def address(bot: BotProcess) -> str:
    return f"http://127.0.0.1:{bot.port}/"


CHATS = {
    "高等数学课程群": "g900000000101",
    "青禾读书社": "g900000000102",
    "开源项目交流群": "g900000000103",
    "陈助教": "p900000000002",
}


async def _open_chat(page: Page, name: str) -> None:
    # A phone shows either the conversation or the list.
    if await page.get_by_role("button", name="返回列表").is_visible():
        await page.get_by_role("button", name="返回列表").click()
    # Select the button by its id, because its name contains the last message of the chat.
    await page.locator(f'[data-chat-id="{CHATS[name]}"]').click()
    await expect(page.get_by_role("heading", name=name)).to_be_visible()


async def _say(page: Page, text: str) -> None:
    await page.get_by_role("textbox", name="消息", exact=True).fill(text)
    await page.get_by_role("textbox", name="消息", exact=True).press("Enter")


async def test_drop_ask_and_look_elsewhere(browser: Browser, address: str, tmp_path: Path) -> None:
    content = lines_pdf(tmp_path / "a.pdf", [["目录"], [RULES]]).read_bytes()
    async with visited(browser, address) as page:
        await _open_chat(page, "高等数学课程群")
        await drop(page, "夜间规定.pdf", content)
        log = page.get_by_role("main")
        await expect(log.get_by_text("「夜间规定.pdf」已入库")).to_be_visible(timeout=WAIT_MS)
        await expect(page.locator('[data-document-name="夜间规定.pdf"]')).to_contain_text("已入库", timeout=WAIT_MS)
        await _say(page, "宿舍几点熄灯？")
        await expect(log.get_by_text("〔1〕夜间规定.pdf 第2页")).to_be_visible(timeout=WAIT_MS)
        evidence = page.get_by_role("complementary")
        await page.get_by_role("tab", name="最近回答").click()
        await expect(evidence.get_by_text("会回答")).to_be_visible(timeout=WAIT_MS)
        await expect(evidence).to_contain_text("十一点熄灯")

        await _open_chat(page, "青禾读书社")
        await expect(evidence).not_to_contain_text("夜间规定")
        await _say(page, "宿舍几点熄灯？")
        await expect(log.get_by_text("知识库是空的").or_(log.get_by_text("没有"))).to_be_visible(timeout=WAIT_MS)
        await expect(log).not_to_contain_text("夜间规定")
        await expect(log).not_to_contain_text("十一点")
        await page.get_by_role("tab", name="资料").click()
        await expect(page.locator("[data-document-name]")).to_have_count(0)


async def test_what_is_said_is_shown_as_written(browser: Browser, address: str) -> None:
    markup = '<img src=x onerror="document.title=1"> <script>document.title=2</script> [CQ:at,qq=all] &lt;b&gt;'
    async with visited(browser, address) as page:
        await _open_chat(page, "开源项目交流群")
        title = await page.title()
        await page.get_by_role("checkbox", name="@群知").uncheck(force=True)
        await _say(page, markup)
        await expect(page.get_by_role("main").get_by_text(markup, exact=True)).to_be_visible(timeout=WAIT_MS)
        assert await page.locator('img[src="x"]').count() == 0
        assert await page.title() == title
        # The message is still there after the page is reloaded and the language is changed.
        await page.reload()
        await _open_chat(page, "开源项目交流群")
        await page.get_by_role("button", name="设置").click()
        await page.get_by_role("radio", name="English").check()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Make trouble")).to_be_visible()
        await expect(page.get_by_text(markup, exact=True)).to_be_visible()


async def test_by_keyboard_picture_reply_and_recall(browser: Browser, address: str) -> None:
    async with visited(browser, address) as page:
        await _open_chat(page, "开源项目交流群")
        await page.keyboard.press("Alt+ArrowUp")
        await expect(page.get_by_role("heading", name="青禾读书社")).to_be_visible()
        box = page.get_by_role("textbox", name="消息", exact=True)
        await box.evaluate(
            """(box, bytes) => {
                const transfer = new DataTransfer();
                transfer.items.add(new File([new Uint8Array(bytes)], "图.png", {type: "image/png"}));
                box.dispatchEvent(new ClipboardEvent("paste", {clipboardData: transfer, bubbles: true}));
            }""",
            list(_png()),
        )
        # Nobody asks the bot, so only the actions of people are visible.
        await page.get_by_role("checkbox", name="@群知").uncheck(force=True)
        await _say(page, "看这张图")
        first = page.locator("[data-message-id]").filter(has_text="看这张图")
        await expect(first.locator("img")).to_be_visible(timeout=WAIT_MS)
        assert await first.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 2
        message_id = await first.get_attribute("data-message-id")
        shown = page.locator(f'[data-message-id="{message_id}"]')

        await page.get_by_role("combobox", name="以谁的身份").select_option(label="陈助教（管理员）")
        await shown.hover()
        await shown.get_by_role("button", name="回复", exact=True).click()
        await _say(page, "收到")
        reply = page.locator("[data-message-id].mine").filter(has_text="收到")
        await expect(reply).to_contain_text("看这张图", timeout=WAIT_MS)
        # An admin recalls a member's message, and nobody sees it any more.
        await shown.hover()
        await shown.get_by_role("button", name="撤回").click()
        await expect(page.get_by_text("陈助教 撤回了 小林 的一条消息")).to_be_visible(timeout=WAIT_MS)
        await expect(reply).not_to_contain_text("看这张图")


def _png() -> bytes:
    """Return an image of two by two pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0\xff\0\0\0\xff\0" * 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def test_first_visit_by_clicking_alone(browser: Browser, bot_factory: BotFactory) -> None:
    bot = await bot_factory(LLM__API_KEY="")
    async with visited(browser, f"http://127.0.0.1:{bot.port}/") as page:
        questions = page.get_by_role("group", name="试着问").get_by_role("button")
        await expect(questions.first).to_be_disabled()
        await page.get_by_role("button", name="把三份示例资料发进群").click()
        log = page.get_by_role("list", name="聊天记录")
        for source in ("高等数学课程说明.pdf 第2页", "社团经费报销办法.docx", "机房使用常见问题.md"):
            question = {"高": "期中考试", "社": "要报销", "机": "几点关门"}[source[0]]
            await page.get_by_role("button", name=question).click(timeout=WAIT_MS)
            await expect(log.get_by_text(f"〔1〕{source}")).to_be_visible(timeout=WAIT_MS)
        await page.get_by_role("button", name="校车几点发车").click()
        await expect(log.get_by_text("资料里没有找到相关内容")).to_be_visible(timeout=WAIT_MS)
        await expect(page.get_by_role("complementary")).to_contain_text("不会回答")


async def test_troubles_are_made_shown_and_ended(browser: Browser, address: str) -> None:
    async with visited(browser, address) as page:
        await page.get_by_role("button", name="制造麻烦").click()
        # The box is ticked once the server has confirmed it.
        await page.get_by_role("checkbox", name="发送失败").click()
        await expect(page.get_by_role("checkbox", name="发送失败")).to_be_checked(timeout=WAIT_MS)
        await page.keyboard.press("Escape")
        await _open_chat(page, "陈助教")
        await _say(page, "/help")
        await page.get_by_role("tab", name="接口").click()
        await expect(page.get_by_role("tabpanel")).to_contain_text("1200", timeout=WAIT_MS)
        await page.get_by_role("button", name="全部结束").click()
        await expect(page.get_by_text("正在模拟")).to_have_count(0, timeout=WAIT_MS)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
async def test_nothing_serious_stands_in_anybodys_way(
    browser: Browser, address: str, theme: Literal["light", "dark"], width: int, tmp_path: Path
) -> None:
    async with visited(browser, address, width=width, theme=theme) as page:
        await expect(page.get_by_role("textbox", name="消息", exact=True)).to_be_visible(timeout=WAIT_MS)
        if width == 390:
            await page.get_by_role("button", name="返回列表").click()
        await expect(page.get_by_role("navigation")).to_be_visible(timeout=WAIT_MS)
        assert await serious_findings(page) == []
        for menu in ("制造麻烦", "对话", "设置"):
            await page.get_by_role("button", name=menu, exact=True).click()
            assert await serious_findings(page) == [], menu
            await page.keyboard.press("Escape")
        await _open_chat(page, "高等数学课程群")
        content = lines_pdf(tmp_path / "a.pdf", [[RULES]]).read_bytes()
        await drop(page, f"规定{theme}{width}.pdf", content)
        await expect(page.get_by_text(f"「规定{theme}{width}.pdf」已").first).to_be_visible(timeout=WAIT_MS)
        await _say(page, "几点熄灯？")
        await expect(page.get_by_text("〔1〕").last).to_be_visible(timeout=WAIT_MS)
        assert await serious_findings(page) == []
        if width == 390:
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
            await page.get_by_role("button", name="资料和依据").click()
        for tab in ("资料", "最近回答", "接口"):
            await page.get_by_role("tab", name=tab).click()
            assert await serious_findings(page) == [], tab


async def test_usable_while_a_large_file_is_taken_in(browser: Browser, bot_factory: BotFactory) -> None:
    bot = await bot_factory(LLM__API_KEY="", SEND__GROUP_INTERVAL_S="0", SEND__PER_MINUTE="0")
    paragraph = "".join(f"第{number}条规定了第{number}号仓库的第{number}种货物怎样存放。" for number in range(400))
    large = (paragraph * (10 * 2**20 // len(paragraph.encode()) + 1)).encode()[: 10 * 2**20]
    async with visited(browser, f"http://127.0.0.1:{bot.port}/") as page:
        await _open_chat(page, "高等数学课程群")
        async with page.expect_file_chooser() as chosen:
            await page.get_by_role("button", name="发文件").click()
        await (await chosen.value).set_files([{"name": "仓库.txt", "mimeType": "text/plain", "buffer": large}])
        progress = page.locator('[data-document-name="仓库.txt"]').get_by_role("progressbar")
        await expect(progress).to_be_visible(timeout=WAIT_MS)
        # Meanwhile other people continue: another group sends a file, asks, and is answered.
        await _open_chat(page, "青禾读书社")
        await drop(page, "夜间规定.txt", RULES.encode())
        await expect(page.get_by_role("list", name="聊天记录").get_by_text("「夜间规定.txt」已入库")).to_be_visible(
            timeout=2 * WAIT_MS
        )
        await _say(page, "几点熄灯？")
        await expect(page.get_by_text("〔1〕夜间规定.txt").last).to_be_visible(timeout=WAIT_MS)
        await _open_chat(page, "高等数学课程群")
        await expect(progress).to_be_visible(timeout=WAIT_MS)
        done = float(await progress.get_attribute("value") or 0)
        async with asyncio.timeout(WAIT_MS / 1000):
            while float(await progress.get_attribute("value") or 0) <= done:
                await page.wait_for_timeout(200)


async def test_the_token_lets_in(browser: Browser, bot_factory: BotFactory) -> None:
    bot = await bot_factory(LLM__API_KEY="", HOST="0.0.0.0", SANDBOX__ENABLED="true", SANDBOX__TOKEN="芝麻 开门 芝麻")
    async with visited(browser, f"http://127.0.0.1:{bot.port}/", refused=True) as page:
        assert await serious_findings(page) == []
        await page.get_by_label("口令").fill("错的")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("口令不对")
        await page.goto(f"http://127.0.0.1:{bot.port}/?wait=7")
        await expect(page.get_by_role("alert")).to_have_text("口令试得太多了，请过 7 秒再试。")
        await page.get_by_label("口令").fill("芝麻 开门 芝麻")
        await page.get_by_role("button", name="进入").click()
        await _open_chat(page, "青禾读书社")


async def test_a_phone_opens_on_the_conversation_and_back_leads_to_the_list(browser: Browser, address: str) -> None:
    async with visited(browser, address, width=390) as page:
        await expect(page.get_by_role("textbox", name="消息", exact=True)).to_be_visible(timeout=WAIT_MS)
        await expect(page.get_by_role("navigation")).to_have_count(0)
        for go_back in (page.go_back, page.get_by_role("button", name="返回列表").click):
            await go_back()
            await expect(page.get_by_role("navigation")).to_be_visible(timeout=WAIT_MS)
            await _open_chat(page, "青禾读书社")
            await expect(page.get_by_role("navigation")).to_have_count(0)
        await page.reload()
        await expect(page.get_by_role("textbox", name="消息", exact=True)).to_be_visible(timeout=WAIT_MS)


async def test_one_sign_for_one_chat_or_person_everywhere(browser: Browser, address: str) -> None:
    async with visited(browser, address) as page:
        for name, chat in CHATS.items():
            await _open_chat(page, name)
            listed = page.locator(f'[data-chat-id="{chat}"] .avatar')
            head = page.locator(".chat-head > .avatar")
            assert await listed.get_attribute("class") == await head.get_attribute("class"), name
            assert await listed.inner_text() == await head.inner_text(), name
        # The private chat is the same person as among the members and beside what they say.
        person = await page.locator(f'[data-chat-id="{CHATS["陈助教"]}"] .avatar').get_attribute("class")
        await _open_chat(page, "青禾读书社")
        await page.get_by_role("button", name="群成员").click()
        member = page.locator(".member-list li").filter(has_text="陈助教").locator(".avatar")
        assert await member.get_attribute("class") == person
        await page.keyboard.press("Escape")
        await page.get_by_role("combobox", name="以谁的身份").select_option(label="陈助教（管理员）")
        await page.get_by_role("checkbox", name="@群知").uncheck(force=True)
        await _say(page, "我是助教")
        said = page.locator("[data-message-id].mine").filter(has_text="我是助教").locator(".avatar")
        assert await said.get_attribute("class", timeout=WAIT_MS) == person


HANDBOOK = f"""# 仓库手册

## 钥匙 &lt;img src=x onerror="document.title=1"&gt;

{RULES}

## 库存

| 货物 | 数量 |
|---|---|
| 纸箱 | 159 |
| 胶带 | 47 |

## 清点

{"".join(f"第{number}号货架在第{number}周清点，由第{number}组负责，结果记在第{number}页。" for number in range(900))}
"""


async def test_a_document_opens_and_is_deleted(browser: Browser, address: str) -> None:
    async with visited(browser, address) as page:
        await _open_chat(page, "开源项目交流群")
        await drop(page, "仓库手册.md", HANDBOOK.encode())
        await page.get_by_role("tab", name="资料").click()
        title = await page.title()
        await page.get_by_role("complementary").get_by_role("button", name="仓库手册.md").click(timeout=WAIT_MS)
        document = page.get_by_role("article", name="仓库手册.md")
        await expect(document).to_contain_text(RULES, timeout=WAIT_MS)
        # Markup in a document is text, and a table is a table.
        await expect(document.get_by_text("<img src=x onerror=")).to_be_visible()
        assert await page.locator('img[src="x"]').count() == 0
        assert await page.title() == title
        table = document.get_by_role("table").first
        assert await table.locator("tr").nth(1).locator("td").all_inner_texts() == ["纸箱", "159"]
        await page.get_by_role("radio", name="分块").check()
        await expect(document.locator("#passage-0")).to_be_visible()
        # A long document has pages, and the outline leads to the right one.
        await document.get_by_role("button", name="下一页").click()
        await expect(document.locator("#passage-50")).to_be_visible(timeout=WAIT_MS)
        await document.get_by_text("大纲").click()
        await document.get_by_role("button", name="仓库手册", exact=True).click()
        await expect(document.get_by_role("table").first).to_be_visible(timeout=WAIT_MS)
        assert await serious_findings(page) == []

        await document.get_by_role("button", name="删除这个文件").click()
        await document.get_by_role("button", name="取消").click()
        await document.get_by_role("button", name="删除这个文件").click()
        await document.get_by_role("button", name="删除", exact=True).click()
        # The open document hides the list, so only the empty list shows that the deletion has happened.
        await expect(page.get_by_text("还没有资料。把文件拖进对话")).to_be_visible(timeout=WAIT_MS)
        await _say(page, "/kb list")
        await expect(page.get_by_role("main").get_by_text("知识库是空的，把文件")).to_be_visible(timeout=WAIT_MS)


async def test_the_operator_sees_the_documents_of_real_groups(
    browser: Browser, bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    token = "the-operators-own-token"
    bot = await bot_factory(LLM__API_KEY="", HTTP__TOKEN=token, SANDBOX__ENABLED="false")
    client = await client_factory(bot)
    client.world.add_group(777, "仓库管理群")
    await client.upload_group_file(777, 10002, "仓库手册.md", HANDBOOK.encode())
    await client.wait_sent("「仓库手册.md」已入库", timeout=40)
    await client.upload_private_file(10002, "私事.md", RULES.encode())
    await client.wait_sent("「私事.md」已入库", timeout=40)
    async with visited(browser, f"http://127.0.0.1:{bot.port}/operator", refused=True) as page:
        await page.get_by_label("口令").fill("wrong-token-wrong-token")
        await page.get_by_role("button", name="进入").click()
        await expect(page.get_by_role("alert")).to_contain_text("口令不对")
        assert await serious_findings(page) == []
        await page.get_by_label("口令").fill(token)
        await page.get_by_role("button", name="进入").click()
        await expect(page.get_by_role("button", name="仓库管理群")).to_be_visible(timeout=WAIT_MS)
        await page.get_by_role("button", name="仓库手册.md").click()
        document = page.get_by_role("article", name="仓库手册.md")
        await expect(document).to_contain_text(RULES, timeout=WAIT_MS)
        assert await serious_findings(page) == []
        # A new version came meanwhile: what was looked at is not what would be deleted.
        await client.upload_group_file(777, 10002, "仓库手册.md", RULES.encode())
        await client.wait_sent("已更新为第 2 版", timeout=40)
        await document.get_by_role("button", name="删除这个文件").click()
        await document.get_by_role("button", name="删除", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("没有删除")
        await page.get_by_role("button", name="返回资料列表").click()
        await page.get_by_role("button", name="仓库手册.md").click()
        await document.get_by_role("button", name="删除这个文件").click()
        await document.get_by_role("button", name="删除", exact=True).click()
        await expect(page.get_by_text("这个群还没有资料。")).to_be_visible(timeout=WAIT_MS)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{bot.port}", trust_env=False) as http:
        groups = (await http.get("/operator/api/groups", headers=headers)).json()["groups"]
        assert [group["id"] for group in groups] == ["group_777"], "private chats are left out"
        for name in ("documents", "document", "passages", "statistics"):
            query = {"group": "private_10002", "number": "1", "from": "0", "page": "1", "days": "7"}
            answer = await http.get(f"/operator/api/{name}", params=query, headers=headers)
            assert answer.json()["code"] == "unknown_group", name
            assert (await http.get(f"/operator/api/{name}", params=query)).status_code == 401, name
        assert (await http.post("/operator/api/deletion", params={"group": "group_777"})).status_code == 401


async def test_the_operator_sees_the_statistics_of_a_group(
    browser: Browser, bot_factory: BotFactory, client_factory: ClientFactory
) -> None:
    token = "the-operators-own-token"
    bot = await bot_factory(LLM__API_KEY="", HTTP__TOKEN=token, SANDBOX__ENABLED="false")
    client = await client_factory(bot)
    client.world.add_group(777, "仓库管理群")
    client.world.add_group(778, "别的群")
    for group in (777, 778):
        await client.upload_group_file(group, 10002, "仓库手册.md", HANDBOOK.encode())
        await client.wait_sent("「仓库手册.md」已入库", timeout=90)
    await client.group_message(777, 10002, "/ask 食堂的菜单是什么")
    await client.wait_sent("没有找到", timeout=40)
    async with visited(browser, f"http://127.0.0.1:{bot.port}/operator", refused=True) as page:
        await page.get_by_label("口令").fill(token)
        await page.get_by_role("button", name="进入").click()
        await page.get_by_role("button", name="仓库管理群").click()
        await page.get_by_role("button", name="统计").click()
        figures = page.get_by_role("region", name="统计")
        await expect(figures).to_contain_text("食堂的菜单是什么", timeout=WAIT_MS)
        await expect(figures).to_contain_text("没引用过的文件（1 个）")
        assert await serious_findings(page) == []
        # Nothing of it shows in another group.
        await page.get_by_role("button", name="别的群").click()
        await expect(figures).to_contain_text("没引用过的文件（1 个）", timeout=WAIT_MS)
        await expect(figures).not_to_contain_text("食堂的菜单是什么")


async def test_without_the_token_there_is_no_operators_page(bot_factory: BotFactory) -> None:
    bot = await bot_factory(LLM__API_KEY="")
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{bot.port}", trust_env=False) as http:
        for path in ("/operator", "/operator/static/operator.js", "/operator/api/groups"):
            assert (await http.get(path)).status_code == 404, path
        # The local page opens documents of its own chats only.
        for chat in ("g777", "x", ""):
            answer = await http.get("/sandbox/library/document", params={"chat": chat, "number": "1"})
            assert (answer.status_code, answer.json()["code"]) == (400, "bad_request"), chat
