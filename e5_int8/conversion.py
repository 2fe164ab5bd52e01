"""One-time conversion of the weights to an 8-bit ONNX model that is kept in a directory."""

import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from e5_int8.weights import MODEL, Weights, dequantize, installed_weights

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


def model_path(directory: Path) -> Path:
    """Return the path of the converted model in a directory, whether or not it exists yet."""
    return directory / f"{MODEL}.onnx"


def convert(directory: Path) -> Path:
    """Convert the installed weights, unless that is already done, and return the path of the model.

    The conversion takes some seconds and some 300 MB. The directory is created, and the file is written atomically; one
    that is truncated or damaged is replaced. Raise `WeightsError` if the weights cannot be used, or `OSError` if the
    directory is not writable.
    """
    path = model_path(directory)
    if not is_converted(directory):
        model = _converted(installed_weights())
        directory.mkdir(parents=True, exist_ok=True)
        _write(path, model + _seal(model))
    return path


def _converted(weights: Weights) -> bytes:
    # Imported here because only the first start needs them: onnx costs 0.15 s and 12 MB.
    import onnxruntime  # noqa: PLC0415

    from e5_int8.graph import measured_transformer, transformer  # noqa: PLC0415
    from e5_int8.tokenizer import Tokenizer  # noqa: PLC0415

    tokenizer = Tokenizer(weights.vocabulary())
    table = weights.blocks("emb.word", weights.sizes.hidden)
    session = onnxruntime.InferenceSession(
        measured_transformer(weights).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs() if output.name.startswith("peak:")]
    peaks: dict[str, NDArray[np.float32]] = {}
    for text in _CALIBRATION:
        ids = [tokenizer.begin, *tokenizer.encode(text)[: weights.sizes.positions - 2], tokenizer.end]
        for name, peak in zip(names, session.run(names, {"words": dequantize(table[ids])[None]}), strict=True):
            key = name.removeprefix("peak:")
            peaks[key] = np.maximum(peaks.get(key, 0), np.asarray(peak, np.float32))
    return transformer(weights, peaks).SerializeToString()


def _seal(model: bytes) -> bytes:
    # The digest is one more entry of ModelProto.metadata_props (field 14). A field appended to a message becomes part
    # of it, so the file stays a plain ONNX model and can be checked without parsing it.
    digest = hashlib.sha256(_REVISION + model).hexdigest().encode()
    entry = b"\x0a\x06sha256\x12" + bytes([len(digest)]) + digest
    return b"\x72" + bytes([len(entry)]) + entry


def is_converted(directory: Path) -> bool:
    """Return whether a directory holds the converted model, neither truncated nor modified. Read all of its 22 MB."""
    try:
        content = model_path(directory).read_bytes()
    except FileNotFoundError:
        return False
    size = len(_seal(b""))
    return len(content) > size and _seal(content[:-size]) == content[-size:]


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
