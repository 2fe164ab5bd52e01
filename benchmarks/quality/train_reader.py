# pyright: basic, reportMissingImports=false
"""Train the reader's addition: `python -m benchmarks.quality.train_reader --help`.

The lower layers stay those of the encoder, so the states of every window and question are computed once. A step takes
some questions, each with a window that answers it and windows that do not, and minimises the sum of

* the cross-entropy of the answering window among the others, and of the question among those that its window does not
  answer,
* the binary cross-entropy of every window, so that 0 means as likely as not,
* the cross-entropy of the answer's tokens among those of the window, and the binary one of every token.

A fifth of the subjects is held out and measured. Every process has one thread and a copy of the model; their gradients
are averaged.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from benchmarks.quality.reading_examples import Example, Examples
from e5_int8.adapter import ADAPTER, FIRST_LAYER
from e5_int8.conversion import convert_lower
from e5_int8.tokenizer import Tokenizer
from e5_int8.weights import dequantize, installed_weights

_NO_TORCH = "Training needs torch, which the product does not. Install its build for processors into another venv."
_SMOOTHING, _RIGHT_WEIGHT, _DROPOUT = 0.01, 1.8, 0.08
_BATCH_TOKENS = 2_600
_FAR = 1
# The share of messages without an answer that are taken alone; the others come with a question of their passage.
_ALONE = 0.4


class _States:
    """Examples with the lower half's states of their windows and wordings."""

    def __init__(self, examples: Examples, directory: Path) -> None:
        weights = installed_weights()
        table = weights.blocks("emb.word", weights.sizes.hidden)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(convert_lower(directory)), options)

        def states(ids: Sequence[int]) -> NDArray[np.float16]:
            return np.asarray(session.run(["states"], {"words": dequantize(table[list(ids)])[None]})[0])[0].astype(
                np.float16
            )

        texts = sorted({text for item in examples.examples for text in (*item.wordings, *item.exchanged)})
        with ThreadPoolExecutor(2) as pool:
            self.windows = list(pool.map(states, [window.ids for window in examples.windows]))
            asked = list(pool.map(states, map(examples.question_ids, texts)))
        self.asked = dict(zip(texts, asked, strict=True))
        self.content = [np.array([start >= 0 for start, _ in window.places]) for window in examples.windows]
        self.examples = examples
        self.unanswered: dict[int, list[Example]] = {}
        for item in examples.examples:
            for window in () if item.right else item.own:
                self.unanswered.setdefault(window, []).append(item)

    def pair(self, text: str, window: int) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
        return self.asked[text], self.windows[window]


