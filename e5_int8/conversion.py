"""One-time conversion of the weights to an 8-bit ONNX model that is kept in a directory."""

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from e5_int8.adapter import FIRST_LAYER, Adapted, adapter_digest
from e5_int8.tokenizer import Tokenizer
from e5_int8.weights import MODEL, Weights, dequantize, installed_weights

if TYPE_CHECKING:
    import onnx

# Increase this when the graph changes, so that older files are converted again.
_REVISION = b"1"
# These texts show which channels have large values: the scripts and kinds of text found in a group, and repeated
# characters, which produce the largest values.
_CALIBRATION = (
    "query: 报销需要哪些材料？", "query: how do I reset my password", "passage: 好的",
    "passage: 群里的文件由管理员上传，支持 PDF、Word 和表格，单个文件不超过 20 MB。上传后自动解析。",
    "passage: 第三章 经费管理。差旅费凭票据实报实销，住宿费每人每天不超过 350 元，超出自付。" * 3,
    "passage: 臺灣的圖書館週一至週五上午九時至下午五時開放，國定假日閉館，借閱期限為三十日，逾期每日罰款五元。",
    "passage: Retrieval-augmented generation grounds an answer in documents; sources are cited with page numbers.",
    "passage: def f(x: int) -> int:\n    return x ** 2  # 平方\nSELECT * FROM users WHERE id = 42;",
    "passage: 2026-11-01 13:45:07 ERROR 10002 192.168.1.1 https://example.com/a?b=1&c=%E4%B8%AD",
    "passage: 😂🙏🎉 哈哈哈哈哈笑死我了！！！ ＡＢＣ１２３ こんにちは 안녕하세요 Привет مرحبا",
    "passage: " + "=" * 600, "passage: " + "哈哈" * 300, "passage: " + "a" * 800, "passage: ",
)  # fmt: skip


# Questions with passages, which show the same for the layers in which they meet.
_QUESTIONS = (
    "query: 报销需要哪些材料？",
    "query: 住宿一天最多报多少",
    "query: how do I reset my password",
    "query: 20 级的呢",
)


def model_path(directory: Path) -> Path:
    """Return the path of the converted model in a directory, whether or not it exists yet."""
    return directory / f"{MODEL}.onnx"


def reader_paths(directory: Path) -> tuple[Path, Path]:
    """Return the paths of the reader's lower and upper half in a directory, whether or not they exist yet."""
    return directory / f"{MODEL}-lower-{FIRST_LAYER}.onnx", directory / f"{MODEL}-reader-{adapter_digest()}.onnx"


def convert(directory: Path) -> Path:
    """Convert the installed weights, unless that is already done, and return the path of the model.

    The conversion takes some seconds and some 300 MB. The directory is created, and the file is written atomically; one
    that is truncated or damaged is replaced. Raise `WeightsError` if the weights cannot be used, or `OSError` if the
    directory is not writable.
    """
    path = model_path(directory)
    if not is_converted(directory):
        _save(path, _converted(installed_weights()))
    return path


def convert_reader(directory: Path) -> None:
    """Convert the installed weights with the reader's addition, unless that is already done; see `convert`."""
    weights = installed_weights()
    adapted = Adapted(weights)
    lower = convert_lower(directory)
    upper = reader_paths(directory)[1]
    if not _is_whole(upper):
        _save(upper, _converted_upper(adapted, weights, lower))


def convert_lower(directory: Path) -> Path:
    """Convert the first layers, which the reader shares with the encoder, and return the path of the graph."""
    path = reader_paths(directory)[0]
    if not _is_whole(path):
        _save(path, _converted_lower(installed_weights()))
    return path


def is_converted(directory: Path) -> bool:
    """Return whether a directory holds the converted model, neither truncated nor modified. Read all of its 22 MB."""
    return _is_whole(model_path(directory))


def is_reader_converted(directory: Path) -> bool:
    """Return whether a directory holds the converted reader, as `is_converted` does for the encoder."""
    return all(map(_is_whole, reader_paths(directory)))


