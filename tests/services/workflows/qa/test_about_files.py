"""Questions about the files are answered from the catalogue, for one collection only, and remembered."""

import doctest
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import pytest

from services.database import Database, open_database, sqlite_url
from services.errors import SearchIndexError
from services.faq.service import FaqService
from services.grounding.models import Answer, AnswerKind, SourceStatus
from services.knowledge.catalogue import Catalogue
from services.knowledge.models import DocumentEntry
from services.memory.order import SessionOrder
from services.memory.service import MemoryService
from services.memory.turns import Turns
from services.prompts import load_prompts
from services.rag import NOTHING_MARK, RagChain
from services.records.conversations import ConversationRecords
from services.records.faq import FaqRecords
from services.records.traces import TraceRecords
from services.retrieval.models import Question
from services.session import KnowledgeCollection
from services.settings import MemorySettings, TraceSettings
from services.tracing.service import TraceService
from services.workflows.qa import file_answers
from services.workflows.qa.about_files import AboutFiles
from services.workflows.qa.analysis import QuestionAnalyser
from services.workflows.qa.file_answers import days_of
from services.workflows.qa.file_asks import Period
from services.workflows.qa.service import QuestionAnswering
from tests.fakes.chat import Reply, ScriptedChatModel, chat_model
from tests.services.retrieval.library import Library

GROUP, OTHER, SESSION = KnowledgeCollection("group_1"), KnowledgeCollection("group_2"), "group_1_2"
HANDBOOK = ["考勤从九点到十八点。迟到三次扣一天工资。", "请假三天以上要部门负责人批准〔7〕。"]


async def _card(entry: DocumentEntry) -> str:
    return f"小李（{entry.uploader_id}）"


@dataclass
class World:
    """A group with three files, and another group with one."""

    database: Database
    library: Library
    conversations: ConversationRecords
    model: ScriptedChatModel = field(default_factory=ScriptedChatModel)

    def answering(self, reply: Reply | None = None) -> QuestionAnswering:
        """Return the service as the container builds it, with a model if there is a reply."""
        self.model = ScriptedChatModel(reply=reply)
        model = chat_model(self.model) if reply is not None else None
        prompts, order = load_prompts(), SessionOrder()
        memory = MemoryService(self.conversations, MemorySettings.model_validate({}), model, prompts.summary, order)
        retriever = self.library.retriever
        return QuestionAnswering(
            retriever,
            RagChain(model, prompts) if model else None,
            QuestionAnalyser(model, prompts.analyse) if model else None,
            Turns(self.conversations, order),
            memory,
            TraceService(TraceRecords(self.database), TraceSettings.model_construct()),
            AboutFiles(Catalogue(self.library.records, self.library.index), retriever, memory),
            FaqService(FaqRecords(self.database), self.library.records, self.library.model),
        )

    async def ask(self, text: str, quoted: str = "", reply: Reply | None = None) -> Answer:
        """Ask in the group and return the answer."""
        return await self.answering(reply).ask(SESSION, 2, GROUP, Question(text, quoted), _card)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    database = await open_database(sqlite_url(tmp_path / "app.sqlite3"))
    library = Library(database)
    await library.add(GROUP.name, "员工手册.pdf", HANDBOOK, page=3, heading="第一章 考勤")
    await library.add(GROUP.name, "3月值班表.xlsx", ["周三 | 李强"])
    await library.add(GROUP.name, "4月值班表.xlsx", ["周四 | 赵敏"])
    await library.add(OTHER.name, "机密方案.docx", ["考勤由总部决定。"])
    yield World(database, library, ConversationRecords(database))
    await database.close()


@pytest.mark.parametrize("reply", [None, "不该问模型。"])
async def test_the_list_names_the_files_of_this_group_only(world: World, reply: str | None) -> None:
    answer = await world.ask("群里有哪些文件呀", reply=reply)
    assert answer.text.split("\n")[0] == "现在有 3 个文件："
    assert all(name in answer.text for name in ("1. 员工手册.pdf（1 字节，", "3月值班表.xlsx", "4月值班表.xlsx"))
    assert "机密方案" not in answer.text
    assert world.library.index.search_count == 0
    # The exchange is remembered like any other.
    history = [record.message.text for record in await world.conversations.history(SESSION)]
    assert history == ["群里有哪些文件呀", answer.text]


