"""The report of /trace on a phone."""

from qq.reports.trace import list_text, summary_text
from services.tracing.models import (
    CandidateTrace,
    GateTrace,
    ModelCallTrace,
    ModelContext,
    RequestTrace,
    StageTime,
)


def answered() -> ModelContext:
    candidates = [
        CandidateTrace(build_id="b", ordinal=1, score=0.914, verdict="approved", label="规章.pdf 第2页"),
        CandidateTrace(build_id="b", ordinal=7, score=0.1, verdict="below_score"),
        CandidateTrace(build_id="b", ordinal=9, verdict="not_reranked", label="规章.pdf 第9页"),
    ]
    call = ModelCallTrace(model="deepseek", prompt_tokens=1200, completion_tokens=34, estimated=True, milliseconds=900)
    return ModelContext(
        uuid="1a2b3c4d-0000",
        timestamp=1_763_700_000_000,
        raw_question="差旅费要在多少天内\n报销？" + "很长" * 40,
        response="三十日内〔1〕。",
        trace=RequestTrace(
            kind="question",
            outcome="written",
            notice="先说一句。",
            gate=GateTrace(status="usable", threshold=0.5, chunk_count=9, recall=6, approved=1, candidates=candidates),
            model_calls=[call, call],
            stages=[StageTime(stage="search", milliseconds=12.3), StageTime(stage="total", milliseconds=1234)],
        ),
    )


def test_a_summary_fits_on_a_phone() -> None:
    lines = summary_text(answered()).splitlines()
    assert len(lines) == 10
    assert lines[0] == "1a2b3c 11-21 12:40 提问：写成回答"
    assert lines[1].startswith("问：差旅费要在多少天内 报销？很长")
    assert lines[2:] == [
        "答：三十日内〔1〕。",
        "资料：召回 6 段，过关 1 段，门槛 0.50",
        "· 规章.pdf 第2页 0.91 通过",
        "· （原文已不在） 0.10 得分不够",
        "模型：deepseek，2 次，约 2468 token",
        "先说一句。",
        "用时：1.23 秒（查找 0.01）",
        "完整记录：/trace 1a2b3c full",
    ]
    assert max(map(len, lines)) <= 60


def test_a_long_sentence_keeps_the_codes_of_its_failures() -> None:
    sentence = "模型服务这次没有回答，下面只是资料里的原文，" * 3
    record = answered()
    record.trace.outcome, record.trace.notice = "failed", f"{sentence}（QZ-M02）重排没有得分。（QZ-R02，编号 1a2b3c）"
    record.response = f"{sentence}（QZ-M02）"
    lines = summary_text(record).splitlines()
    assert lines[2].endswith("…（QZ-M02）")
    assert lines[7].endswith("…（QZ-M02、QZ-R02）")
    assert max(map(len, lines)) <= 52
    record.trace.outcome = "written"
    assert "QZ" not in summary_text(record).splitlines()[2]


def test_a_list_has_a_line_for_each_number_and_the_next_command() -> None:
    text = list_text([answered()])
    assert text == "1a2b3c 11-21 12:40 写成回答 差旅费要在多少天内 报销？…\n看一个：/trace 1a2b3c"
    assert list_text([]) == "这里还没有记录。"


def test_what_was_erased_is_said_to_be() -> None:
    record = answered()
    record.erase()
    assert "（文字已删除）" in list_text([record])
    text = summary_text(record)
    assert "问：（文字已删除）" in text
    assert "答：" not in text


def test_kinds_that_a_newer_version_knows_are_shown_as_they_are() -> None:
    record = ModelContext(trace=RequestTrace(kind="search", outcome="searched"))
    assert "search：searched" in summary_text(record)
