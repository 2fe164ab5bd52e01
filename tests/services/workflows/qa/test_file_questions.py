"""Questions about files are recognised in many wordings, and questions about their content never are."""

import time
from dataclasses import dataclass

import pytest

from services.knowledge.names import best_named
from services.retrieval.models import Question
from services.workflows.qa.file_asks import Extreme, FileAsk, FileKind, Period, Pointing
from services.workflows.qa.file_questions import recognise


@dataclass(frozen=True)
class _Document:
    name: str


DOCUMENTS = [
    _Document(name)
    for name in (
        "2024级新生手册.pdf",
        "大学生创新创业训练计划管理办法.docx",
        "校历2024-2025.pdf",
        "奖学金评定细则（试行）.docx",
        "食堂菜单.xlsx",
        "实验室安全培训.pptx",
        "运动会总结.docx",
        "社团报名表.xlsx",
        "选课指南v2.md",
        "第3讲 概率论基础.pptx",
        "第4讲 随机变量.pptx",
        "Kubernetes-deploy-guide.md",
        "kubernetes-faq.md",
        "README.md",
        "宿舍管理规定.pdf",
        "report_2023.csv",
        "毕业设计任务书模板.docx",
        "3月值班表.xlsx",
        "4月值班表.xlsx",
        "工资表.xlsx",
        "学生请假制度.pdf",
        "图书馆.md",
    )
]


_WORDINGS = {
    FileAsk.LIST: (
        "有哪些文件",
        "都有啥资料呀",
        "群里传过什么",
        "群里传过什么文件吗",
        "文件清单",
        "你这里有什么资料？",
        "你都有什么文件",
        "资料库里有啥",
        "知识库有哪些内容",
        "群文件有哪些",
        "发一下文件列表",
        "把所有文件列一下",
        "现在能查哪些资料",
        "能查到什么资料",
        "一共有多少个文件",
        "你看过哪些文件",
        "what files do you have",
        "What documents are there?",
        "list all files please",
        "how many files are there",
        "大家好，请问群里有哪些资料？",
        "總共有哪些檔案",
        "群里有哪些制度",
        "一共多少个文件",
        "库里有多少文件",
        "你们这儿都存了哪些文档",
        "列一下所有文件",
        "把文件清单发一下",
        "都有什么文档呀",
        "我想找手册，有吗",
        "群里有哪些学习资料",
    ),
    FileAsk.RECENT: (
        "最近更新了什么",
        "最近传了啥",
        "新文件",
        "有什么新文件吗",
        "今天传了什么文件",
        "最近有新资料吗",
        "最新的文件是哪个",
        "any new files?",
        "what files were uploaded recently",
        "最近群里上传了哪些文件",
        "今天有人传文件吗",
        "昨天传的文件有哪些",
        "这周更新了什么文件",
        "哪个文件是最新的",
    ),
    FileAsk.FIND: (
        "有没有关于请假的文件",
        "有讲选课的资料吗",
        "有没有kubernetes的文档",
        "找一下奖学金的文件",
        "有没有宿舍相关的资料",
        "is there a document about scholarships",
        "do you have any docs on kubernetes",
        "哪个文件讲了奖学金",
        "关于奖学金的文件有哪些",
        "停电的事在哪个文件里",
        "哪份文件里有请假流程",
        "奖学金的规定写在哪个文件里",
        "which file covers deployment",
    ),
    FileAsk.KIND: (
        "有几个pdf",
        "有多少个表格",
        "哪些是word",
        "有没有ppt",
        "有几个excel文件",
        "pdf都有哪些",
        "列一下pdf",
        "文件里哪些是ppt",
        "列出所有pdf",
        "群里有几个表 都是啥",
        "how many pdfs do you have",
        "which files are pdfs",
    ),
    FileAsk.EXTREME: (
        "最大的文件是哪个",
        "最小的文件是哪个",
        "哪个文件最长",
        "最小的是哪个文件",
        "体积最大的文件",
        "群里最早的文件是哪个",
        "what is the largest file",
        "which file is the oldest",
    ),
    FileAsk.SENDERS: (
        "谁传的最多",
        "谁发的文件最多",
        "传文件最多的是谁",
    ),
    FileAsk.OVERVIEW: (
        "总结一下所有文件",
        "这些文件都讲了些啥",
        "群文件都讲了什么",
        "都讲了些啥",
        "把每个文件概括一下",
        "所有文件的主要内容",
        "summarise all files",
    ),
}