async def test_a_kind_of_file_is_listed_alone(world: World) -> None:
    answer = await world.ask("群文件里有几个表 都是啥")
    assert answer.text.startswith("表格有 2 个：")
    assert "员工手册" not in answer.text
    assert (await world.ask("群里都有哪些法规")).text.startswith("现在有 3 个文件：")


async def test_a_kind_that_no_file_has_is_said_so(world: World) -> None:
    assert (await world.ask("有没有ppt")).text == "PPT 文件一个也没有。现在有 3 个文件，发 /kb list 看全部。"
    assert (await world.ask("哪些是pdf")).text.startswith("PDF 文件有 1 个：\n1. 员工手册.pdf")


async def test_the_largest_and_the_longest_file(world: World) -> None:
    assert (await world.ask("哪个文件最长")).text.startswith("最长的文件是「员工手册.pdf」（1 字节，2 块，")
    assert (await world.ask("最早传的文件是哪个")).text.startswith("最早的文件是「员工手册.pdf」（1 字节，20")


async def test_who_sent_most_files(world: World) -> None:
    assert (await world.ask("谁传的文件最多呀")).text == "传得最多的是小李（2）（3 个）。"


@pytest.mark.parametrize("reply", [None, NOTHING_MARK])
async def test_an_overview_tells_what_each_file_of_this_group_is_about(world: World, reply: str | None) -> None:
    answer = await world.ask("这些文件都讲了什么", reply=reply)
    assert answer.text == (
        "3 个文件大致是：\n"
        "1. 员工手册.pdf：考勤从九点到十八点。迟到三次扣一天工资。〔1〕\n"
        "2. 3月值班表.xlsx：周三、李强〔2〕\n"
        "3. 4月值班表.xlsx：周四、赵敏〔3〕"
    )
    assert [source.place for source in answer.sources] == ["员工手册.pdf", "3月值班表.xlsx", "4月值班表.xlsx"]
    for number in range(8):
        await world.library.add(GROUP.name, f"讲义{number}.md", [f"第{number}讲"])
    lines = (await world.ask("总结一下所有文件")).text.split("\n")
    assert (lines[0], lines[-1], len(lines)) == (
        "11 个文件里，最近的 8 个大致是：",
        "另外有员工手册.pdf、3月值班表.xlsx、4月值班表.xlsx。",
        10,
    )


async def test_what_a_text_may_answer_is_searched_before_the_files_are_listed(world: World) -> None:
    assert (await world.ask("学习资料有哪些")).text.startswith("现在有 3 个文件：")
    await world.library.add(GROUP.name, "开班须知.txt", ["学习资料有教材、习题册和实验手册。"])
    assert "习题册" in (await world.ask("学习资料有哪些")).text
    # A model that finds nothing in the passages does not hide the files either.
    assert (await world.ask("学习资料有哪些", reply=NOTHING_MARK)).text.startswith("现在有 4 个文件：")


async def test_a_long_list_is_counted(world: World) -> None:
    for number in range(20):
        await world.library.add(GROUP.name, f"讲义{number}.md", [f"第{number}讲"])
    lines = (await world.ask("有哪些文件")).text.split("\n")
    assert (lines[0], lines[-1], len(lines)) == ("现在有 23 个文件：", "还有 3 个，发 /kb list 看全部。", 22)


async def test_an_outline_cites_the_document(world: World) -> None:
    answering = world.answering()
    answer = await answering.ask(SESSION, 2, GROUP, Question("员工手册讲了什么"))
    assert answer.kind is AnswerKind.EXCERPT
    # What looks like a citation in a file is not one of ours.
    assert answer.text == (
        "「员工手册.pdf」共 3 页，大致内容〔1〕：\n"
        "1. 第一章 考勤（第3页）：考勤从九点到十八点。迟到三次扣一天工资。\n"
        "2. 请假三天以上要部门负责人批准[7]。（第3页）"
    )
    assert [(source.number, source.place) for source in answer.sources] == [(1, "员工手册.pdf")]
    assert world.library.index.search_count == 0
    passage = await answering.source(SESSION, GROUP, 1)
    assert passage.status is SourceStatus.FOUND
    assert passage.reference is not None
    assert passage.reference.text == HANDBOOK[0]


