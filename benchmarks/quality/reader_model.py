# pyright: basic, reportMissingImports=false
"""The upper layers of the reader in torch, for training: bfloat16, with a low-rank addition to every dense layer.

The same computation as `e5_int8.graph.upper_half`. It needs torch, which the product does not.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from e5_int8.adapter import FIRST_LAYER
from e5_int8.weights import Weights

_HALF = torch.bfloat16
_AGREEMENT = 20.0  # the cosines of e5 lie close together


class _LowRank(torch.autograd.Function):
    """y = x (W + up down)' + b, without the gradient of W."""

    @staticmethod
    def forward(ctx, x, weight, bias, down, up):
        inner = x @ down.t()
        ctx.save_for_backward(x, weight, down, up, inner)
        return torch.addmm(functional.linear(x, weight, bias), inner, up.t())

    @staticmethod
    def backward(ctx, dy):
        x, weight, down, up, inner = ctx.saved_tensors
        di = dy @ up
        dx = torch.addmm(dy @ weight, di, down) if ctx.needs_input_grad[0] else None
        return dx, None, dy.sum(0), di.t() @ x, dy.t() @ inner


class _Dense(nn.Module):
    def __init__(self, weights: Weights, name: str, columns: int, rank: int) -> None:
        super().__init__()
        weight = torch.from_numpy(weights.matrix(f"{name}.w", columns))
        self.name = name
        self.register_buffer("weight", weight.to(_HALF))
        self.b = nn.Parameter(torch.from_numpy(weights.vector(f"{name}.b").copy()))
        self.down = nn.Parameter(torch.randn(rank, columns) / math.sqrt(columns))
        self.up = nn.Parameter(torch.zeros(weight.shape[0], rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _LowRank.apply(x, self.weight, self.b.to(_HALF), self.down.to(_HALF), self.up.to(_HALF))


class _Normalization(nn.Module):
    def __init__(self, weights: Weights, name: str) -> None:
        super().__init__()
        self.name, self.epsilon = name, weights.sizes.epsilon
        self.w = nn.Parameter(torch.from_numpy(weights.vector(f"{name}.w").copy()))
        self.b = nn.Parameter(torch.from_numpy(weights.vector(f"{name}.b").copy()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, x.shape[-1:], self.w.to(_HALF), self.b.to(_HALF), self.epsilon)


class _Layer(nn.Module):
    def __init__(self, weights: Weights, number: int, rank: int, dropout: float) -> None:
        super().__init__()
        sizes, name = weights.sizes, f"l{number}"
        self.heads, self.dropout = sizes.heads, dropout
        self.qkv = nn.ModuleList([_Dense(weights, f"{name}.{part}", sizes.hidden, rank) for part in "qkv"])
        self.ao = _Dense(weights, f"{name}.ao", sizes.hidden, rank)
        self.fi = _Dense(weights, f"{name}.fi", sizes.hidden, rank)
        self.fo = _Dense(weights, f"{name}.fo", sizes.feed_forward, rank)
        self.aln, self.oln = _Normalization(weights, f"{name}.aln"), _Normalization(weights, f"{name}.oln")

    def forward(self, x: torch.Tensor, batch: int, mask: torch.Tensor) -> torch.Tensor:
        rows, hidden = x.shape
        wide = hidden // self.heads
        # Written out: the fused attention of torch 2.13 takes five times as long backwards on this kind of processor.
        q, k, v = (part(x).view(batch, -1, self.heads, wide).transpose(1, 2) for part in self.qkv)
        shares = torch.softmax(torch.matmul(q * (1 / math.sqrt(wide)), k.transpose(2, 3)) + mask, -1)
        attended = torch.matmul(shares, v).transpose(1, 2).reshape(rows, hidden)
        x = self.aln(x + functional.dropout(self.ao(attended), self.dropout, self.training))
        narrow = self.fo(functional.gelu(self.fi(x)))
        return self.oln(x + functional.dropout(narrow, self.dropout, self.training))


class UpperHalf(nn.Module):
    """The layers from `FIRST_LAYER` on, with the two outputs."""

    def __init__(self, weights: Weights, rank: int, dropout: float) -> None:
        """Begin as the encoder: without addition, and with the agreement of question and passage as the answer."""
        super().__init__()
        self.sizes = weights.sizes
        hidden = weights.sizes.hidden
        self.layers = nn.ModuleList(
            [_Layer(weights, number, rank, dropout) for number in range(FIRST_LAYER, weights.sizes.layers)]
        )
        self.answers, self.tokens = nn.Linear(3 * hidden, 1), nn.Linear(2 * hidden, 1)
        for head, bias in ((self.answers, -18.0), (self.tokens, -3.0)):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.constant_(head.bias, bias)
        with torch.no_grad():
            self.answers.weight[:, 2 * hidden :] = 1.0
            self.tokens.weight[:, hidden:] += 0.3

    def forward(
        self, pairs: Sequence[tuple[NDArray[np.float16], NDArray[np.float16]]]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return the passages' logits, shape (pairs,), and the logits of each passage's tokens.

        A pair holds the lower half's states of a question and of a passage, shape (tokens, hidden).
        """
        batch, length = len(pairs), max(len(asked) + len(read) for asked, read in pairs)
        states = np.zeros((batch, length, self.sizes.hidden), np.float16)
        for number, (asked, read) in enumerate(pairs):
            states[number, : len(asked) + len(read)] = np.concatenate([asked, read])
        starts = torch.tensor([len(asked) for asked, _ in pairs])
        ends = torch.tensor([len(asked) + len(read) for asked, read in pairs])
        place = torch.arange(length)[None, :, None]
        is_asked, is_used = place < starts[:, None, None], place < ends[:, None, None]
        mask = torch.where(is_used, 0.0, -1e4).view(batch, 1, 1, length).to(_HALF)
        x = torch.from_numpy(states).to(_HALF).view(batch * length, -1)
        for layer in self.layers:
            x = layer(x, batch, mask)
        x = x.view(batch, length, -1).float()
        asked_mean = functional.normalize((x * is_asked).sum(1), dim=1)
        read_mean = functional.normalize((x * (is_used & ~is_asked)).sum(1), dim=1)
        whole = torch.cat([x[:, 0], x[torch.arange(batch), starts], _AGREEMENT * asked_mean * read_mean], 1)
        agreement = _AGREEMENT * asked_mean[:, None] * functional.normalize(x, dim=2)
        tokens = self.tokens(torch.cat([x, agreement], 2)).squeeze(2)
        return self.answers(whole).squeeze(1), [
            tokens[number, s:e] for number, (s, e) in enumerate(zip(starts, ends, strict=True))
        ]

    def groups(self, rate: float) -> list[dict]:
        """Return the parameters with their learning rates."""
        factors = [parameter for name, parameter in self.named_parameters() if name.endswith((".up", ".down"))]
        heads = [*self.answers.parameters(), *self.tokens.parameters()]
        others = [
            parameter for name, parameter in self.layers.named_parameters() if not name.endswith((".up", ".down"))
        ]
        return [
            {"params": factors, "lr": rate, "weight_decay": 0.01},
            {"params": heads, "lr": 1.5 * rate},
            {"params": others, "lr": 0.5 * rate, "weight_decay": 0.0},
        ]

    def resume(self, addition: Mapping[str, NDArray[np.float16]]) -> None:
        """Go on from what `addition` returned earlier."""
        hidden = self.sizes.hidden
        with torch.no_grad():
            for module in self.layers.modules():
                if isinstance(module, (_Dense, _Normalization)):
                    for name, value in module.named_parameters():
                        value.copy_(torch.from_numpy(addition[f"{module.name}.{name}"].astype(np.float32)))
            for name, head, plain in (("answers", self.answers, 2 * hidden), ("tokens", self.tokens, hidden)):
                weight = addition[f"{name}.w"].astype(np.float32)
                weight[plain:] /= _AGREEMENT
                head.weight.copy_(torch.from_numpy(weight).view_as(head.weight))
                head.bias.copy_(torch.from_numpy(addition[f"{name}.b"].astype(np.float32)))

    def addition(self) -> dict[str, NDArray[np.float16]]:
        """Return what `e5_int8.adapter` reads."""
        hidden = self.sizes.hidden
        found: dict[str, NDArray[np.float16]] = {}
        for module in self.layers.modules():
            if isinstance(module, (_Dense, _Normalization)):
                for name, value in module.named_parameters():
                    found[f"{module.name}.{name}"] = value.detach().numpy().astype(np.float16)
        for name, head, plain in (("answers", self.answers, 2 * hidden), ("tokens", self.tokens, hidden)):
            weight = head.weight.detach().numpy().reshape(-1).copy()
            weight[plain:] *= _AGREEMENT
            found[f"{name}.w"] = weight.astype(np.float16)
            found[f"{name}.b"] = head.bias.detach().numpy().astype(np.float16)
        return found