def _converted(weights: Weights) -> bytes:
    # Imported here because only the first start needs them: onnx costs 0.15 s and 12 MB.
    from e5_int8.graph import transformer  # noqa: PLC0415

    texts = _Texts(weights)
    peaks, _ = _measure(transformer(weights), [{"words": texts.words(text)} for text in _CALIBRATION])
    return transformer(weights, peaks).SerializeToString()


def _converted_lower(weights: Weights) -> bytes:
    from e5_int8.graph import lower_half  # noqa: PLC0415

    texts = _Texts(weights)
    peaks, _ = _measure(lower_half(weights, FIRST_LAYER), [{"words": texts.words(text)} for text in _CALIBRATION])
    return lower_half(weights, FIRST_LAYER, peaks).SerializeToString()


def _converted_upper(adapted: Adapted, weights: Weights, lower: Path) -> bytes:
    import onnxruntime  # noqa: PLC0415

    from e5_int8.graph import upper_half  # noqa: PLC0415

    texts = _Texts(weights)
    session = onnxruntime.InferenceSession(str(lower), providers=["CPUExecutionProvider"])

    def states(text: str) -> NDArray[np.float32]:
        return np.asarray(session.run(["states"], {"words": texts.words(text)})[0], np.float32)

    pairs: list[dict[str, NDArray[Any]]] = []
    for number, text in enumerate(_CALIBRATION):
        asked = states(_QUESTIONS[number % len(_QUESTIONS)])
        joined = np.concatenate([asked, states(text)], axis=1)
        pairs.append({"joined": joined, "passage": np.array([asked.shape[1]], np.int64)})
    peaks, _ = _measure(upper_half(adapted), pairs)
    return upper_half(adapted, peaks).SerializeToString()


class _Texts:
    def __init__(self, weights: Weights) -> None:
        self._tokenizer = Tokenizer(weights.vocabulary())
        self._table = weights.blocks("emb.word", weights.sizes.hidden)
        self._most = weights.sizes.positions - 2

    def words(self, text: str) -> NDArray[np.float32]:
        ids = [self._tokenizer.begin, *self._tokenizer.encode(text)[: self._most], self._tokenizer.end]
        return dequantize(self._table[ids])[None]


def _measure(
    model: "onnx.ModelProto", inputs: Sequence[Mapping[str, NDArray[Any]]]
) -> tuple[dict[str, NDArray[np.float32]], list[dict[str, NDArray[np.float32]]]]:
    """Run an fp32 graph, and return the peaks of each product's input and all other outputs of each run."""
    import onnxruntime  # noqa: PLC0415

    from e5_int8.graph import measured  # noqa: PLC0415

    session = onnxruntime.InferenceSession(measured(model).SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    peaks: dict[str, NDArray[np.float32]] = {}
    found: list[dict[str, NDArray[np.float32]]] = []
    for item in inputs:
        outputs = {
            name: np.asarray(value, np.float32) for name, value in zip(names, session.run(names, item), strict=True)
        }
        for name, value in outputs.items():
            if name.startswith("peak:"):
                key = name.removeprefix("peak:")
                peaks[key] = np.maximum(peaks.get(key, 0), value)
        found.append({name: value for name, value in outputs.items() if not name.startswith("peak:")})
    return peaks, found


def _seal(model: bytes) -> bytes:
    # The digest is one more entry of ModelProto.metadata_props (field 14). A field appended to a message becomes part
    # of it, so the file stays a plain ONNX model and can be checked without parsing it.
    digest = hashlib.sha256(_REVISION + model).hexdigest().encode()
    entry = b"\x0a\x06sha256\x12" + bytes([len(digest)]) + digest
    return b"\x72" + bytes([len(entry)]) + entry


def _is_whole(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    size = len(_seal(b""))
    return len(content) > size and _seal(content[:-size]) == content[-size:]


def _save(path: Path, model: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, model + _seal(model))


def _write(path: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".converting-")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