async def test_a_model_summarises_what_the_document_says(world: World) -> None:
    answer = await world.ask("总结一下员工手册", reply="讲考勤：迟到三次扣一天工资[1]，三天以上的假要批准[2]。")
    assert answer.kind is AnswerKind.WRITTEN
    assert answer.text == "讲考勤：迟到三次扣一天工资〔1〕，三天以上的假要批准〔2〕。"
    assert [source.place for source in answer.sources] == ["员工手册.pdf 第3页"] * 2


@pytest.mark.parametrize(
    ("reply", "notice"),
    [
        (RuntimeError("down"), "模型的回答读不懂，请稍后再问。（QZ-M01）"),
        (NOTHING_MARK, ""),
        ("这本手册讲了很多。", ""),
    ],
)
async def test_the_outline_stands_in_for_a_useless_summary(world: World, reply: Reply, notice: str) -> None:
    answer = await world.ask("总结一下员工手册", reply=reply)
    assert answer.text.startswith("「员工手册.pdf」")
    assert (answer.kind, answer.notice) == (AnswerKind.EXCERPT, notice)


async def test_a_long_document_is_given_to_the_model_within_a_budget(world: World) -> None:
    await world.library.add(GROUP.name, "年报.pdf", [f"第{number}段：" + "收入" * 400 for number in range(40)])
    await world.ask("年报.pdf 讲了什么", reply="收入很多[1]。")
    (prompt,) = world.model.prompts
    shown = "\n".join(message.text for message in prompt)
    assert 6000 < 2 * shown.count("收入") <= 8000
    # What is shown is spread over the whole document.
    assert "第0段" in shown
    assert any(f"第{number}段" in shown for number in range(33, 40))
    assert len((await world.ask("年报.pdf 讲了什么")).text) < 600


async def test_the_uploader_is_told_by_name(world: World) -> None:
    answer = await world.ask("员工手册是谁传的")
    assert answer.text.startswith("「员工手册.pdf」是小李（2）在 20")
    assert answer.text.endswith(" 上传的。")
    # The question goes on about the same file.
    assert (await world.ask("它讲了什么")).text.startswith("「员工手册.pdf」")


async def test_several_files_are_asked_about_and_chosen_by_number(world: World) -> None:
    asked = await world.ask("值班表讲了什么")
    assert asked.text == "名字对得上的文件有 2 个，要哪一个？回复编号就行。\n2. 3月值班表.xlsx\n3. 4月值班表.xlsx"
    assert (await world.ask("3")).text.startswith("「4月值班表.xlsx」")
    # A number alone means nothing later.
    assert not (await world.ask("2")).text.startswith("「3月值班表.xlsx」")
    await world.ask("谁上传的值班表")
    assert (await world.ask("2")).text.startswith("「3月值班表.xlsx」是小李")
    assert (await world.ask("总结第1个文件")).text.startswith("「员工手册.pdf」")


async def test_an_unknown_name_is_told_with_the_nearest(world: World) -> None:
    answer = await world.ask("总结一下员工守则.pdf")
    assert answer.kind is AnswerKind.NOTHING_FOUND
    assert answer.text == "没有找到名字像「员工守则」的文件，最接近的是「员工手册.pdf」。发 /kb list 看全部。"
    assert (await world.ask("总结第9个文件")).text == "没有找到这个编号的文件。发 /kb list 看全部。"
    # The file of another group is unknown here.
    foreign = await world.ask("机密方案.docx 讲了什么")
    assert foreign.text == "没有找到名字像「机密方案」的文件。发 /kb list 看全部。"


