"""Request and response formats of Jina, Cohere, SiliconFlow and DashScope.

Based on the services' own documentation (read 2026): jina.ai/reranker, docs.cohere.com (v2/rerank), docs.siliconflow.cn
(create-rerank), help.aliyun.com/zh/model-studio/text-rerank-api.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

# Scores are computed in 32 or 16 bits, so the score of a certain match may be slightly above 1.
_ROUNDING = 1e-3
# Returns cosines from -1 to 1 by construction (Jina's model card); all other models of the four services return 0 to 1.
_COSINE_MODEL = re.compile("jina-reranker-v3", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ApiFormat:
    """The request and response format of one service.

    `nested` is DashScope's own format: question and passages are under `input`, results under `output`.
    `returns_documents` tells whether the service returns the texts unless the request says otherwise; Cohere's v2 has
    no such option.
    """

    title: str
    url: str
    nested: bool = False
    returns_documents: bool = True


FORMATS: Mapping[str, ApiFormat] = {
    "jina": ApiFormat("Jina", "https://api.jina.ai/v1/rerank"),
    "cohere": ApiFormat("Cohere", "https://api.cohere.com/v2/rerank", returns_documents=False),
    "siliconflow": ApiFormat("SiliconFlow", "https://api.siliconflow.cn/v1/rerank"),
    "dashscope": ApiFormat(
        "DashScope", "https://dashscope.aliyuncs.com/api/v1/services/rerank/text-rerank/text-rerank", nested=True
    ),
}
# DashScope's compatible endpoint, `…/compatible-api/v1/reranks`, uses the same format as the other services.
_COMPATIBLE = ApiFormat("DashScope", "")


def format_of(provider: str, url: str) -> ApiFormat:
    """Return the format that a service uses at an address."""
    api_format = FORMATS[provider]
    return _COMPATIBLE if api_format.nested and urlsplit(url).path.rstrip("/").endswith("/reranks") else api_format


def request_body(api_format: ApiFormat, model: str, question: str, passages: Sequence[str]) -> bytes:
    """Return the JSON body to post.

    It requests a score for every passage, because a service may return only the best ones by default.
    """
    asked: dict[str, Any] = {"query": question, "documents": list(passages)}
    wanted: dict[str, Any] = {"top_n": len(passages)}
    if api_format.returns_documents:
        wanted["return_documents"] = False
    parts = {"input": asked, "parameters": wanted} if api_format.nested else asked | wanted
    return json.dumps({"model": model, **parts}, ensure_ascii=False).encode("utf-8", "ignore")


def read_scores(api_format: ApiFormat, model: str, body: bytes, count: int) -> list[float]:
    """Return one score from 0 to 1 for each of `count` passages, in their order.

    Raise `ValueError` for any other content. A score outside the range is an error and is not clipped: it would be a
    logit, from a service that only resembles one of the four, and would have another meaning.
    """
    try:
        answer: Any = json.loads(body)
        results: Any = answer["output"]["results"] if api_format.nested else answer["results"]
        pairs = [(_index(result["index"], count), _score(result["relevance_score"], model)) for result in results]
    except (KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"wrong content, {type(error).__name__} {error}") from error
    found = dict(pairs)
    if len(pairs) > len(found):
        raise ValueError("one passage has two scores")
    if len(found) < count:
        raise ValueError(f"{len(found)} of {count} passages have a score")
    return [found[index] for index in range(count)]


def _index(value: Any, count: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise ValueError(f"an index that is none of {count} passages")
    return value


def _score(value: Any, model: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("a score that is no finite number")
    score = (1 + value) / 2 if _COSINE_MODEL.search(model) else float(value)
    if not -_ROUNDING <= score <= 1 + _ROUNDING:
        raise ValueError(f"score {value:g} out of range")
    return min(1.0, max(0.0, score))