class _Trainer:
    def __init__(self, states: Sequence[_States], arguments: argparse.Namespace, process: int) -> None:
        import torch  # noqa: PLC0415  # not installed with the product

        from benchmarks.quality.reader_model import UpperHalf  # noqa: PLC0415

        torch.manual_seed(arguments.seed)
        self.torch, self.states, self.arguments = torch, states, arguments
        self.random = random.Random(arguments.seed + 1000 * process)
        self.model = UpperHalf(installed_weights(), arguments.rank, _DROPOUT)
        if arguments.resume:
            with np.load(arguments.resume, allow_pickle=False) as file:
                self.model.resume({name: file[name] for name in file.files})
        groups = self.model.groups(arguments.rate)
        self.parameters = [parameter for group in groups for parameter in group["params"]]
        self.optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98))
        self.rates = [group["lr"] for group in groups]
        self.training = [[item for item in part.examples.examples if not item.held_out] for part in states]
        self.queues: list[list[Example]] = [[] for _ in states]

    def run(self) -> int:
        """Train for the given time, and return the number of steps."""
        torch = self.torch
        start, steps, elapsed = time.monotonic(), 0, 0.0
        limit = 60 * self.arguments.minutes
        while elapsed < limit:
            pace = min(1.0, elapsed / limit / 0.04) * (1 - 0.97 * elapsed / limit)
            for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
                group["lr"] = rate * pace
            self.optimizer.zero_grad()
            loss = self._loss()
            loss.backward()
            elapsed = self._average(time.monotonic() - start)
            torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
            self.optimizer.step()
            steps += 1
            if steps % 20 == 0:
                print(f"{elapsed:.0f} s, step {steps}, loss {float(loss.detach()):.3f}", file=sys.stderr, flush=True)
        return steps

    def _average(self, elapsed: float) -> float:
        torch = self.torch
        if not torch.distributed.is_initialized():
            return elapsed
        flat = torch.cat([*(parameter.grad.reshape(-1) for parameter in self.parameters), torch.tensor([elapsed])])
        torch.distributed.all_reduce(flat)
        flat /= torch.distributed.get_world_size()
        at = 0
        for parameter in self.parameters:
            parameter.grad.copy_(flat[at : at + parameter.numel()].view_as(parameter))
            at += parameter.numel()
        return float(flat[-1])

    def _sample(self) -> tuple[_States, Example]:
        amounts = [
            len(items) * (1.0 if not number else self.arguments.own_weight)
            for number, items in enumerate(self.training)
        ]
        while True:
            number = self.random.choices(range(len(self.states)), amounts)[0]
            queue = self.queues[number]
            if not queue:
                queue += self.random.sample(self.training[number], len(self.training[number]))
            item = queue.pop()
            if item.right or self.random.random() < _ALONE:
                return self.states[number], item

    def _items(self, states: _States, item: Example) -> list[tuple[str, int, float, str]]:
        """Return wordings with windows, whether one answers the other, and what the pair is compared with."""
        take, chance = self.random.sample, self.random.random
        text = item.wordings[0] if chance() < 0.4 else self.random.choice(item.wordings)
        near, far = take(item.near, min(2, len(item.near))), take(item.far, min(_FAR, len(item.far)))
        if not item.right:
            return [(text, window, 0.0, "") for window in [*take(item.own, min(2, len(item.own))), *far]]
        if chance() < 0.15 or not (near or far):
            far = [*far, self.random.randrange(len(states.windows))]
        right = self.random.choice(item.right)
        others = [window for window in [*near, *far] if window not in item.right]
        pairs = [(text, right, 1.0, "both"), *((text, window, 0.0, "windows") for window in others)]
        if item.exchanged and chance() < 0.5:
            pairs.append((self.random.choice(item.exchanged), right, 0.0, "questions"))
        unanswered = states.unanswered.get(right, [])
        others = take(unanswered, min(2, len(unanswered)))
        return [*pairs, *((self.random.choice(other.wordings), right, 0.0, "questions") for other in others)]

    def _forward(self, items: Sequence[tuple[_States, str, int]]):
        pairs = [states.pair(text, window) for states, text, window in items]
        sizes = [len(asked) + len(read) for asked, read in pairs]
        order = sorted(range(len(items)), key=sizes.__getitem__)
        answers: dict[int, Any] = {}
        tokens: dict[int, Any] = {}
        while order:
            count = 1
            while count < len(order) and (count + 1) * sizes[order[count]] <= _BATCH_TOKENS:
                count += 1
            chosen, order = order[:count], order[count:]
            found, each = self.model([pairs[number] for number in chosen])
            for place, number in enumerate(chosen):
                answers[number], tokens[number] = found[place], each[place]
        numbers = range(len(items))
        return self.torch.stack([answers[number] for number in numbers]), [tokens[number] for number in numbers]

    def _loss(self):
        torch, functional = self.torch, self.torch.nn.functional
        items, labels, golds, lists = [], [], [], []
        for _ in range(self.arguments.batch):
            states, item = self._sample()
            made = self._items(states, item)
            for kind in ("windows", "questions"):
                places = [len(items) + place for place, (*_, of) in enumerate(made) if of in (kind, "both")]
                if len(places) > 1:
                    lists.append((0.7 if kind == "windows" else 0.5, places))
            for text, window, label, _ in made:
                items.append((states, text, window))
                labels.append(label)
                golds.append(states.examples.answer_tokens(window, item.answers) if label else [])
        answers, tokens = self._forward(items)
        wanted = torch.tensor(labels)
        smooth = wanted * (1 - 3 * _SMOOTHING) + _SMOOTHING
        weight = torch.where(wanted > 0, _RIGHT_WEIGHT, 1.0)
        loss = functional.binary_cross_entropy_with_logits(answers, smooth, weight=weight)
        for share, places in lists:
            loss = loss - share * functional.log_softmax(answers[places], 0)[0] / self.arguments.batch
        found = max(1, sum(map(bool, golds)))
        for (states, _, window), label, gold, each in zip(items, labels, golds, tokens, strict=True):
            content = torch.from_numpy(states.content[window])
            if not content.any():
                continue
            target = torch.zeros(len(content))
            target[gold] = 1.0
            logits, target = each[content], target[content]
            if target.any():
                loss = loss - 0.6 * torch.logsumexp(functional.log_softmax(logits, 0)[target > 0], 0) / found
                heavy = torch.tensor(2.0)
                each_loss = functional.binary_cross_entropy_with_logits(logits, target, pos_weight=heavy)
            else:
                each_loss = 0.5 * (1 - label) * functional.binary_cross_entropy_with_logits(logits, target)
            loss = loss + each_loss / len(items)
        return loss

    def measure(self, most: int = 400) -> dict[str, dict[str, float]]:
        """Return figures on the held-out subjects, by set."""
        self.model.eval()
        with self.torch.no_grad():
            return {f"set {number}": self._measured(states, most) for number, states in enumerate(self.states)}

    def _measured(self, states: _States, most: int) -> dict[str, float]:
        held = [item for item in states.examples.examples if item.held_out]
        right, wrong, first, token = [], {"near": [], "far": [], "exchanged": [], "unanswered": []}, [], []
        for item in random.Random(3).sample(held, min(most, len(held))):
            text = item.wordings[-1]
            if not item.right:
                answers, _ = self._forward([(states, text, window) for window in item.own[:3]])
                wrong["unanswered"].append(float(answers.max()))
                continue
            near, far = item.near[:3], item.far[:2]
            pairs = [(states, text, window) for window in [item.right[0], *near, *far]]
            pairs += [(states, other, item.right[0]) for other in item.exchanged[:1]]
            answers, tokens = self._forward(pairs)
            scores = answers.tolist()
            right.append(scores[0])
            wrong["near"] += scores[1 : 1 + len(near)]
            wrong["far"] += scores[1 + len(near) : 1 + len(near) + len(far)]
            wrong["exchanged"] += scores[1 + len(near) + len(far) :]
            if near:
                first.append(scores[0] >= max(scores[: 1 + len(near) + len(far)]))
            if gold := states.examples.answer_tokens(item.right[0], item.answers):
                logits = np.where(states.content[item.right[0]], tokens[0].numpy(), -np.inf)
                token.append(int(logits.argmax()) in gold)
        figures = {f"AUC against {name}": _auc(right, scores) for name, scores in wrong.items() if right and scores}
        return {**figures, "right window first": float(np.mean(first)), "best token in answer": float(np.mean(token))}


