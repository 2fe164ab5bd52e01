"""Tests of running a test set, in order, with pauses and through failures, and of the resulting figures."""

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.budgets.charge import present_charge
from services.errors import SearchIndexError
from services.evaluation.models import Evaluation, Sample, SampleOutcome, best_candidate, same_file
from services.evaluation.service import Evaluations, evaluate, try_question
from services.retrieval.models import Question, Retrieval, RetrievalStatus, Strictness, Verdict
from tests.services.evaluation.retrievals import ScriptedRetriever, candidate, retrieval

GOOD = retrieval(candidate(), candidate("别的。", score=0.3, verdict=Verdict.BELOW_SCORE))
BAD = retrieval(candidate(score=0.2, verdict=Verdict.BELOW_SCORE), candidate(score=0.1, verdict=Verdict.BELOW_SCORE))
BROKEN = retrieval(candidate(score=None), status=RetrievalStatus.RERANK_FAILED, warning="重排服务出错了。")


def answer(text: str) -> Retrieval:
    if "索引坏" in text:
        raise SearchIndexError("资料索引出错了，请稍后再试。")
    if "重排坏" in text:
        return BROKEN
    return GOOD if "答" in text else BAD


async def no_pause(_seconds: float) -> None:
    """Return at once."""


async def no_progress(_count: int) -> None:
    """Ignore the progress."""


async def test_questions_go_one_by_one_and_in_order() -> None:
    retriever = ScriptedRetriever(answer)
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    samples = [Sample("答一"), Sample("二"), Sample("索引坏"), Sample("重排坏"), Sample("答三")]
    evaluation = await evaluate(retriever, "group_777", samples, no_progress, pause=pause)
    assert retriever.asked == [("group_777", Question(sample.text)) for sample in samples]
    assert len(pauses) == 5
    assert min(pauses) >= 0.02
    assert [outcome.answered for outcome in evaluation.outcomes] == [True, False, None, None, True]
    assert [outcome.failure for outcome in evaluation.outcomes] == [
        "",
        "",
        "资料索引出错了，请稍后再试。（QZ-R03）",
        "重排服务出错了。",
        "",
    ]
    assert (evaluation.answered, evaluation.silent, evaluation.failed) == (2, 1, 2)
    # Only the candidate that decided is kept, without the texts of all others.
    assert [len(outcome.retrieval.candidates) for outcome in evaluation.outcomes if outcome.retrieval] == [1, 1, 1, 1]


async def test_progress_is_told_every_thirty_seconds() -> None:
    retriever, seconds, told = ScriptedRetriever(answer), [0.0], list[int]()

    async def pause(_seconds: float) -> None:
        seconds[0] += 4.0

    async def progress(count: int) -> None:
        assert len(retriever.asked) == count
        told.append(count)

    samples = [Sample("答")] * 33
    await evaluate(retriever, "c", samples, progress, pause=pause, clock=lambda: seconds[0])
    # After the last question the result itself is reported.
    assert told == [9, 17, 25]


async def test_a_service_that_is_down_ends_the_run() -> None:
    samples = [Sample("答"), *[Sample("重排坏")] * 4, Sample("答"), *[Sample("索引坏")] * 20]
    evaluation = await evaluate(ScriptedRetriever(answer), "c", samples, no_progress, pause=no_pause)
    assert (len(evaluation.outcomes), evaluation.planned) == (11, 26)


async def test_one_question_with_the_message_it_quotes() -> None:
    retriever = ScriptedRetriever(answer)
    outcome = await try_question(retriever, "c", Sample("答"), "引用")
    assert retriever.asked == [("c", Question("答", "引用"))]
    assert outcome.retrieval is GOOD
    assert outcome.seconds >= 0


@pytest.mark.parametrize(
    ("text", "expected", "document", "right", "found"),
    [
        ("答", True, "", True, None),
        ("答", False, "", False, None),
        ("答", None, "", None, None),
        ("不", True, "", False, None),
        ("不", False, "", True, None),
        ("答", True, "规章", True, True),
        ("答", True, "别的.pdf", False, False),
        ("不", True, "别的.pdf", False, None),
        ("重排坏", True, "", None, None),
        ("索引坏", False, "", None, None),
    ],
)
async def test_right_and_wrong(
    text: str, expected: bool | None, document: str, right: bool | None, found: bool | None
) -> None:
    outcome = await try_question(ScriptedRetriever(answer), "c", Sample(text, expected, document))
    assert outcome.right is right
    assert outcome.found_document is found


ROWS = st.lists(st.tuples(st.sampled_from([GOOD, BAD, None]), st.sampled_from([True, False, None])), max_size=30)


