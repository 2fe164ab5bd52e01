"""Tests of the gate: only candidates that reach every bound pass."""

from hypothesis import given
from hypothesis import strategies as st

from services.retrieval.conflicts import read_question
from services.retrieval.gate import GateRules, judge
from services.retrieval.identifiers import identifiers
from services.retrieval.models import Verdict
from tests.services.retrieval.candidates import candidate

numbers = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.floats(-1, 1))
candidates = st.lists(st.tuples(st.one_of(st.none(), numbers), st.one_of(st.none(), numbers)), max_size=8)


@given(
    facts=candidates,
    similarity=st.floats(-1, 1),
    score=st.floats(0, 1),
    count=st.integers(1, 4),
)
def test_what_is_approved_has_reached_every_bound(
    facts: list[tuple[float | None, float | None]], similarity: float, score: float, count: int
) -> None:
    items = [
        candidate(str(number), rerank_score=rerank, cosine=cosine) for number, (cosine, rerank) in enumerate(facts)
    ]
    judged = judge(items, GateRules(similarity, score, count))
    assert {item.hit.chunk.chunk_id for item in judged} == {item.hit.chunk.chunk_id for item in items}
    approved = [item for item in judged if item.verdict is Verdict.APPROVED]
    qualified = [
        cosine_and_score
        for cosine_and_score in facts
        if cosine_and_score[1] is not None
        and cosine_and_score[1] >= score
        and (cosine_and_score[0] is None or cosine_and_score[0] >= similarity)
    ]
    assert len(approved) == (len(qualified) if len(qualified) >= count else 0)
    for item in approved:
        assert item.rerank_score is not None and item.rerank_score >= score
        assert item.hit.cosine is None or item.hit.cosine >= similarity


@given(scores=st.lists(st.floats(0, 1), min_size=1, max_size=8), companion=st.none() | st.floats(0, 1))
def test_further_passages_pass_beside_one_that_answers(scores: list[float], companion: float | None) -> None:
    items = [candidate(str(number), rerank_score=score) for number, score in enumerate(scores)]
    judged = judge(items, GateRules(-1.0, 0.5, 1, min_companion_score=companion))
    approved = sorted(item.rerank_score or 0.0 for item in judged if item.verdict is Verdict.APPROVED)
    lowest = 0.5 if companion is None else min(companion, 0.5)
    assert approved == (sorted(score for score in scores if score >= lowest) if max(scores) >= 0.5 else [])


def test_a_passage_about_another_identifier_is_refused() -> None:
    items = [
        candidate("text", rerank_score=0.8, text="编号 ＡＢ－09999 的设备保修期为 5 个月"),
        candidate("heading", rerank_score=0.8, text="保修期为 5 个月", heading="设备 ab09999"),
        candidate("other", rerank_score=0.8, text="编号 AB00009 的设备保修期为 10 个月"),
        candidate("longer", rerank_score=0.8, text="编号 AB099990 的设备保修期为 10 个月"),
    ]
    judged = judge(items, GateRules(0.5, 0.5, 1, identifiers("AB09999 或 CX777 的保修期")))
    assert {item.hit.chunk.chunk_id: item.verdict for item in judged} == {
        "text": Verdict.APPROVED,
        "heading": Verdict.APPROVED,
        "other": Verdict.OTHER_IDENTIFIER,
        "longer": Verdict.OTHER_IDENTIFIER,
    }


def test_a_page_without_identifiers_follows_one_that_has_the_asked_one() -> None:
    page = candidate("page", rerank_score=0.8, text="引脚电压为 3.3 V")
    cover = candidate("cover", rerank_score=0.2, text="ESP8266 开发板手册")
    rules = GateRules(0.5, 0.5, 1, identifiers("ESP8266 的引脚电压"))
    assert {item.hit.chunk.chunk_id: item.verdict for item in judge([page, cover], rules)} == {
        "page": Verdict.APPROVED,
        "cover": Verdict.BELOW_SCORE,
    }
    # Nothing here is about it.
    assert judge([page], rules)[0].verdict is Verdict.OTHER_IDENTIFIER


def test_a_number_is_an_identifier_where_it_is_called_one() -> None:
    assert identifiers("45950 这批什么时候过期") == identifiers("批号：45950") == {"45950"}
    assert identifiers("10000 元、45950 人和 2024 年") == frozenset()
    rules = GateRules(0.5, 0.5, 1, identifiers("W25N01 怎么接"))
    family = candidate("family", rerank_score=0.8, text="W25N01GVZEIG 接 GP17")
    assert judge([family], rules)[0].verdict is Verdict.APPROVED


def test_a_passage_about_another_year_or_article_is_refused() -> None:
    items = [
        candidate("asked", rerank_score=0.8, text="第10条 应当登记。", file="公约2019.md"),
        candidate("article", rerank_score=0.8, text="第十一条 应当登记。", file="公约2019.md"),
        candidate("year", rerank_score=0.8, text="第十条 应当登记。", file="公约2018.md"),
        candidate("neither", rerank_score=0.8, text="应当登记。"),
    ]
    judged = judge(items, GateRules(0.5, 0.5, 1, asked=read_question("19年的第十条怎么说")))
    assert {item.hit.chunk.chunk_id: item.verdict for item in judged} == {
        "asked": Verdict.APPROVED,
        "article": Verdict.OTHER_SUBJECT,
        "year": Verdict.OTHER_SUBJECT,
        "neither": Verdict.APPROVED,
    }


def test_every_refusal_says_why() -> None:
    items = [
        candidate("passes", rerank_score=0.8),
        candidate("unlike", rerank_score=0.7, cosine=0.1),
        candidate("weak", rerank_score=0.4),
        candidate("unseen"),
        candidate("blank", rerank_score=0.9, text="  \n"),
    ]
    judged = judge(items, GateRules(0.5, 0.5, 1))
    assert {item.hit.chunk.chunk_id: item.verdict for item in judged} == {
        "passes": Verdict.APPROVED,
        "unlike": Verdict.BELOW_SIMILARITY,
        "weak": Verdict.BELOW_SCORE,
        "unseen": Verdict.NOT_RERANKED,
        "blank": Verdict.NOT_RERANKED,
    }
    (first, *_) = judge(items, GateRules(0.5, 0.5, 2))
    assert {item.verdict for item in judge(items, GateRules(0.5, 0.5, 2))}.isdisjoint({Verdict.APPROVED})
    assert first.verdict in (Verdict.TOO_FEW_QUALIFIED, Verdict.NOT_RERANKED)
