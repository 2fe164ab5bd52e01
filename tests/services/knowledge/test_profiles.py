"""What the rules say about documents and chunks: type, origin, tags, categories and quality."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.knowledge.models import Chunk, ChunkBoundary, DocumentType, Section, SourceType
from services.knowledge.profiles import MOST_TAGS, TAG_CHARS, chunk_profile, document_profile_of, profiles_of
from services.knowledge.quality import quality_of
from services.knowledge.splitter import split

PROSE = "住宿标准为每晚三百五十元，超出部分自理，报销时附上发票原件。"


def headed(*titles: str) -> list[Chunk]:
    return [Chunk(number, PROSE, heading=("手册", title)) for number, title in enumerate(titles)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("员工手册.pdf", DocumentType.GUIDE),
        ("URT常见问题.md", DocumentType.FAQ),
        ("docling-FAQ.md", DocumentType.FAQ),
        ("接口常见问题.docx", DocumentType.FAQ),
        ("接口使用教程.docx", DocumentType.TUTORIAL),
        ("支付接口文档 v2.md", DocumentType.API_DOC),
        ("API reference.html", DocumentType.API_DOC),
        ("URT安装步骤.html", DocumentType.TUTORIAL),
        ("第9讲 有效市场假说.pptx", DocumentType.TUTORIAL),
        ("劳动合同范例.docx", DocumentType.EXAMPLE),
        ("四月停水通知.txt", DocumentType.GUIDE),
    ],
)
def test_the_name_says_what_a_document_is(name: str, expected: DocumentType) -> None:
    assert document_profile_of(name, [Chunk(0, PROSE)]).document_type is expected


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        (headed("几点熄灯？", "如何请假", "宿舍能不能用电饭锅吗", "总则"), DocumentType.FAQ),
        # Two questions among many headings are an appendix.
        (headed("几点熄灯？", "如何请假", "总则", "附则", "范围", "职责"), DocumentType.GUIDE),
        ([Chunk(0, "问题 | 答案\n几点熄灯 | 十一点")], DocumentType.FAQ),
        ([Chunk(n, "参数 | 类型 | 必填 | 说明\nid | int | 是 | 编号") for n in range(3)], DocumentType.API_DOC),
        ([Chunk(n, "GET /v1/users 返回用户\nPOST /v1/users 新建用户") for n in range(2)], DocumentType.API_DOC),
        (split([Section("```\n" + "x = 1\n" * 60 + "```\n说明一句。")], 200, 0), DocumentType.EXAMPLE),
        (headed("第一步 下载", "第二步 安装", "总则", "附则"), DocumentType.TUTORIAL),
        (headed("总则", "附则"), DocumentType.GUIDE),
    ],
)
def test_the_content_says_what_a_document_is(chunks: list[Chunk], expected: DocumentType) -> None:
    assert document_profile_of("文件.md", chunks).document_type is expected


@pytest.mark.parametrize(
    ("name", "text", "expected", "address"),
    [
        ("制度.md", PROSE, SourceType.OFFICIAL_DOCS, ""),
        ("min2phase-README.md", PROSE, SourceType.GITHUB_DOCS, ""),
        ("问答.csv", "问题 | 答案\n几点熄灯 | 十一点", SourceType.QA_DATASET, ""),
        ("a.md", "来源：https://github.com/a/b/wiki\n正文", SourceType.GITHUB_DOCS, "https://github.com/a/b/wiki"),
        (
            "a.md",
            "原文链接: https://modelscope.cn/models/q/w",
            SourceType.MODEL_HUB,
            "https://modelscope.cn/models/q/w",
        ),
        ("a.md", "出处：https://modelscope.cn/datasets/q", SourceType.DATASET_HUB, "https://modelscope.cn/datasets/q"),
        ("a.md", "来源：https://modelscope.cn/learn/1", SourceType.LEARN_CENTER, "https://modelscope.cn/learn/1"),
        ("a.md", "来源：https://evilgithub.com/a", SourceType.OFFICIAL_DOCS, "https://evilgithub.com/a"),
        # A link among the text is not where the document comes from.
        ("a.md", "安装包见 https://github.com/a/b。", SourceType.OFFICIAL_DOCS, ""),
        ("a.md", "来源：https://[bad", SourceType.OFFICIAL_DOCS, "https://[bad"),
    ],
)
def test_the_origin_of_a_document(name: str, text: str, expected: SourceType, address: str) -> None:
    profile = document_profile_of(name, [Chunk(0, text)])
    assert (profile.source_type, profile.source_url) == (expected, address)


def test_tags_are_frequent_terms_and_headings() -> None:
    chunks = [
        Chunk(0, "一类城市的住宿费凭发票报销，住宿费超出自理。", heading=("第二章 住宿标准", "（一）一类城市")),
        Chunk(1, "二类城市住宿费减半，交通费另计。交通费包含地铁。", heading=("第二章 住宿标准", "（二）二类城市")),
        Chunk(2, "出差前填单，交通费当天结清。住宿费月底结清，用 SAP 登记，SAP 要培训，SAP 会停机。", heading=()),
    ]
    document, (first, second, third) = profiles_of("差旅.md", chunks)
    assert {"住宿费", "交通费", "SAP", "住宿标准", "一类城市"} <= set(document.tags)
    assert first.tags[:2] == ("一类城市", "住宿标准")
    assert "交通费" in second.tags
    assert "交通费" not in first.tags
    assert {"SAP", "住宿费"} <= set(third.tags)
    # Parts of a term, and what every text has, are no tags.
    assert not {"宿费", "住宿", "的住", "通费"} & {*document.tags, *first.tags, *third.tags}


_ANY = st.text(max_size=300)


@given(
    st.text(max_size=60),
    st.lists(st.builds(Chunk, st.just(0), _ANY, heading=st.lists(_ANY, max_size=4).map(tuple)), max_size=30),
)
def test_every_text_has_a_profile_within_the_limits(name: str, chunks: list[Chunk]) -> None:
    document, rated = profiles_of(name, chunks)
    assert len(rated) == len(chunks)
    for tags in (document.tags, *(each.tags for each in rated)):
        assert len(tags) <= MOST_TAGS
        assert len(set(tags)) == len(tags)
        assert all(0 < len(tag) <= TAG_CHARS and "\n" not in tag for tag in tags)
    assert all(0 <= each.quality_score <= 1 for each in rated)


def test_a_large_document_takes_linear_time() -> None:
    chunks = [Chunk(number, (PROSE + f"第{number}条 error_{number} ") * 10) for number in range(4_000)]
    begun = time.process_time()
    profiles_of("大.txt", chunks)
    # 0.5 ms a chunk; the limit is that of a much slower machine.
    assert time.process_time() - begun < 16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PROSE, ()),
        ("先用 pip 安装依赖，再运行 docker 命令。", ("technical",)),
        ("下载模型权重后做推理。", ("model_usage",)),
        ("登录平台后在网页上传。", ("platform",)),
        ("毕业设计的选题和开题报告。", ("project",)),
        # One word says nothing.
        ("期末要交一份作业。", ()),
        ("rapid scripted models", ()),
    ],
)
def test_the_categories_of_questions(text: str, expected: tuple[str, ...]) -> None:
    assert chunk_profile(Chunk(0, text)).question_categories == expected


def test_quality_falls_with_each_defect() -> None:
    good = Chunk(0, PROSE * 4)
    assert quality_of(good) == 1.0
    assert quality_of(Chunk(0, PROSE * 4, uncertain_table=True)) == 0.5
    assert quality_of(Chunk(0, "\ufffd" * 10 + PROSE * 4)) < 0.4
    assert quality_of(Chunk(0, "锟斤拷" * 20 + PROSE)) == 0.0
    assert quality_of(Chunk(0, "第一章 ................................ 3")) < 0.3
    assert 0.4 <= quality_of(Chunk(0, "十一点。")) < 0.5
    # The bullets of Word are private characters, and no damage.
    assert quality_of(Chunk(0, "\n".join(f"\uf0b7 {PROSE}" for _ in range(4)))) == 1.0


@pytest.mark.parametrize(
    ("section", "size", "expected"),
    [
        (Section("一句话。", heading=("总则",)), 100, ["section"]),
        (Section("一句话。"), 100, ["paragraph"]),
        (Section("这是第一段话。\n\n" * 20, heading=("总则",)), 100, ["paragraph"] * 2),
        (Section("```\nx = 1\n```", heading=("用法",)), 100, ["code_block"]),
        # The pieces of a long block have no fences of their own.
        (Section("```\n" + "value = compute()\n" * 12 + "```"), 100, ["code_block"] * 3),
        (Section("先这样：\n```\nx = 1\n```", heading=("用法",)), 100, ["mixed"]),
        (Section("1 | 2\n3 | 4", table=True, header="甲 | 乙"), 100, ["section"]),
    ],
)
def test_the_boundaries_of_chunks(section: Section, size: int, expected: list[str]) -> None:
    found = [chunk.boundary.value for chunk in split([section], size, 0)]
    assert found == expected


def test_fragments_under_several_headings_are_mixed() -> None:
    sections = [Section("一句。", heading=("总则", "甲")), Section("二句。", heading=("总则", "乙"))]
    assert [chunk.boundary for chunk in split(sections, 200, 0)] == [ChunkBoundary.MIXED]