@given(ROWS)
def test_the_figures_are_the_definitions(rows: list[tuple[Retrieval | None, bool | None]]) -> None:
    outcomes = [SampleOutcome(Sample("题", expected), found, "" if found else "坏。", 0.01) for found, expected in rows]
    evaluation = Evaluation(outcomes, len(outcomes))
    assert evaluation.answered + evaluation.silent + evaluation.failed == len(rows)
    pairs = [(found is GOOD, expected) for found, expected in rows if found and expected is not None]
    assert evaluation.labelled == len(pairs)
    true_positive = pairs.count((True, True))
    answered, positive = sum(found for found, _ in pairs), sum(bool(expected) for _, expected in pairs)
    assert evaluation.precision == (true_positive / answered if answered else None)
    assert evaluation.recall == (true_positive / positive if positive else None)
    precision, recall, f1 = evaluation.precision, evaluation.recall, evaluation.f1
    if precision and recall:
        assert f1 is not None
        assert math.isclose(f1, 2 * precision * recall / (precision + recall))
    else:
        assert not f1
    assert len(evaluation.wrong) == sum(found is not expected for found, expected in pairs)
    # Wrong answers come before wrong silence.
    assert [outcome.answered for outcome in evaluation.wrong] == sorted(
        (outcome.answered for outcome in evaluation.wrong), key=lambda value: not value
    )


def test_the_candidate_that_decided() -> None:
    dissimilar, approved = candidate(score=0.9, verdict=Verdict.BELOW_SIMILARITY), candidate("乙", score=0.8)
    assert best_candidate(retrieval(dissimilar, approved)) is approved
    assert best_candidate(BAD) is BAD.candidates[0]
    assert best_candidate(retrieval()) is None


def test_same_file() -> None:
    assert same_file("规章.PDF", "规章.pdf ")
    assert same_file("v1.2 手册.docx", "V1.2 手册")
    assert not same_file("手册2.docx", "手册")
    assert not same_file("手册.docx", ".docx")


class ChargedRetriever(ScriptedRetriever):
    """A retriever that notes who pays and how many retrievals run at once."""

    def __init__(self) -> None:
        super().__init__(answer)
        self.payers: list[str] = []
        self.at_once = self.most_at_once = 0

    async def retrieve_twice(
        self, collection: str, question: Question, *, strictness: Strictness = Strictness.ASKED
    ) -> Retrieval:
        self.payers.append(present_charge().chat)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.001)
        self.at_once -= 1
        return await super().retrieve_twice(collection, question, strictness=strictness)


async def test_a_chat_pays_for_its_evaluations() -> None:
    retriever = ChargedRetriever()
    evaluations = Evaluations(retriever)
    outcome = await evaluations.explain("group_777", "group_777", Sample("答"), "引用")
    assert outcome.answered
    await evaluations.run("private_10002", "group_777", [Sample("答")], no_progress)
    assert retriever.payers == ["group_777", "private_10002"]
    assert retriever.asked[0] == ("group_777", Question("答", "引用"))


class StrictRetriever(ScriptedRetriever):
    """Notes how strict the gate was to be."""

    def __init__(self) -> None:
        super().__init__(answer)
        self.strictness: list[Strictness] = []

    async def retrieve_twice(
        self, collection: str, question: Question, *, strictness: Strictness = Strictness.ASKED
    ) -> Retrieval:
        self.strictness.append(strictness)
        return await super().retrieve_twice(collection, question)


async def test_the_gate_is_as_strict_as_for_a_real_question() -> None:
    retriever = StrictRetriever()
    evaluations = Evaluations(retriever, Strictness.WRITTEN)
    await evaluations.explain("group_1", "group_1", Sample("答"))
    await evaluations.run("group_1", "group_1", [Sample("答")], no_progress)
    assert retriever.strictness == [Strictness.WRITTEN, Strictness.WRITTEN]


async def test_test_sets_run_one_after_the_other_and_a_question_beside_them() -> None:
    retriever = ChargedRetriever()
    evaluations = Evaluations(retriever)
    samples = [Sample("答"), Sample("不")]
    runs = [evaluations.run(chat, chat, samples, no_progress) for chat in ("group_1", "group_2", "group_3")]
    done = await asyncio.gather(*runs)
    assert [evaluation.answered for evaluation in done] == [1, 1, 1]
    assert retriever.most_at_once == 1
    assert [collection for collection, _ in retriever.asked] == ["group_1"] * 2 + ["group_2"] * 2 + ["group_3"] * 2
    await asyncio.gather(
        evaluations.run("group_1", "group_1", samples, no_progress),
        evaluations.explain("group_2", "group_2", Sample("答")),
    )
    assert retriever.most_at_once == 2


def test_a_chat_has_one_test_set_in_hand() -> None:
    evaluations = Evaluations(ScriptedRetriever(answer))

    def fail() -> None:
        with evaluations.taken("group_1") as is_taken:
            assert is_taken
            assert evaluations.is_busy("group_1")
            assert not evaluations.is_busy("group_2")
            with evaluations.taken("group_1") as again, evaluations.taken("group_2") as other:
                assert (again, other) == (False, True)
            assert evaluations.is_busy("group_1"), "a refused one does not end the one in hand"
            raise SearchIndexError("资料索引出错了，请稍后再试。")

    with pytest.raises(SearchIndexError):
        fail()
    assert not evaluations.is_busy("group_1")
