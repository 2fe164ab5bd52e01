"""Tests of the reader against fp32, and of the places that it names."""

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from e5_int8 import PassageReader, Reading, convert_reader, is_reader_converted
from e5_int8.adapter import ADAPTER, FIRST_LAYER, Adapted
from e5_int8.conversion import reader_paths
from e5_int8.graph import lower_half, upper_half
from e5_int8.tokenizer import Tokenizer
from e5_int8.weights import Weights, dequantize
from tests.e5_int8.texts import varied_texts

_ROOT = Path(__file__).parents[2]
_RULES = (
    "差旅费管理办法 第三章",
    "第一条 市内交通费凭票报销。\n第二条 住宿费每人每天不超过350元，超出自理。\n"
    "第三条 出差前填写申请单，由部门经理批准。",
)
_PASSAGES = [
    _RULES,
    ("图书馆须知", "图书馆周一至周五上午九点到下午五点开放，周末闭馆。借书期限为三十天，逾期每天罚款五角。"),
    ("設備清單", "設備 | 型號 | 單價(元) | 保修\n投影機 | EB-X06 | 3299 | 兩年\n音箱 | S880 | 499 | 一年"),
    ("Deployment guide", "Restart the server with `systemctl restart app`. Logs are kept for 14 days in /var/log/app."),
    ("", "😂😂 收到"),
]
_QUESTIONS = ["住宿一天最多报多少", "周末图书馆开不开门", "投影机保修几年", "how long are logs kept", "谁批准出差"]
_HOSTILE = ["", " ", "\n\n\t\n", "\0", "\ud800", "a" * 20_000, "😀\n" * 500, "\u202e\u200b", "=" * 3000, "\n" * 9000]


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    convert_reader(folder)
    return folder


@pytest.fixture(scope="module")
def reader(converted: Path) -> PassageReader:
    return PassageReader.open(converted, threads=2)


def _same(one: Reading, other: Reading) -> bool:
    return one.answers == other.answers and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("starts", "ends", "logits")
    )


def _fp32(weights: Weights, question: str, passages: list[tuple[str, str]]) -> list[tuple[float, NDArray[np.float32]]]:
    """Return the logit and the tokens' logits of passages of one line each, computed by the fp32 graphs."""
    tokenizer, table = Tokenizer(weights.vocabulary()), weights.blocks("emb.word", 384)
    adapted = Adapted(weights)

    def session(model: Any) -> Any:
        return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    lower, upper = session(lower_half(weights, FIRST_LAYER)), session(upper_half(adapted))

    def states(ids: list[int]) -> NDArray[np.float32]:
        return lower.run(["states"], {"words": dequantize(table[ids])[None]})[0]

    asked = states([0, *tokenizer.encode(f"query: {question}"), 2])
    found: list[tuple[float, NDArray[np.float32]]] = []
    for context, text in passages:
        head = [0, *tokenizer.encode(f"passage: {context}")]
        ids, places = tokenizer.encode_with_places(text)
        read = states([*head, 2, *ids, 2])
        joined, place = np.concatenate([asked, read], axis=1), np.array([asked.shape[1]], np.int64)
        answers, tokens = upper.run(["answers", "tokens"], {"joined": joined, "passage": place})
        # The tokens without characters of their own are left out of a reading.
        kept = np.array([end > start for start, end in places])
        found.append((float(answers[0, 0]), tokens[0, len(head) + 1 : -1, 0][kept]))
    return found


def test_readings_are_close_to_fp32(weights: Weights, reader: PassageReader) -> None:
    passages = [(context, text.replace("\n", " ")) for context, text in _PASSAGES]
    passages += [("", " ".join(text.split())[:200]) for text in varied_texts(20, seed=5) if text.strip()]
    differences: list[float] = []
    each: list[float] = []
    for question in _QUESTIONS:
        expected = _fp32(weights, question, passages)
        for (answers, tokens), reading in zip(expected, reader.read(question, passages), strict=True):
            differences.append(abs(answers - reading.answers))
            each += np.abs(tokens - reading.logits).tolist()
    # The logits of passages that answer and of others lie some five apart.
    assert float(np.mean(differences)) < 0.3
    assert max(differences) < 1.5
    assert float(np.mean(each)) < 0.3