@pytest.mark.parametrize(("ask", "text"), [(ask, text) for ask, texts in _WORDINGS.items() for text in texts])
def test_questions_about_several_files(ask: FileAsk, text: str) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert asked.ask is ask


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("有几个pdf", FileKind.PDF),
        ("哪些是word", FileKind.WORD),
        ("有没有幻灯片", FileKind.SLIDES),
        ("有几个excel表格", FileKind.SHEET),
        ("有多少个md", FileKind.MARKDOWN),
        ("有几个txt", FileKind.TEXT),
        ("网页文件有哪些", FileKind.WEB),
    ],
)
def test_a_kind_of_file(text: str, kind: FileKind) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert (asked.ask, asked.kind, asked.certain) == (FileAsk.KIND, kind, True)


@pytest.mark.parametrize(
    ("text", "extreme"),
    [
        ("最大的文件是哪个", Extreme.LARGEST),
        ("哪个文件最小", Extreme.SMALLEST),
        ("哪个文件字数最多", Extreme.LONGEST),
        ("which file is the shortest", Extreme.SHORTEST),
        ("最早传的文件是哪个", Extreme.OLDEST),
    ],
)
def test_the_extreme_of_all_files(text: str, extreme: Extreme) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert asked.extreme is extreme


@pytest.mark.parametrize("text", ["学习资料有哪些", "有哪些参考资料", "有多少个表格"])
def test_words_that_a_text_may_answer_are_searched_first(text: str) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert not asked.certain
    # A file of that name settles it.
    assert text == "有多少个表格" or _certain(text, "学习资料.pdf", "参考资料.pdf")


def _certain(text: str, *names: str) -> bool:
    asked = recognise(Question(text), [_Document(name) for name in names])
    return asked is not None and asked.certain


