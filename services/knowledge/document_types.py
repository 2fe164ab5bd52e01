"""The purpose and origin of a document, by its name, its headings and what its text consists of."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from urllib.parse import urlsplit

from services.knowledge.models import Chunk, ChunkBoundary, DocumentType, SourceType

# A Chinese name ends with what the document is: 接口常见问题 is a FAQ, and 接口使用教程 a tutorial.
_NAMES: Mapping[DocumentType, re.Pattern[str]] = {
    DocumentType.FAQ: re.compile(r"常见问题|问题汇总|问与答|问答|答疑|疑难解答|百问|faqs?|q\s?&\s?a|issues?"),
    DocumentType.API_DOC: re.compile(r"接口|api|sdk|开发文档|参数说明|字段说明|数据字典|reference|swagger|openapi"),
    DocumentType.TUTORIAL: re.compile(
        r"教程|入门|快速(?:上手|开始)|上手|手把手|安装|部署|接入|操作步骤|实验指[导引]|第[一二三四五六七八九十\d]+[讲课]"
        r"|tutorials?|quick-?\s?start|getting[ _-]started|install(?:ation)?|how-?to"
    ),
    DocumentType.EXAMPLE: re.compile(r"示例|样例|例子|范例|范文|模板|demo|examples?|samples?|template"),
    DocumentType.GUIDE: re.compile(
        r"指南|手册|指引|须知|说明|攻略|规定|办法|制度|条例|规则|细则|guides?|manual|handbook"
    ),
}
_QUESTION_WORDS = re.compile(
    r"[?？]\s*$|^(?:问[:：]|q\s*\d*[:：.]|(?:什么|为什么|为何|如何|怎么|怎样|是否|能否|哪[些里个])|(?:what|why|how|where|when|can|does|is)\b)"
    r"|(?:怎么办|怎么[做弄]|是什么|吗|有哪些)$",
    re.IGNORECASE,
)
_ENDPOINT = re.compile(r"\b(?:GET|POST|PUT|DELETE|PATCH)\s+(?:https?://|/)\S*")
_PARAMETERS = re.compile(
    r"^(?=.*(?:参数|字段|name|parameter|field))(?=.*(?:类型|type))(?=.*(?:说明|描述|必[填选需]|默认|description|required|default)).*\|",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"^(?:第\s*[一二三四五六七八九十\d]{1,3}\s*步|步骤\s*[一二三四五六七八九十\d]{1,3}|step\s*\d{1,2})", re.IGNORECASE
)
_QUESTION_COLUMN = re.compile(r"^\W{0,2}(?:问题?|提问|question|q|title)\W*$", re.IGNORECASE)
_ANSWER_COLUMN = re.compile(r"^\W{0,2}(?:答案?|回答|解答|回复|answers?|a|body|response)\W*$", re.IGNORECASE)
# Shares of a document at which its content decides about its type.
_MOSTLY_QUESTIONS, _LEAST_QUESTIONS = 0.4, 3
_MOSTLY_CODE, _LEAST_MARKS, _LEAST_STEPS = 0.6, 3, 2
# Tables and endpoints are looked for in so many chunks; a longer document repeats itself.
_LOOKED_AT = 400
_FENCE = "```"
_GITHUB_NAMES = re.compile(
    r"(?:^|[-_ ])(?:readme|changelog|contributing|code_of_conduct|security|license)(?:[-_.][\w-]+)?$"
)
# The address that a document gives for itself: a line of its own near the beginning.
_OWN_ADDRESS = re.compile(
    r"^\W{0,4}(?:原文(?:链接|地址)?|文章来源|来源|出处|转载自|本文链接|文档地址|source|original|permalink|canonical)"
    r"\s*[:：]\s*<?(https?://[^\s<>）)，。\"']{4,480})",
    re.IGNORECASE | re.MULTILINE,
)
_BEGINNING_CHUNKS = 3
_HOSTS: Sequence[tuple[str, str, SourceType]] = (
    ("github.com", "", SourceType.GITHUB_DOCS),
    ("github.io", "", SourceType.GITHUB_DOCS),
    ("gitee.com", "", SourceType.GITHUB_DOCS),
    ("modelscope.cn", "/models", SourceType.MODEL_HUB),
    ("modelscope.cn", "/datasets", SourceType.DATASET_HUB),
    ("modelscope.cn", "/learn", SourceType.LEARN_CENTER),
    ("huggingface.co", "/datasets", SourceType.DATASET_HUB),
    ("huggingface.co", "/docs", SourceType.OFFICIAL_DOCS),
    ("huggingface.co", "/learn", SourceType.LEARN_CENTER),
    ("huggingface.co", "/", SourceType.MODEL_HUB),
)


def document_type_of(name: str, chunks: Sequence[Chunk]) -> DocumentType:
    """Return the purpose of a document.

    In this order: its name if that says so; a FAQ if at least three, and two fifths, of its headings are questions, or
    if a table of it has a question and an answer in each row; an API document if at least three tables or lines
    describe parameters or endpoints; an example if three fifths of its characters are code; a tutorial if at least two
    headings are steps; else a guide. `chunks` may be empty, then the name alone decides.
    """
    if named := _type_by_name(name):
        return named
    headings = {chunk.heading[-1] for chunk in chunks if chunk.heading}
    asked = sum(1 for heading in headings if _QUESTION_WORDS.search(heading.strip()))
    if asked >= _LEAST_QUESTIONS and asked >= _MOSTLY_QUESTIONS * len(headings):
        return DocumentType.FAQ
    looked_at = chunks[:_LOOKED_AT]
    if has_questions_with_answers(looked_at):
        return DocumentType.FAQ
    if _interface_marks(looked_at) >= _LEAST_MARKS:
        return DocumentType.API_DOC
    if code_share(looked_at) >= _MOSTLY_CODE:
        return DocumentType.EXAMPLE
    if sum(1 for heading in headings if _STEP.match(heading.strip())) >= _LEAST_STEPS:
        return DocumentType.TUTORIAL
    return DocumentType.GUIDE


def source_of(name: str, chunks: Sequence[Chunk]) -> tuple[SourceType, str]:
    """Return the origin of a document and the address that it gives for itself, empty if it gives none.

    The address decides, else a table of questions with answers, else a name that repositories use. What a group's
    members upload otherwise is the group's own documentation.
    """
    beginning = "\n".join(chunk.text for chunk in chunks[:_BEGINNING_CHUNKS])
    if stated := _OWN_ADDRESS.search(beginning):
        return _source_type_of(stated[1]), stated[1]
    if has_questions_with_answers(chunks[:_BEGINNING_CHUNKS]):
        return SourceType.QA_DATASET, ""
    if _GITHUB_NAMES.search(PurePath(name).stem.lower()):
        return SourceType.GITHUB_DOCS, ""
    return SourceType.OFFICIAL_DOCS, ""


def has_questions_with_answers(chunks: Collection[Chunk]) -> bool:
    """Return whether a table has a column of questions and one of answers."""
    for chunk in chunks:
        for line in chunk.text.split("\n", 3)[:3]:
            cells = [cell.strip() for cell in line.split(" | ")] if " | " in line else []
            if any(map(_QUESTION_COLUMN.match, cells)) and any(map(_ANSWER_COLUMN.match, cells)):
                return True
    return False


def code_share(chunks: Collection[Chunk]) -> float:
    """Return the share of the characters that are code, from 0 to 1; a chunk of prose with code counts half."""
    total = sum(len(chunk.text) for chunk in chunks)
    weights = {ChunkBoundary.CODE_BLOCK: 1.0, ChunkBoundary.MIXED: 0.5}
    code = sum(weights.get(chunk.boundary, 0.0) * len(chunk.text) for chunk in chunks if _has_code(chunk))
    return code / total if total else 0.0


def _has_code(chunk: Chunk) -> bool:
    # A mixed chunk may also consist of prose under several headings.
    return chunk.boundary is ChunkBoundary.CODE_BLOCK or _FENCE in chunk.text


def _type_by_name(name: str) -> DocumentType | None:
    path = PurePath(name.lower())
    last = {kind: [match.end() for match in pattern.finditer(path.stem)][-1:] for kind, pattern in _NAMES.items()}
    found = {kind: ends[0] for kind, ends in last.items() if ends}
    return max(found, key=lambda kind: found[kind]) if found else None


def _interface_marks(chunks: Collection[Chunk]) -> int:
    marks = 0
    for chunk in chunks:
        marks += len(_ENDPOINT.findall(chunk.text))
        marks += sum(1 for line in chunk.text.split("\n", 3)[:3] if _PARAMETERS.match(line))
    return marks


def _source_type_of(address: str) -> SourceType:
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
    except ValueError:
        return SourceType.OFFICIAL_DOCS
    for known, path, source_type in _HOSTS:
        if (host == known or host.endswith(f".{known}")) and parts.path.startswith(path):
            return source_type
    return SourceType.OFFICIAL_DOCS
