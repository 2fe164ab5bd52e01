"""A data directory with a knowledge base already in it, so that a benchmark need not wait for the embedding model.

The passages are made of common words and the vectors are random directions: what a search costs depends on how many
there are, not on what they mean.
"""

import random
from datetime import UTC, datetime
from pathlib import Path

import numpy

from services.database import open_database, sqlite_url
from services.index.models import IndexedChunk
from services.index.process import IndexProcess
from services.records.documents import DocumentRecords, NewDocument

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
    """Chinese-looking text with one rare code in it."""
    chance = random.Random(seed)
    # Most words of a text are its own: here one in thirty is of those that people ask about.
    words = [chance.choice(_WORDS) if chance.random() < 1 / 30 else _rare(chance) for _ in range(chars // 2)]
    for place in range(12, len(words), 13):
        words[place] += "。"
    return f"{''.join(words)}编号 QZ-{seed:06d}。"


def _rare(chance: random.Random) -> str:
    return chr(chance.randrange(0x4E00, 0x4F00)) + chr(chance.randrange(0x5000, 0x5040))


async def prepare(data_dir: Path, collection: str, chunks: int, space: str) -> None:
    """Put one document of `chunks` chunks into `collection`, visible, with vectors in `space`."""
    data_dir.mkdir(parents=True, exist_ok=True)
    database = await open_database(sqlite_url(data_dir / "app.sqlite3"))
    records = DocumentRecords(database)
    index = IndexProcess(data_dir)
    try:
        registration = await records.register(
            NewDocument(
                collection=collection,
                name="预备资料.txt",
                file_type="txt",
                size=chunks * 900,
                content_hash=f"{chunks:064d}",
                stored_name=f"prepared-{collection}.txt",
                group_id=None,
                uploader_id=10001,
                uploaded_at=datetime.now(UTC),
            )
        )
        build_id = f"prepared-{collection}"
        generator = numpy.random.default_rng(len(collection))
        for start in range(0, chunks, 500):
            count = min(500, chunks - start)
            vectors = generator.normal(size=(count, _DIMENSIONS)).astype(numpy.float32)
            vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
            rows = [
                IndexedChunk(f"{build_id}-{number:06d}", build_id, number, passage(number), "预备资料", {"page": 1})
                for number in range(start, start + count)
            ]
            await index.add(collection, space, rows, vectors.tolist())
        await records.publish(collection, registration.document.id, build_id, space, chunks)
    finally:
        await index.close()
        await database.close()