@pytest.mark.parametrize(
    ("text", "ask", "names"),
    [
        ("总结一下新生手册", FileAsk.SUMMARY, ["2024级新生手册.pdf"]),
        ("帮我总结下选课指南", FileAsk.SUMMARY, ["选课指南v2.md"]),
        ("新生手册讲了什么", FileAsk.SUMMARY, ["2024级新生手册.pdf"]),
        ("校历主要内容是什么", FileAsk.SUMMARY, ["校历2024-2025.pdf"]),
        ("大创的文件讲了啥", FileAsk.SUMMARY, ["大学生创新创业训练计划管理办法.docx"]),
        ("大创那个办法说的什么", FileAsk.SUMMARY, ["大学生创新创业训练计划管理办法.docx"]),
        ("一句话说说实验室安全培训", FileAsk.SUMMARY, ["实验室安全培训.pptx"]),
        ("summarise README.md", FileAsk.SUMMARY, ["README.md"]),
        ("summarize the kubernetes faq", FileAsk.SUMMARY, ["kubernetes-faq.md"]),
        ("what is kubernetes-deploy-guide about?", FileAsk.SUMMARY, ["Kubernetes-deploy-guide.md"]),
        ("what does the README say", FileAsk.SUMMARY, ["README.md"]),
        ("give me a summary of report_2023.csv", FileAsk.SUMMARY, ["report_2023.csv"]),
        ("可以概括一下奖学金评定细则吗", FileAsk.SUMMARY, ["奖学金评定细则（试行）.docx"]),
        ("奖学金细则讲了啥", FileAsk.SUMMARY, ["奖学金评定细则（试行）.docx"]),
        ("奖学金评定细则的主要内容", FileAsk.SUMMARY, ["奖学金评定细则（试行）.docx"]),
        ("第3讲讲了什么", FileAsk.SUMMARY, ["第3讲 概率论基础.pptx"]),
        ("第4讲主要讲啥", FileAsk.SUMMARY, ["第4讲 随机变量.pptx"]),
        ("宿舍管理规定大概写了些什么", FileAsk.SUMMARY, ["宿舍管理规定.pdf"]),
        ("那个值班表里是啥", FileAsk.SUMMARY, ["3月值班表.xlsx", "4月值班表.xlsx"]),
        ("安全培训那个ppt讲了什么内容", FileAsk.SUMMARY, ["实验室安全培训.pptx"]),
        ("介绍一下选课指南", FileAsk.SUMMARY, ["选课指南v2.md"]),
        ("新生手侧讲了什么", FileAsk.SUMMARY, ["2024级新生手册.pdf"]),
        ("说说选课指南这个文件", FileAsk.SUMMARY, ["选课指南v2.md"]),
        ("新生手册 太长不想看 总结一下", FileAsk.SUMMARY, ["2024级新生手册.pdf"]),
        ("谁上传的新生手册", FileAsk.UPLOADER, ["2024级新生手册.pdf"]),
        ("新生手册是谁传的", FileAsk.UPLOADER, ["2024级新生手册.pdf"]),
        ("选课指南谁发的呀", FileAsk.UPLOADER, ["选课指南v2.md"]),
        ("校历是什么时候上传的", FileAsk.UPLOADER, ["校历2024-2025.pdf"]),
        ("who uploaded README.md", FileAsk.UPLOADER, ["README.md"]),
        ("谁传的食堂菜单", FileAsk.UPLOADER, ["食堂菜单.xlsx"]),
        ("总结一下不存在的方案.docx", FileAsk.SUMMARY, []),
        ("第9讲讲了什么", FileAsk.SUMMARY, []),
        ("能不能帮我总结一下那个新生手册的主要内容", FileAsk.SUMMARY, ["2024级新生手册.pdf"]),
        ("谁能总结下选课指南啊", FileAsk.SUMMARY, ["选课指南v2.md"]),
        ("README.md 是干嘛的", FileAsk.SUMMARY, ["README.md"]),
        ("毕业设计任务书模板是谁上传的", FileAsk.UPLOADER, ["毕业设计任务书模板.docx"]),
        ("图书馆那个文件讲了啥", FileAsk.SUMMARY, ["图书馆.md"]),
        ("请问新生手册这个文件里都有什么内容", FileAsk.SUMMARY, ["2024级新生手册.pdf"]),
        ("社团报名表是什么文件", FileAsk.SUMMARY, ["社团报名表.xlsx"]),
        ("总结一下kubernetes deploy guide", FileAsk.SUMMARY, ["Kubernetes-deploy-guide.md"]),
        ("第三讲讲了啥", FileAsk.SUMMARY, ["第3讲 概率论基础.pptx"]),
        ("第04讲总结一下", FileAsk.SUMMARY, ["第4讲 随机变量.pptx"]),
        ("what's in the deploy guide doc", FileAsk.SUMMARY, ["Kubernetes-deploy-guide.md"]),
        ("选课指南里有什么", FileAsk.SUMMARY, ["选课指南v2.md"]),
    ],
)
def test_a_file_by_its_name(text: str, ask: FileAsk, names: list[str]) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert asked.ask is ask
    assert [document.name for document in best_named(asked.words, DOCUMENTS)[1]] == names
    # A name that nobody knows is worth a reply only if a file was certainly meant.
    assert names or asked.certain


@pytest.mark.parametrize(
    ("text", "pointing", "number"),
    [
        ("这个文件讲了什么", Pointing.TO_THAT, 0),
        ("刚才那个文件说了啥", Pointing.TO_LATEST, 0),
        ("上一个文件讲了啥", Pointing.TO_LATEST, 0),
        ("刚上传的那个讲了什么", Pointing.TO_LATEST, 0),
        ("刚传的文件总结一下", Pointing.TO_LATEST, 0),
        ("最新的文件讲了什么", Pointing.TO_LATEST, 0),
        ("总结一下这份文件", Pointing.TO_THAT, 0),
        ("它讲了什么", Pointing.TO_THAT, 0),
        ("3号文件讲了什么", None, 3),
        ("总结 3", None, 3),
        ("这个文件是谁传的", Pointing.TO_THAT, 0),
    ],
)
def test_a_file_without_its_name(text: str, pointing: Pointing | None, number: int) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert (asked.words, asked.pointing, asked.number) == ((), pointing, number)


