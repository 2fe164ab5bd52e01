"""The statistics of a chat, as a picture and in words."""

from collections.abc import Iterable, Mapping, Sequence

from qq.messages import shortened
from qq.outbox.replies import Picture, Reply
from qq.render.drawings import Bar, Report
from services.records.statistics import DocumentCount
from services.records.tables import ModelFeature
from services.records.usage import ModelUsage
from services.statistics.service import Statistics

_FEATURES: Mapping[ModelFeature | None, str] = {
    ModelFeature.ANSWER: "回答",
    ModelFeature.UNASKED: "主动回答",
    ModelFeature.SUMMARY: "总结记忆",
    ModelFeature.TRIAL: "测试资料",
    None: "其他",
}
CATEGORIES: Mapping[str, str] = {
    "model_usage": "模型使用",
    "technical": "技术问题",
    "platform": "平台功能",
    "project": "项目指导",
}
_LABEL_CHARS = 22
_NAMED = 2


def statistics_reply(statistics: Statistics) -> Reply:
    """Return the statistics as a picture, with the same in words. Without any question there is only a sentence."""
    if not statistics.turns.questions:
        return f"最近 {statistics.days} 天没有人提问。换一段时间：/stats 30"
    return Picture((_report(statistics),), f"最近 {statistics.days} 天的问答统计", statistics_text(statistics))


def statistics_text(statistics: Statistics) -> str:
    """Return the statistics in at most ten lines."""
    turns = statistics.turns
    parts = [f"答出 {turns.answered}", f"没找到 {turns.refused}"]
    others = (("反问", turns.clarified), ("审核", turns.reviewed), ("在等", turns.waiting), ("没答成", turns.failed))
    parts += [f"{word} {count}" for word, count in others if count]
    lines = [
        f"最近 {statistics.days} 天：提问 {turns.questions} 次，{'，'.join(parts)}",
        f"已解决：有人确认 {turns.confirmed}，推定 {turns.assumed}（没评价也没再追问）",
    ]
    if turns.denied:
        lines.append(f"有人说没解决或只解决一部分：{turns.denied}")
    if statistics.topics:
        lines.append("没解决的：" + _listed((topic.question, topic.count) for topic in statistics.topics[:_NAMED]))
    if statistics.most_cited:
        cited = ((document.name, document.count) for document in statistics.most_cited[:_NAMED])
        lines.append("引用最多：" + _listed(cited))
    if statistics.never_cited:
        lines.append(f"没引用过 {statistics.never_cited} 个文件：{_names(statistics.never_cited_first[:_NAMED])}")
    if statistics.median_s is not None and statistics.p95_s is not None:
        lines.append(f"用时：一半在 {statistics.median_s:.1f} 秒内，95% 在 {statistics.p95_s:.1f} 秒内")
    if statistics.usage:
        lines.append("模型：" + "；".join(f"{name} {_usage(usage)}" for name, usage in _features(statistics)))
    return "\n".join(lines)


def _report(statistics: Statistics) -> Report:
    turns = statistics.turns
    tiles = [
        (str(turns.questions), "提问"),
        (str(turns.answered), "答出"),
        (str(turns.refused), "没找到"),
        (str(turns.clarified), "反问"),
        (str(turns.reviewed), "审核"),
        (str(turns.failed), "没答成"),
        (_seconds(statistics.median_s), "用时（中位）"),
        (_seconds(statistics.p95_s), "用时（95%）"),
    ]
    sections: list[tuple[str, tuple[Bar, ...]]] = [
        (
            "解决了吗",
            tuple(
                Bar(label, str(count), count / turns.questions)
                for label, count in (
                    ("有人确认解决", turns.confirmed),
                    ("推定解决（没评价，也没再追问）", turns.assumed),
                    ("有人说没解决或部分解决", turns.denied),
                )
            ),
        )
    ]
    counted = (
        ("问的是什么", [(CATEGORIES.get(name, name), count) for name, count in statistics.categories]),
        ("没解决的问题", [(topic.question, topic.count) for topic in statistics.topics]),
        ("引用最多的文件", [(document.name, document.count) for document in statistics.most_cited]),
    )
    sections += [(heading, _bars(rows)) for heading, rows in counted if rows]
    if statistics.never_cited:
        names = tuple(Bar(_label(document.name), "") for document in statistics.never_cited_first)
        sections.append((f"没引用过的文件（{statistics.never_cited} 个）", names))
    if statistics.usage:
        used = tuple(Bar(name, _usage(usage)) for name, usage in _features(statistics))
        sections.append(("模型用量", used))
    return Report(f"最近 {statistics.days} 天", tuple(tiles), tuple(sections))


def _bars(rows: Sequence[tuple[str, int]]) -> tuple[Bar, ...]:
    most = max(count for _, count in rows)
    return tuple(Bar(_label(name), str(count), count / most) for name, count in rows)


def _label(text: str) -> str:
    return shortened(text, _LABEL_CHARS)


def _features(statistics: Statistics) -> list[tuple[str, ModelUsage]]:
    return [(_FEATURES[feature], statistics.usage[feature]) for feature in _FEATURES if feature in statistics.usage]


def _usage(usage: ModelUsage) -> str:
    tokens = f"{usage.tokens / 10_000:.1f} 万" if usage.tokens >= 10_000 else str(usage.tokens)
    money = f" ¥{usage.cost / 1_000_000:.2f}" if usage.cost else ""
    return f"{usage.calls} 次 {tokens} token{money}"


def _seconds(value: float | None) -> str:
    return "—" if value is None else f"{value:.1f} 秒"


def _listed(rows: Iterable[tuple[str, int]]) -> str:
    return "；".join(f"{shortened(name, _LABEL_CHARS)} ×{count}" for name, count in rows)


def _names(documents: Sequence[DocumentCount]) -> str:
    return "、".join(f"「{shortened(document.name, _LABEL_CHARS)}」" for document in documents)
