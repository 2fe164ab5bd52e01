"""Benchmark of rare codes planted in a corpus: are they found in any sentence, case and width?"""

import random
import string

from benchmarks.quality.collection import open_shelf
from benchmarks.quality.datasets import Paragraph, Passage, passages_of
from benchmarks.quality.readings import Readings
from benchmarks.quality.report import Figure, Report
from benchmarks.quality.scores import standard_error
from benchmarks.quality.vectors import Vectors
from services.retrieval.models import Question, Verdict

CODES = 100
# Number of passages of the corpus in addition to the reading set.
_OTHERS = 300
_PHRASINGS = (
    ("the code alone", "{code}"),
    ("in a sentence", "请问一下{code}这个问题大家是怎么解决的呀"),
    ("in lower case", "有人遇到过 {lower} 吗"),
    ("in full width", "设备显示{wide}，应该怎么处理"),
)
_SENTENCES = (
    "出现 {code} 时，先断开电源，等待三分钟后重新启动设备。",
    "型号 {code} 的配件从三号仓库领取，领取时登记姓名。",
    "工单 {code} 由二组负责，处理结果在周五前反馈。",
    "参数 {code} 的缺省值不适合大批量任务，建议改小一半。",
)


async def run(
    vectors: Vectors, readings: Readings | None, paragraphs: list[Paragraph], corpus: list[Passage], count: int = CODES
) -> Report:
    """Report the hit rate among the first five, as ranked and as approved, against each channel alone."""
    chance = random.Random(20)
    passages = [*passages_of(paragraphs, titled=True), *chance.sample(corpus, min(_OTHERS, len(corpus)))]
    codes = [_code(chance) for _ in range(count)]
    hosts = chance.sample(range(len(passages)), count)
    for code, host in zip(codes, hosts, strict=True):
        old = passages[host]
        middle = len(old.text) // 2
        planted = chance.choice(_SENTENCES).format(code=code)
        passages[host] = Passage(
            old.document, old.ordinal, old.context, old.text[:middle] + planted + old.text[middle:]
        )
    report = Report(f"Planted codes: {count} codes in {len(passages)} chunks")
    report.row("asked", "hit@5 shipped", "hit@1 shipped", "approved", "hit@5 dense alone", "hit@5 BM25 alone")
    hits = 0
    async with open_shelf(vectors, readings) as shelf:
        await shelf.fill("codes", passages)
        for name, phrasing in _PHRASINGS:
            shipped = first = approved = dense = words = 0
            for code in codes:
                wide = "".join(chr(ord(character) + 0xFEE0) for character in code)
                text = phrasing.format(code=code, lower=code.lower(), wide=wide)
                found = await shelf.retriever.retrieve("codes", Question(text))
                ranked = list(found.candidates)
                shipped += any(code in item.hit.chunk.text for item in ranked[:5])
                first += any(code in item.hit.chunk.text for item in ranked[:1])
                approved += any(code in item.hit.chunk.text for item in ranked if item.verdict is Verdict.APPROVED)
                by_cosine = sorted(ranked, key=lambda item: -(item.hit.cosine or -1.0))
                dense += any(code in item.hit.chunk.text for item in by_cosine[:5])
                by_words = sorted(ranked, key=lambda item: -(item.hit.bm25 or 0.0))
                words += any(code in item.hit.chunk.text for item in by_words[:5])
            hits += shipped
            report.row(name, *(f"{number / count:.2f}" for number in (shipped, first, approved, dense, words)))
    share = hits / (count * len(_PHRASINGS))
    report.figure(Figure("codes hit@5", share, standard_error(0.99, count * len(_PHRASINGS))))
    return report


def _code(chance: random.Random) -> str:
    letters = "".join(chance.choices(string.ascii_uppercase, k=chance.choice((2, 3, 4))))
    return f"{letters}{chance.choice(('-', '_', ''))}{chance.randrange(1000, 99999)}"