def _auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    ranks = np.argsort(np.argsort([*right, *wrong]))[: len(right)] + 1
    return float((ranks.sum() - len(right) * (len(right) + 1) / 2) / (len(right) * len(wrong)))


def _work(process: int, arguments: argparse.Namespace) -> None:
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    if arguments.processes > 1:
        torch.distributed.init_process_group(
            "gloo", init_method="tcp://127.0.0.1:29517", rank=process, world_size=arguments.processes
        )
    tokenizer = Tokenizer(installed_weights().vocabulary())
    states = [
        _States(Examples(paths, tokenizer, arguments.seed), arguments.models)
        for paths in (arguments.reading, arguments.own)
        if paths
    ]
    trainer = _Trainer(states, arguments, process)
    steps = trainer.run()
    if process:
        return
    provenance = {
        "first_layer": FIRST_LAYER,
        "rank": arguments.rank,
        "seed": arguments.seed,
        "steps": steps,
        "questions": steps * arguments.batch * arguments.processes,
        "trained": datetime.now(UTC).strftime("%Y-%m-%d"),
        "data": [path.name for path in (*arguments.reading, *arguments.own)],
        "held out": trainer.measure(),
    }
    arrays: dict[str, Any] = {
        **trainer.model.addition(),
        "provenance": np.array(json.dumps(provenance, ensure_ascii=False)),
    }
    np.savez_compressed(arguments.out, **arrays)
    print(json.dumps(provenance, ensure_ascii=False, indent=1))


def main() -> None:
    """Train and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reading", type=Path, nargs="+", required=True, help="reading sets, as of read_paragraphs")
    parser.add_argument(
        "--own", type=Path, nargs="*", default=[], help="our own questions (data/group_questions.jsonl)"
    )
    parser.add_argument("--own-weight", type=float, default=1.8, help="how often an own question comes, against others")
    parser.add_argument("--out", type=Path, default=ADAPTER)
    parser.add_argument("--resume", type=Path, help="go on from this addition; the first rate may then be lower")
    parser.add_argument("--models", type=Path, default=Path("data/models"), help="where the lower half is converted")
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--rate", type=float, default=1.2e-3)
    parser.add_argument("--batch", type=int, default=4, help="questions a step and process")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        from torch import multiprocessing  # noqa: PLC0415
    except ImportError:
        sys.exit(_NO_TORCH)
    if arguments.processes > 1:
        multiprocessing.spawn(_work, (arguments,), arguments.processes)
    else:
        _work(0, arguments)


if __name__ == "__main__":
    main()