@pytest.mark.parametrize(
    "text",
    [
        "有哪些文件需要带",
        "报名要交什么资料",
        "总结会几点开",
        "运动会总结什么时候交",
        "报到需要哪些材料",
        "要准备什么文件",
        "有哪些资料要交",
        "需要提交哪些文件",
        "请假要什么材料",
        "入党材料有哪些",
        "图书馆里有什么",
        "宿舍里有什么电器不能用",
        "食堂里有啥好吃的",
        "食堂有什么菜",
        "谁发的工资",
        "工资什么时候发",
        "工资啥时候发的",
        "通知是谁发的",
        "这个问题谁提的",
        "谁传的谣言",
        "奖学金有哪些",
        "奖学金什么时候评",
        "有没有奖学金",
        "有没有食堂",
        "有没有校车",
        "有没有人知道怎么选课",
        "最近有什么活动",
        "最近有什么比赛",
        "最近更新了什么功能",
        "k8s最近更新了什么",
        "新版本更新了什么",
        "请假制度是什么",
        "什么是大创",
        "大创是什么",
        "大创项目怎么申报",
        "概率论讲了哪些分布",
        "第3讲里的贝叶斯公式是什么",
        "老师上课讲了什么",
        "导师说了什么",
        "开会说了什么",
        "昨天会上讲了啥",
        "总结一下请假的流程",
        "总结一下报销步骤",
        "概括一下奖学金的评定条件",
        "介绍一下图书馆",
        "介绍一下学校",
        "说说食堂",
        "新生手册里请假怎么写的",
        "新生手册里奖学金讲了什么",
        "宿舍管理规定第三条讲了什么",
        "学生请假制度里病假要什么材料",
        "值班表里周三是谁",
        "3月值班表谁值班",
        "文件怎么上传",
        "文件传不上去怎么办",
        "文件在哪下载",
        "怎么上传文件",
        "上传的文件能删吗",
        "哪里可以下载资料",
        "课件去哪下载",
        "上传文件大小限制是多少",
        "文件名有什么要求",
        "文件格式有哪些要求",
        "支持哪些文件",
        "支持什么格式的文件",
        "能读哪些文件格式",
        "盖章的文件交到哪",
        "报名文件里写的截止时间是几号",
        "有没有要带的资料",
        "有没有需要签字的文件",
        "报名表怎么填",
        "这个怎么弄",
        "它多少钱",
        "这个是什么意思",
        "那个说了算吗",
        "what is kubernetes",
        "what is a pod",
        "how do I deploy",
        "what does error 404 mean",
        "which files are required for deployment",
        "what files do I need to submit",
        "what documents are required",
        "who is the author",
        "什么文件能证明学籍",
        "哪些资料可以加分",
        "开证明要哪些文件",
        "材料清单有哪些东西要盖章",
        "有什么规定",
        "群里有什么规定不能违反",
        "群里有哪些管理员",
        "群里有哪些活动",
        "群里有几个人",
        "群里谁是群主",
        "资料费多少钱",
        "内容审核要多久",
        "文件柜在哪",
        "README里怎么安装",
        "内容是什么",
        "主要内容是什么",
        "重点是什么",
        "期末重点有哪些",
        "大纲是什么",
        "目录在哪",
        "这次考试的主要内容是什么",
        "培训讲了什么安全知识",
        "安全培训几点开始",
        "实验室安全培训讲了哪些灭火器的用法",
        "总结大会有哪些领导发言",
        "工作总结怎么写",
        "总结怎么交",
        "谁总结一下",
        "帮我写个总结",
        "3号讲了什么",
        "他讲了什么",
        "你说啥",
        "你说什么",
        "这是什么",
        "那是啥",
        "是谁发的",
        "谁发的红包",
        "谁发的",
        "帮我介绍个对象",
        "介绍信怎么开",
        "有什么新消息",
        "有新通知吗",
        "今天发了什么通知",
        "最近发了哪些补贴",
        "最近涨了多少",
        "新生要带哪些资料",
        "新生资料在哪领",
        "有复习资料费吗",
        "什么时候传的旨",
        "毕业设计任务书模板怎么填",
        "校历上国庆放几天",
        "规定说了什么时候断电",
        "选课指南里写了选课时间吗",
        "合同文件的优先顺序",
        "刚才说的是什么",
        "what is in the library",
        "投标文件由哪些部分组成",
        "招标文件包括什么",
        "报销需要几个文件",
        "最大的文件能传多大",
        "文件太大怎么办",
        "文件保存在哪个目录",
        "最新的价格是多少",
        "有几个校区",
        "哪些是必修课",
        "谁的分数最高",
        "谁签的合同",
        "上一个问题的答案是哪来的",
        "上一条说的是什么意思",
        "所有文件都要盖章吗",
        "这些文件要复印几份",
        "配置文件有哪些字段",
        "pdf怎么转word",
        "excel表格怎么填",
        "word模板用什么字体",
        "有几个表要填",
        "哪些表格要盖章",
        "最长的假期是哪个",
        "哪个文件有效",
        "复习资料费多少",
        "投标文件的内容有哪些",
        "盖了章的文件在哪个办公室领",
        "食堂菜单里有什么汤",
        "",
        "总结一下\n第二行",
        "总结一下" + "新生手册" * 40,
    ],
)
def test_questions_about_content(text: str) -> None:
    assert recognise(Question(text), DOCUMENTS) is None