async def test_that_file_is_the_quoted_or_cited_or_latest_one(world: World) -> None:
    assert (await world.ask("这个文件讲了什么")).text.startswith("「4月值班表.xlsx」")
    assert (await world.ask("这个文件讲了什么", "「员工手册.pdf」已入库，2 块。")).text.startswith("「员工手册.pdf」")
    cited = await world.ask("迟到三次扣多少工资")
    assert cited.sources[0].place.startswith("员工手册.pdf")
    assert (await world.ask("它主要讲了什么")).text.startswith("「员工手册.pdf」")
    assert (await world.ask("刚才那个文件说了啥")).text.startswith("「4月值班表.xlsx」")
    # Something else that is quoted is no file.
    assert not (await world.ask("它讲了什么", "今天真热")).text.startswith("「")


async def test_recent_files_come_newest_first(world: World) -> None:
    lines = (await world.ask("最近传了啥")).text.split("\n")
    assert lines[0] == "最近收到的文件："
    assert lines[1].startswith("1. 4月值班表.xlsx（")
    assert len(lines) == 4


async def test_files_about_a_topic_are_found_by_name_heading_and_text(world: World) -> None:
    named = await world.ask("有没有值班的文件")
    assert "3月值班表.xlsx〔" in named.text
    assert "员工手册" not in named.text
    headed = await world.ask("有没有讲考勤的文件")
    assert headed.text == "讲到「考勤」的文件：\n1. 员工手册.pdf〔1〕"
    assert [source.place for source in headed.sources] == ["员工手册.pdf 第3页"]
    assert "员工手册.pdf" in (await world.ask("有没有请假相关的文件")).text
    nothing = await world.ask("有没有讲滑雪的文件")
    assert (nothing.kind, nothing.text) == (
        AnswerKind.NOTHING_FOUND,
        "没有找到讲「滑雪」的文件。发 /kb list 看全部。",
    )


async def test_an_empty_base_says_how_to_fill_it(world: World) -> None:
    answer = await world.answering().ask(SESSION, 2, KnowledgeCollection("group_9"), Question("有哪些文件"))
    assert "这里还没有资料" in answer.text


async def test_a_file_that_is_not_read_yet(world: World) -> None:
    await world.library.add(GROUP.name, "新规定.pdf", ["……"], visible=False)
    assert (await world.ask("新规定.pdf 讲了什么")).text == "「新规定.pdf」还在入库，读完再问我。"
    assert "新规定.pdf（1 字节，" in (await world.ask("有哪些文件")).text


async def test_a_failing_index_gives_a_sentence(world: World) -> None:
    world.library.index.fail = True
    answer = await world.ask("员工手册讲了什么")
    assert (answer.kind, answer.text) == (AnswerKind.FAILED, SearchIndexError("资料索引出错了，请稍后再试。").told())


async def test_the_place_in_the_list_names_a_file(world: World) -> None:
    assert "员工手册.pdf" in (await world.ask("第一个文件讲什么")).text
    assert "4月值班表.xlsx" in (await world.ask("第三个文件讲什么")).text
    assert (await world.ask("第四个文件讲什么")).kind is AnswerKind.NOTHING_FOUND


async def test_files_of_a_day(world: World) -> None:
    today, yesterday = await world.ask("今天传了什么"), await world.ask("昨天传了什么")
    assert today.text.startswith("今天收到 3 个文件：") and "机密" not in today.text
    assert yesterday.text.startswith("昨天没有收到文件。最近的是「")


async def test_the_size_of_all_files(world: World) -> None:
    answer = await world.ask("文件总共多大")
    assert answer.text.startswith("3 个文件一共 ")


async def test_a_summary_of_a_missing_file_names_the_nearest(world: World) -> None:
    answer = await world.ask("总结一下员工方案")
    assert answer.kind is AnswerKind.NOTHING_FOUND
    assert answer.text.startswith("没有找到名字像「员工方案」的文件")


def test_the_days_of_a_period() -> None:
    assert doctest.testmod(file_answers).failed == 0
    sunday = date(2026, 11, 1)
    assert days_of(Period.THIS_WEEK, sunday) == (date(2026, 10, 26), sunday)
    assert days_of(Period.THIS_MONTH, sunday) == (sunday, sunday)
