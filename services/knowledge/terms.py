"""The frequent terms of a document, found without a dictionary by how often and how freely they occur."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

# A term is looked for in so many characters, spread over the document. That takes 0.3 s.
_MOST_CHARS = 60_000
_MOST_TERMS = 40
_LONGEST = 6
_LEAST_COUNT, _SHORT_TEXT = 3, 3_000
# A term stands after and before different characters. 员工手 is always followed by 册 and is no term.
_LEAST_NEIGHBOURS = 3
# A shorter term counts if it occurs this often outside of the longer ones.
_LEAST_ALONE = 0.35
_HAN_RUN = re.compile(r"[\u3400-\u9fff]{2,}")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[._+#-][A-Za-z0-9]+)*[+#]*")
_ADDRESS = re.compile(r"(?:https?://|www\.|[\w.+-]+@)[^\s，。）)]+|[\w./\\-]{2,}[/\\][\w./\\-]+")
# No term contains the first, begins with the second or ends with the third.
_FUNCTION = re.compile(r"[的了是在和与或及其按将把被且也都而但若则这那我你他她它们吗呢吧啊]")
_NO_BEGIN = frozenset(
    "不得可应须已未只又很再还因如等之为由对于者所各每该此第从到并就以向会能要请时后前内中三四五六七八九十百千万号"
)
_NO_END = frozenset(
    "不得可应须已未只又很再还因如等之为由对于有个所各每该此从到并就以向会能要请时后前内中上下一二三四五六七八九十"
)
_GENERAL = frozenset(
    """
进行 使用 需要 相关 以及 其他 情况 问题 工作 规定 要求 方式 内容 说明 通过 根据 提供 包括 实现 具体 主要 部分
方法 操作 选择 支持 默认 注意 点击 如下 以下 管理 信息 时间 人员 单位 部门 活动 处理 设置 完成 开始 结束 系统
功能 文件 参数 类型 名称 用户 数据 结果 示例 过程 标准 办理 符合 执行 批准 责任 给予 超过 发生 存在 适用 依法
负责 同意 办法 范围 有关 没有 自己 必须 其他人 一个 一次 一般 出现 建议 任何 关于 同时
""".split()  # noqa: SIM905 - a list is read more easily in lines of words
)
_ENGLISH = frozenset(
    """
the and for are was were with that this from have has had not but you your our can will would should may
might its it's they them their there then than when where which what who how why all any each other some such
more most only into over under about after before between also use used using see set get new one two if in
on at to of by as is be or an it we us do does did no yes so up out http https www com org html md png jpg
true false null none
""".split()  # noqa: SIM905
)


def frequent_terms(texts: Sequence[str], headings: Collection[str]) -> list[str]:
    """Return the terms that occur most often in the texts of a document, most telling first.

    `headings` are the titles and the name of the document; a term in one of them counts twice.
    """
    sample = _ADDRESS.sub(" ", "\n".join(_spread(texts)))
    least = _LEAST_COUNT if len(sample) > _SHORT_TEXT else _LEAST_COUNT - 1
    counts = {**_phrases(sample, least), **_words(sample, least)}
    titles = "\n".join(headings).lower()

    def rate(term: str) -> float:
        length = min(len(term), 4) if term[0] > "z" else 2.5
        return counts[term] * length * (2 if term.lower() in titles else 1)

    return sorted(counts, key=lambda term: (-rate(term), term))[:_MOST_TERMS]


def _spread(texts: Sequence[str]) -> Iterator[str]:
    """Yield all texts, or as many of them, spread evenly, as the limit allows."""
    total = sum(map(len, texts))
    if total <= _MOST_CHARS:
        yield from texts
        return
    step = total / _MOST_CHARS
    place = 0.0
    while place < len(texts):
        yield texts[int(place)][: _MOST_CHARS // 10]
        place += step


def _phrases(sample: str, least: int) -> dict[str, int]:
    """Return the Chinese terms with their numbers of occurrences."""
    runs = [part for run in _HAN_RUN.findall(sample) for part in _FUNCTION.split(run) if len(part) > 1]
    counts = Counter(
        run[start : start + size]
        for run in runs
        for size in range(2, min(_LONGEST, len(run)) + 1)
        for start in range(len(run) - size + 1)
    )
    frequent = {term: count for term, count in counts.items() if count >= least and _may_be_term(term)}
    before, after = _neighbours(runs, frequent)
    free = {
        term: count
        for term, count in frequent.items()
        if min(len(before[term]), len(after[term])) >= min(_LEAST_NEIGHBOURS, least)
    }
    kept: dict[str, int] = {}
    for term in sorted(free, key=len, reverse=True):
        within = sum(count for longer, count in kept.items() if term in longer)
        if free[term] - within >= max(least, _LEAST_ALONE * free[term]):
            kept[term] = free[term]
    return kept


def _may_be_term(term: str) -> bool:
    if term[0] == "本" and not term.startswith("本科"):
        return False
    return term not in _GENERAL and term[0] not in _NO_BEGIN and term[-1] not in _NO_END


def _neighbours(runs: Sequence[str], frequent: Collection[str]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return what stands before and after each term. Every end of a run is a neighbour of its own."""
    before: dict[str, set[str]] = defaultdict(set)
    after: dict[str, set[str]] = defaultdict(set)
    for number, run in enumerate(runs):
        for size in range(2, min(_LONGEST, len(run)) + 1):
            for start in range(len(run) - size + 1):
                term = run[start : start + size]
                if term in frequent:
                    end = start + size
                    before[term].add(run[start - 1] if start else f"^{number}")
                    after[term].add(run[end] if end < len(run) else f"${number}")
    return before, after


def _words(sample: str, least: int) -> dict[str, int]:
    """Return the Latin words with their numbers of occurrences, in their most frequent spelling."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for word in _WORD.findall(sample):
        is_plain = word.islower() and word.isalpha()
        if len(word) >= (3 if is_plain else 2) and len(word) <= 40 and word.lower() not in _ENGLISH:
            spellings[word.lower()][word] += 1
    return {
        spelt.most_common(1)[0][0]: count for spelt in spellings.values() if (count := spelt.total()) >= max(least, 3)
    }