@pytest.mark.parametrize("question", _QUESTIONS)
def test_the_answering_passage_is_first(reader: PassageReader, question: str) -> None:
    wanted = {"谁批准出差": 0}.get(question, _QUESTIONS.index(question))
    answers = [reading.answers for reading in reader.read(question, _PASSAGES)]
    assert int(np.argmax(answers)) == wanted, answers


def test_the_answer_is_the_best_token(reader: PassageReader) -> None:
    reading = reader.read("住宿一天最多报多少", [_RULES])[0]
    best = int(np.argmax(reading.logits))
    assert _RULES[1][reading.starts[best] : reading.ends[best]] in ("350", "元", "不超过")


@pytest.mark.parametrize(
    "text",
    [
        "臺灣的圖書館　週一休館，請向櫃檯登記。",
        "ＡＢＣ１２３：㎡ ﬁ 公里…　ｘ",
        "👨‍👩‍👧 家长😂须知\n\n  第一行\n第二行  结束🎉",
        "a  b\t c\n| x | y |\n",
    ],
)
def test_places_are_those_of_the_text(reader: PassageReader, text: str) -> None:
    reading = reader.read("几点", [("文件", text)])[0]
    assert len(reading.starts) == len(reading.ends) == len(reading.logits)
    assert (reading.starts < reading.ends).all()
    assert (np.diff(reading.starts) >= 0).all()
    covered = {place for start, end in zip(reading.starts, reading.ends, strict=True) for place in range(start, end)}
    missing = {text[place] for place in range(len(text)) if place not in covered}
    # A joiner has no token.
    assert missing <= set(" \t\n\u3000\u200d")


def test_readings_do_not_depend_on_company_or_order(reader: PassageReader) -> None:
    together = reader.read(_QUESTIONS[0], _PASSAGES)
    alone = [reader.read(_QUESTIONS[0], [passage])[0] for passage in _PASSAGES]
    assert all(map(_same, together, alone))
    order = list(range(len(_PASSAGES)))
    random.Random(2).shuffle(order)
    shuffled = reader.read(_QUESTIONS[0], [_PASSAGES[number] for number in order])
    assert all(_same(together[number], reading) for number, reading in zip(order, shuffled, strict=True))


def test_an_answer_behind_the_first_window_is_found(reader: PassageReader) -> None:
    filler = "会议室的桌椅由行政部统一安排，使用后请恢复原状并关好门窗。\n" * 40
    text = f"{filler}{_RULES[1]}"
    with_answer, without = reader.read(_QUESTIONS[0], [("办法", text), ("办法", filler)])
    assert with_answer.answers > without.answers + 1
    best = int(np.argmax(with_answer.logits))
    assert with_answer.starts[best] > len(filler)


@pytest.mark.parametrize("text", _HOSTILE, ids=lambda text: ascii(text[:8]))
def test_hostile_text(reader: PassageReader, text: str) -> None:
    for question, passage in ((text, _RULES), ("几点", (text, _RULES[1])), ("几点", ("", text))):
        reading = reader.read(question, [passage])[0]
        assert np.isfinite(reading.answers)
        assert np.isfinite(reading.logits).all()


def test_no_passages(reader: PassageReader) -> None:
    assert reader.read("几点", []) == []


def test_the_files_are_small_and_reused(converted: Path) -> None:
    assert ADAPTER.stat().st_size < 4_000_000
    paths = reader_paths(converted)
    assert sorted(converted.iterdir()) == sorted(paths)
    assert all(path.stat().st_size < 13_000_000 for path in paths)
    written = [path.stat().st_mtime_ns for path in paths]
    convert_reader(converted)
    assert [path.stat().st_mtime_ns for path in paths] == written


def test_a_damaged_file_is_converted_again(converted: Path, tmp_path: Path) -> None:
    for path in reader_paths(converted):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    upper = reader_paths(tmp_path)[1]
    good = upper.read_bytes()
    upper.write_bytes(good[:-1000])
    assert not is_reader_converted(tmp_path)
    convert_reader(tmp_path)
    assert upper.read_bytes() == good


def test_memory(converted: Path) -> None:
    program = (
        "import resource, sys\nfrom pathlib import Path\nfrom e5_int8 import PassageReader\n"
        "import onnxruntime\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "reader = PassageReader.open(Path(sys.argv[1]), threads=2)\n"
        "reader.read('几点开门', [('须知', '图书馆周一到周五上午九点开放。' * 40)] * 8)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(converted)], cwd=_ROOT, capture_output=True, check=True, text=True
    )
    assert int(ran.stdout) < 220, ran.stdout