def test_what_a_text_enumerates_is_no_summary_of_a_file_that_is_only_like_it() -> None:
    documents = [_Document("施工招标投标管理办法.pdf"), _Document("投标文件.docx")]
    assert recognise(Question("投标文件的内容有哪些"), documents[:1]) is None
    assert recognise(Question("投标文件包括哪些内容"), documents[:1]) is None
    assert recognise(Question("投标文件讲了什么"), documents[:1]) is not None
    assert recognise(Question("投标文件的内容有哪些"), documents) is not None


def test_a_number_of_a_series_that_is_missing_is_a_file() -> None:
    asked = recognise(Question("第8讲讲了啥"), DOCUMENTS)
    assert asked is not None
    assert asked.certain
    assert recognise(Question("第8讲讲了啥"), [_Document("概率论.pptx")]) is None


def test_words_are_kept_as_they_were_written() -> None:
    asked = recognise(Question("有没有 Kubernetes 的文档"), DOCUMENTS)
    assert asked is not None
    assert asked.words == ("Kubernetes",)


@pytest.mark.parametrize(
    "text",
    [
        "有" * 80,
        "总结" * 40,
        "谁" * 80,
        "里面都是" * 20,
        "最近有群里" * 16,
        "a " * 40,
        "问" * 79,
        "一句话" * 26,
        "列一下" * 26,
        "我们群里" * 19,
        "都讲了" * 26,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    documents = [_Document(f"{'管理' * 20}{number}.pdf") for number in range(200)]
    begun = time.process_time()
    recognise(Question(text), documents)
    assert time.process_time() - begun < 1.0


@pytest.mark.parametrize(
    ("text", "position"),
    [("总结第3个文件", 3), ("第一个文件讲什么", 1), ("第十二个文件主要讲什么", 12)],
)
def test_a_file_by_its_place_in_the_list(text: str, position: int) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert (asked.ask, asked.words, asked.number, asked.position) == (FileAsk.SUMMARY, (), 0, position)


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("昨天传了什么", Period.YESTERDAY),
        ("今天新增了几个文件", Period.TODAY),
        ("上周的文件有哪些", Period.LAST_WEEK),
        ("这周传了几个文件", Period.THIS_WEEK),
        ("最近传了哪些文件", None),
    ],
)
def test_files_of_certain_days(text: str, period: Period | None) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert (asked.ask, asked.period) == (FileAsk.RECENT, period)


@pytest.mark.parametrize("text", ["文件总共多大", "所有文件加起来多大", "群文件一共占多少空间", "知识库多大"])
def test_the_size_of_all_files(text: str) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None and asked.ask is FileAsk.TOTAL_SIZE


@pytest.mark.parametrize(
    "text", ["总共多大", "昨天的作业有哪些", "第一个问题是什么", "报名费总共多少", "多大的文件能传", "文件最大多大"]
)
def test_words_of_files_about_other_things(text: str) -> None:
    assert recognise(Question(text), DOCUMENTS) is None


@pytest.mark.parametrize(
    "text", ["宿舍管理规定谁上传的，什么时候", "谁传的宿舍管理规定 什么时候传的", "宿舍管理规定什么时候更新的"]
)
def test_who_and_when_in_one_question(text: str) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert (asked.ask, asked.words) == (FileAsk.UPLOADER, ("宿舍管理规定",))


@pytest.mark.parametrize(("text", "certain"), [("总结一下迎新方案", False), ("总结一下《迎新方案》", True)])
def test_a_summary_of_a_missing_file(text: str, certain: bool) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert (asked.ask, asked.certain) == (FileAsk.SUMMARY, certain)


@pytest.mark.parametrize("text", ["有几个文件提到了值班", "多少文件讲了值班"])
def test_how_many_files_are_about_a_topic(text: str) -> None:
    asked = recognise(Question(text), DOCUMENTS)
    assert asked is not None
    assert (asked.ask, asked.words) == (FileAsk.FIND, ("值班",))
