"""Tests of the four request formats, and of arbitrary answers: the result is a list of scores or a `ValueError`."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reranking.formats import FORMATS, format_of, read_scores, request_body

JINA, COHERE, SILICONFLOW, DASHSCOPE = (FORMATS[name] for name in ("jina", "cohere", "siliconflow", "dashscope"))

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["results", "output", "index", "relevance_score", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)
RESULT = st.fixed_dictionaries(
    {
        "index": st.integers(-1, 4) | st.booleans() | st.none(),
        "relevance_score": st.floats() | st.integers(-2, 2) | st.integers(10**400, 10**400 + 1) | st.text(max_size=2),
    }
)


@given(JSON | st.fixed_dictionaries({"results": st.lists(RESULT | JSON, max_size=4)}), st.integers(1, 4))
def test_an_answer_gives_good_scores_or_a_value_error(answer: object, count: int) -> None:
    for api_format in (JINA, DASHSCOPE):
        whole = answer if api_format is JINA else {"output": answer}
        try:
            scores = read_scores(api_format, "m", json.dumps(whole).encode(), count)
        except ValueError:
            continue
        assert len(scores) == count
        assert all(0 <= score <= 1 for score in scores)


@given(st.binary(max_size=60))
def test_bytes_of_any_kind(body: bytes) -> None:
    with pytest.raises(ValueError):
        read_scores(JINA, "m", body, 1)


@given(st.permutations(range(6)), st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_scores_come_back_in_the_order_of_the_passages(order: list[int], scores: list[float]) -> None:
    results = [{"index": index, "relevance_score": scores[index]} for index in order]
    assert read_scores(COHERE, "m", json.dumps({"results": results}).encode(), 6) == scores


@pytest.mark.parametrize(("cosine", "score"), [(-1.0, 0.0), (-0.14, 0.43), (0.0, 0.5), (0.43, 0.715), (1.0, 1.0)])
def test_jinas_third_model_gives_cosines(cosine: float, score: float) -> None:
    body = json.dumps({"results": [{"index": 0, "relevance_score": cosine}]}).encode()
    [read] = read_scores(JINA, "jina-reranker-v3", body, 1)
    assert math.isclose(read, score)


@pytest.mark.parametrize(("sent", "score"), [(1.0002, 1.0), (-0.0002, 0.0), (1, 1.0), (0, 0.0)])
def test_a_rounding_error_is_no_logit(sent: float, score: float) -> None:
    body = json.dumps({"results": [{"index": 0, "relevance_score": sent}]}).encode()
    assert read_scores(JINA, "m", body, 1) == [score]


def test_what_each_is_sent() -> None:
    flat = {"model": "m", "query": "问", "documents": ["甲", "乙"], "top_n": 2}
    assert json.loads(request_body(JINA, "m", "问", ["甲", "乙"])) == flat | {"return_documents": False}
    assert json.loads(request_body(SILICONFLOW, "m", "问", ["甲", "乙"])) == flat | {"return_documents": False}
    assert json.loads(request_body(COHERE, "m", "问", ["甲", "乙"])) == flat
    assert json.loads(request_body(DASHSCOPE, "m", "问", ["甲", "乙"])) == {
        "model": "m",
        "input": {"query": "问", "documents": ["甲", "乙"]},
        "parameters": {"top_n": 2, "return_documents": False},
    }


def test_half_characters_are_left_out() -> None:
    assert json.loads(request_body(JINA, "m", "问\ud800", ["甲\udfff"]))["query"] == "问"


def test_dashscopes_compatible_address_takes_the_common_format() -> None:
    assert format_of("dashscope", DASHSCOPE.url) is DASHSCOPE
    compatible = format_of("dashscope", "https://dashscope.aliyuncs.com/compatible-api/v1/reranks")
    assert (compatible.nested, compatible.title) == (False, "DashScope")
    assert format_of("jina", "https://relay.example/v1/reranks") is JINA
