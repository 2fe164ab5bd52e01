"""A data directory with a filled knowledge base, so that a benchmark need not wait for the embedding model.

The passages consist of common words, or come from a folder of documents. The vectors are random directions: the cost of
a search depends on their number, not on their meaning.
"""

import random
import re
import tarfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy

from services.database import open_database, sqlite_url
from services.index.local import LocalIndex
from services.index.models import IndexedChunk
from services.index.process import IndexProcess
from services.knowledge.models import Section
from services.knowledge.splitter import split
from services.records.documents import DocumentRecords, NewDocument, Registration

_WORDS = (
    *(
        "报销",
        "制度",
        "差旅",
        "住宿",
        "补贴",
        "发票",
        "财务",
        "采购",
        "申请",
        "签字",
        "课程",
        "作业",
        "实验",
        "报告",
        "考试",
    ),
    *(
        "成绩",
        "学分",
        "选课",
        "教室",
        "时间",
        "地点",
        "老师",
        "同学",
        "模型",
        "训练",
        "推理",
        "部署",
        "显存",
        "参数",
        "配置",
    ),
    *(
        "安装",
        "依赖",
        "版本",
        "错误",
        "日志",
        "接口",
        "文档",
        "数据",
        "标注",
        "精度",
        "速度",
        "内存",
        "线程",
        "缓存",
        "网络",
    ),
    *(
        "项目",
        "进度",
        "计划",
        "会议",
        "纪要",
        "讨论",
        "方案",
        "评审",
        "测试",
        "上线",
        "监控",
        "告警",
        "权限",
        "账号",
        "密码",
    ),
)
_DIMENSIONS = 384


def passage(seed: int, chars: int = 300) -> str:
    """Return Chinese-looking text that contains one rare code."""
    chance = random.Random(seed)
    # Most words of a text occur only in it: one word in thirty is one of those that people ask about.
    words = [chance.choice(_WORDS) if chance.random() < 1 / 30 else _rare(chance) for _ in range(chars // 2)]
    for place in range(12, len(words), 13):
        words[place] += "。"
    return f"{''.join(words)}编号 {rare_code(seed)}。"


def _rare(chance: random.Random) -> str:
    return chr(chance.randrange(0x4E00, 0x4F00)) + chr(chance.randrange(0x5000, 0x5040))


def rare_code(number: int) -> str:
    """Return the code that occurs in exactly one passage of a collection.

    >>> rare_code(7)
    'QZ-000007'
    """
    return f"QZ-{number:06d}"


class NaturalPassages:
    """Passages from the .md and .txt files of a folder or tar archive, continued with mixtures of them.

    Calling it with a number returns a text, always the same for that number. A mixture has alternate lines of two
    passages. One word in ten is drawn from the list of all distinct words, so that rare words stay about as rare when
    the collection grows. One passage in 500 contains its own `rare_code`.
    """

    def __init__(self, corpus: Path) -> None:
        self._texts = [
            chunk.text for text in sorted(_documents(corpus)) for chunk in split([Section(text)], _CHUNK_CHARS, 50)
        ]
        random.Random(1).shuffle(self._texts)
        self._words = sorted({word for text in self._texts for word in _WORD.findall(text)})

    def __call__(self, number: int) -> str:
        """Return the passage of this number."""
        text = self._texts[number] if number < len(self._texts) else self._mixture(random.Random(number))
        return f"{text}\n编号 {rare_code(number)}。" if number % 500 == 7 else text

    def _mixture(self, chance: random.Random) -> str:
        left, right = (self._texts[chance.randrange(len(self._texts))].split("\n") for _ in range(2))
        lines = left[0::2] + right[1::2]
        return _WORD.sub(
            lambda found: chance.choice(self._words) if chance.random() < 1 / 10 else found.group(), "\n".join(lines)
        )[:_CHUNK_CHARS]


_CHUNK_CHARS = 500
_WORD = re.compile(r"[A-Za-z0-9_]+|[\u4e00-\u9fff]{2}")


def _documents(corpus: Path) -> Iterator[str]:
    if corpus.is_dir():
        for path in corpus.rglob("*"):
            if path.is_file() and path.suffix in (".md", ".txt"):
                yield path.read_text(encoding="utf-8", errors="replace")
        return
    with tarfile.open(corpus) as archive:
        for member in archive:
            if member.name.endswith((".md", ".txt")) and (file := archive.extractfile(member)) is not None:
                yield file.read().decode("utf-8", "replace")


async def prepare(
    data_dir: Path,
    collection: str,
    chunks: int,
    embedding_fingerprint: str,
    text: Callable[[int], str] = passage,
    *,
    chunks_per_document: int | None = None,
) -> None:
    """Put `chunks` visible chunks into `collection`, with vectors, as one document or several."""
    index = IndexProcess(data_dir)
    size = chunks_per_document or chunks
    try:
        async with _records(data_dir) as records:
            for first in range(0, chunks, size):
                build_id = f"prepared-{collection}-{first}"
                count = min(size, chunks - first)
                for start in range(0, count, 500):
                    rows, vectors = _rows(build_id, first, start, min(500, count - start), text)
                    await index.add_words(collection, rows)
                    await index.add_vectors(collection, embedding_fingerprint, rows, vectors)
                await _publish(records, collection, build_id, embedding_fingerprint, count)
    finally:
        await index.close()


async def prepare_groups(
    data_dir: Path, names: list[str], chunks: int, embedding_fingerprint: str, text: Callable[[int], str]
) -> None:
    """Write one small document to each collection, in the calling process, which must be the only one."""
    index = LocalIndex(data_dir)
    try:
        async with _records(data_dir) as records:
            for number, name in enumerate(names):
                build_id = f"prepared-{name}"
                rows, vectors = _rows(build_id, number * chunks, 0, chunks, text)
                index.add_words(name, rows)
                index.add_vectors(name, embedding_fingerprint, rows, vectors)
                await _publish(records, name, build_id, embedding_fingerprint, chunks)
    finally:
        index.close()


@asynccontextmanager
async def _records(data_dir: Path) -> AsyncGenerator[DocumentRecords]:
    data_dir.mkdir(parents=True, exist_ok=True)
    database = await open_database(sqlite_url(data_dir / "app.sqlite3"))
    try:
        yield DocumentRecords(database)
    finally:
        await database.close()


def _rows(
    build_id: str, first: int, start: int, count: int, text: Callable[[int], str]
) -> tuple[list[IndexedChunk], list[list[float]]]:
    """Return the chunks `start` to `start + count` of a build whose texts begin at number `first`."""
    vectors = numpy.random.default_rng(first + start).normal(size=(count, _DIMENSIONS)).astype(numpy.float32)
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    rows = [
        IndexedChunk(f"{build_id}-{number:06d}", build_id, number, text(first + number), "预备资料", {"page": 1})
        for number in range(start, start + count)
    ]
    return rows, vectors.tolist()


async def _publish(
    records: DocumentRecords, collection: str, build_id: str, embedding_fingerprint: str, chunks: int
) -> None:
    registration = await records.register(
        NewDocument(
            collection=collection,
            name=f"{build_id}.txt",
            file_type="txt",
            size=chunks * 900,
            content_hash=f"{build_id:>64}",
            stored_name=f"{build_id}.txt",
            group_id=None,
            uploader_id=10001,
            uploaded_at=datetime.now(UTC),
        )
    )
    assert isinstance(registration, Registration)
    await records.publish(collection, registration.document.id, build_id, embedding_fingerprint, chunks)
