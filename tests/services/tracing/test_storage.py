"""Stored records: whole when they are read again, without the texts of documents, and without secrets."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.errors import DamagedRecord
from services.tracing.models import (
    CandidateTrace,
    GateTrace,
    ModelCallTrace,
    ModelContext,
    PassageTrace,
    QuestionTrace,
    RequestTrace,
    StageTime,
)
from services.tracing.storage import restored, stored

TEXTS = st.text(max_size=12)
NUMBERS = st.floats(0, 1000, allow_nan=False)
CANDIDATES = st.builds(
    CandidateTrace,
    build_id=TEXTS,
    ordinal=st.integers(0, 999),
    cosine=st.none() | NUMBERS,
    score=st.none() | NUMBERS,
    verdict=TEXTS,
    label=TEXTS,
    text=TEXTS,
    matched=st.lists(TEXTS, max_size=2),
)
PASSAGES = st.builds(
    PassageTrace,
    number=st.integers(1, 9),
    build_id=TEXTS,
    first_ordinal=st.integers(0, 9),
    last_ordinal=st.integers(0, 9),
    cited_as=st.none() | st.integers(1, 9),
    label=TEXTS,
    text=TEXTS,
)
GATES = st.builds(
    GateTrace,
    status=TEXTS,
    candidates=st.lists(CANDIDATES, max_size=2),
    passages=st.lists(PASSAGES, max_size=2),
)
CALLS = st.builds(
    ModelCallTrace,
    model=TEXTS,
    prompt_tokens=st.integers(0),
    completion_tokens=st.integers(0),
    estimated=st.booleans(),
    milliseconds=NUMBERS,
)
QUESTIONS = st.builds(
    QuestionTrace, quoted=TEXTS, rewritten=TEXTS, searched=TEXTS, expansions=st.lists(TEXTS, max_size=2)
)
TRACES = st.builds(
    RequestTrace,
    kind=TEXTS,
    chat=TEXTS,
    session_id=TEXTS,
    collection=TEXTS,
    turn_id=st.none() | st.integers(0),
    message_id=st.none() | st.integers(),
    outcome=TEXTS,
    notice=TEXTS,
    question=QUESTIONS,
    gate=st.none() | GATES,
    model_calls=st.lists(CALLS, max_size=2),
    stages=st.lists(st.builds(StageTime, stage=TEXTS, milliseconds=NUMBERS), max_size=2),
)
RECORDS = st.builds(
    ModelContext,
    timestamp=st.integers(0, 4_000_000_000_000),
    raw_question=TEXTS,
    retriver_chunks=st.lists(TEXTS, max_size=2),
    prompts=st.lists(st.dictionaries(TEXTS, TEXTS, max_size=2), max_size=2),
    response=TEXTS,
    tool_name=TEXTS,
    tool_config=st.dictionaries(TEXTS, TEXTS | st.integers(), max_size=2),
    trace=TRACES,
)


def as_stored(record: ModelContext) -> ModelContext:
    """Return a copy without what is looked up in the documents, and without other messages."""
    copy = record.model_copy(deep=True, update={"retriver_chunks": []})
    if copy.trace.question.quoted or copy.trace.question.rewritten:
        copy.trace.question = QuestionTrace()
    if copy.trace.gate is not None:
        for candidate in copy.trace.gate.candidates:
            candidate.label, candidate.text, candidate.matched = "", "", []
        for passage in copy.trace.gate.passages:
            passage.label = passage.text = ""
    return copy


@given(RECORDS)
def test_a_record_is_the_same_when_it_is_read_again(record: ModelContext) -> None:
    assert ModelContext.model_validate_json(record.model_dump_json()) == record
    assert restored(stored(record)) == as_stored(record)


def test_fields_of_a_newer_version_survive() -> None:
    newer: dict[str, Any] = ModelContext(trace=RequestTrace(kind="search")).model_dump(mode="json")
    newer |= {"version": 2, "search_session": {"session_id": "s", "query_results": []}}
    newer["trace"]["rounds"] = [1, 2]
    read = ModelContext.model_validate(newer)
    assert read.model_dump(mode="json") == newer
    assert restored(stored(read)).model_dump(mode="json") == newer


def full_record() -> ModelContext:
    gate = GateTrace(
        status="usable",
        candidates=[CandidateTrace(build_id="b", ordinal=1, label="canary-l1", text="canary-t1", matched=["canary-m"])],
        passages=[
            PassageTrace(number=1, build_id="b", first_ordinal=0, last_ordinal=1, label="canary-l2", text="canary-t2")
        ],
    )
    question = QuestionTrace(searched="words", expansions=["words"])
    return ModelContext(
        raw_question="words",
        retriver_chunks=["canary-t2"],
        prompts=[{"role": "user", "content": "words"}],
        response="words",
        trace=RequestTrace(kind="question", gate=gate, question=question),
    )


def test_the_text_of_documents_is_not_stored() -> None:
    assert "canary" in full_record().model_dump_json()
    item = stored(full_record())
    assert "canary" not in f"{item.record}{item.texts}"
    assert item.build_ids == {"b"}


@pytest.mark.parametrize("field", ["quoted", "rewritten"])
def test_other_messages_are_not_stored(field: str) -> None:
    record = full_record()
    record.trace.question = QuestionTrace(searched="words\nothers", expansions=["others"])
    setattr(record.trace.question, field, "others")
    item = stored(record)
    assert "others" not in f"{item.record}{item.texts}"
    assert restored(item).raw_question == "words"


def test_all_words_are_in_the_part_that_can_be_erased() -> None:
    item = stored(full_record())
    assert "words" not in item.record
    assert (item.texts or "").count("words") == 5
    read = restored(replace(item, texts=None))
    assert read.trace.erased
    assert "words" not in read.model_dump_json()


def test_an_erased_record_has_no_words() -> None:
    record = full_record()
    record.erase()
    assert "words" not in record.model_dump_json()
    assert "canary" not in record.model_dump_json()
    assert stored(record).texts is None


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="*"), min_size=5, max_size=20))
def test_no_secret_is_stored(secret: str) -> None:
    record = full_record()
    record.raw_question = record.response = f"前{secret}后"
    record.tool_config = {"key": secret}
    record.prompts = [{"role": "user", "content": secret}]
    record.trace.notice = f"a{secret}b"
    read = restored(stored(record, ["other", secret]))
    texts = (read.raw_question, read.response, read.trace.notice, read.tool_config["key"], read.prompts[0]["content"])
    assert all(secret not in text for text in texts)


@pytest.mark.parametrize("damaged", ["", "[]", "{}", "null", '{"trace": 5}', '{"trace": {"kind": 5}}'])
def test_a_damaged_record_is_an_error_that_names_no_text(damaged: str) -> None:
    item = stored(full_record())
    with pytest.raises(DamagedRecord, match=f"^QZ-D04 .*{item.uuid} is damaged"):
        restored(replace(item, record=damaged))
    if damaged:
        with pytest.raises(DamagedRecord, match="damaged"):
            restored(replace(item, texts=damaged))
