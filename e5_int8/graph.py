"""The transformer of multilingual-e5-small as an ONNX graph, in fp32 or with 8-bit matrix products.

The input `words` holds the rows of the embedding table for one sequence, shape (1, tokens, hidden). The table itself is
not part of the graph; it is mapped from the weights file. The output `mean` is the mean of the tokens' last states,
shape (1, hidden). The reader's two halves are cut from the same layers; see `e5_int8.reader`.

The 8-bit products take activations as uint8 with one scale for the whole sequence, measured at run time, and weights as
int8 with one scale for each output. Two measures keep them close to fp32:

- A few channels carry values 10 to 60 times the median, which would make the scale too coarse for all others. They are
  divided by max|x|^0.7 / max|w|^0.3, and their weights are multiplied by it. This is SmoothQuant (arXiv 2211.10438,
  equation 4).
- On x86 without VNNI, a product adds two neighbouring uint8 * int8 in 16 bits and saturates. The weights' scale keeps
  |w[2i]| + |w[2i + 1]| at 128 or below, and 255 * 128 fits.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from e5_int8.adapter import FIRST_LAYER, Adapted
from e5_int8.weights import Sizes

Array = NDArray[np.float32]
_Shapes = Mapping[str, Sequence[int | str]]
_CONTRIB = "com.microsoft"
_LARGEST_PAIR = 127  # # rounding adds at most one
_SMOOTHING = 0.7


class Parameters(Protocol):
    """The weights of the transformer, by the names of the weights file."""

    @property
    def sizes(self) -> Sizes:
        """The dimensions of the transformer."""
        ...

    def vector(self, name: str) -> Array:
        """Return a bias or a parameter of a normalisation, flat."""
        ...

    def matrix(self, name: str, columns: int) -> Array:
        """Return the weights of a dense layer, shape (outputs, columns)."""
        ...


class _Builder:
    def __init__(self, weights: Parameters, peaks: Mapping[str, Array] | None) -> None:
        self.weights = weights
        self.peaks = peaks
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: float) -> str:
        node = helper.make_node(operator, inputs, [output], domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return output

    def linear(self, x: str, layers: Sequence[str], columns: int) -> list[str]:
        """Add dense layers that share one input, which is quantised once, and return the names of their outputs."""
        matrices = [self.weights.matrix(f"{layer}.w", columns) for layer in layers]
        biases = [self.constant(f"{layer}.b", self.weights.vector(f"{layer}.b")) for layer in layers]
        if self.peaks is None:
            return [
                self.node("Add", [self.node("MatMul", [x, self.constant(f"{n}.w", w.T)], f"{n}.product"), b], f"{n}.y")
                for n, w, b in zip(layers, matrices, biases, strict=True)
            ]
        smoothing = _smoothing(self.peaks[x], matrices)
        x = self.node("Mul", [x, self.constant(f"{x}.inverse", 1 / smoothing)], f"{x}.smooth")
        parts = [f"{x}.quantized", f"{x}.scale", f"{x}.zero"]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], parts))
        outputs: list[str] = []
        for layer, matrix, bias in zip(layers, matrices, biases, strict=True):
            quantized, scale = _quantize(matrix * smoothing)
            w, s = self.constant(f"{layer}.w", quantized.T), self.constant(f"{layer}.s", scale)
            inputs = [parts[0], w, parts[1], s, parts[2], "", bias]
            outputs.append(self.node("MatMulIntegerToFloat", inputs, f"{layer}.y", _CONTRIB))
        return outputs

    def normalize(self, x: str, layer: str, output: str) -> str:
        gain, shift = (self.constant(f"{layer}.{part}", self.weights.vector(f"{layer}.{part}")) for part in "wb")
        epsilon = self.weights.sizes.epsilon
        return self.node("LayerNormalization", [x, gain, shift], output, axis=-1, epsilon=epsilon)

    def unit(self, x: str) -> str:
        """Scale the last axis to length one."""
        return self.node("LpNormalization", [x], f"{x}.unit", axis=-1, p=2)

    def score(self, x: str, head: str) -> str:
        """Add a dense layer with one output, in fp32, and return the name of that output."""
        weight = self.constant(f"{head}.w", self.weights.vector(f"{head}.w").reshape(-1, 1))
        bias = self.constant(f"{head}.b", self.weights.vector(f"{head}.b"))
        return self.node("Add", [self.node("MatMul", [x, weight], f"{head}.product"), bias], f"{head}.score")

    def embedding(self) -> str:
        sizes = self.weights.sizes
        places = self.weights.vector("emb.pos").reshape(sizes.positions, sizes.hidden)
        self.constant("places", places + self.weights.vector("emb.type")[: sizes.hidden])
        self.constant("zero", np.array([0], np.int64))
        self.node("Shape", ["words"], "tokens", start=1, end=2)
        self.node("Slice", ["places", "zero", "tokens", "zero"], "places.used")
        return self.normalize(self.node("Add", ["words", "places.used"], "words.placed"), "emb.ln", "embedded")

    def layer(self, x: str, name: str) -> str:
        sizes = self.weights.sizes
        qkv = self.linear(x, [f"{name}.{part}" for part in "qkv"], sizes.hidden)
        attended = self.node("MultiHeadAttention", qkv, f"{name}.attended", _CONTRIB, num_heads=sizes.heads)
        (projected,) = self.linear(attended, [f"{name}.ao"], sizes.hidden)
        # Add and LayerNormalization stay separate: the fused SkipLayerNormalization is five times slower here.
        x = self.normalize(self.node("Add", [x, projected], f"{name}.sum1"), f"{name}.aln", f"{name}.normal1")
        (wide,) = self.linear(x, [f"{name}.fi"], sizes.hidden)
        active = self.node("Gelu", [wide], f"{name}.active", _CONTRIB)
        (narrow,) = self.linear(active, [f"{name}.fo"], sizes.feed_forward)
        return self.normalize(self.node("Add", [x, narrow], f"{name}.sum2"), f"{name}.oln", f"{name}.normal2")


def transformer(weights: Parameters, peaks: Mapping[str, Array] | None = None) -> onnx.ModelProto:
    """Build the graph in fp32, or in 8 bits if `peaks` is given.

    `peaks` are the maxima that the graph of `measured` returns, by the name of the product's input.
    """
    return _transformer(_Builder(weights, peaks))


def lower_half(weights: Parameters, layers: int, peaks: Mapping[str, Array] | None = None) -> onnx.ModelProto:
    """Build the first `layers` layers of `transformer`; the output `states` has shape (1, tokens, hidden)."""
    builder = _Builder(weights, peaks)
    x = builder.embedding()
    for number in range(layers):
        x = builder.layer(x, f"l{number}")
    builder.node("Identity", [x], "states")
    return _model(builder, _words(weights.sizes), {"states": [1, "tokens", weights.sizes.hidden]})


def upper_half(reader: Adapted, peaks: Mapping[str, Array] | None = None) -> onnx.ModelProto:
    """Build the layers in which a question and a passage see each other, with the two outputs of the reader.

    The input `joined` holds the states of the question's tokens, then the passage's, shape (1, tokens, hidden); the
    input `passage`, shape (1,), is the number of the question's tokens. The output `answers`, shape (1, 1), is the
    logit that the passage answers the question, and `tokens`, shape (1, passage tokens, 1), that a token is part of the
    answer. Both see, besides the states themselves, how they agree with the mean of the question's states.
    """
    builder = _Builder(reader, peaks)
    x = "joined"
    for number in range(FIRST_LAYER, reader.sizes.layers):
        x = builder.layer(x, f"l{number}")
    builder.constant("zero", np.array([0], np.int64))
    builder.constant("one", np.array([1], np.int64))
    builder.node("Shape", [x], "size", start=1, end=2)
    asked = builder.node("Slice", [x, "zero", "passage", "one"], "asked")
    read = builder.node("Slice", [x, "passage", "size", "one"], "read")
    means = [builder.unit(builder.node("ReduceMean", [part, "one"], f"{part}.mean")) for part in (asked, read)]
    agreement = builder.node("Mul", means, "agreement")
    firsts = [builder.node("Slice", [part, "zero", "one", "one"], f"{part}.first") for part in (asked, read)]
    whole = builder.node("Concat", [*firsts, agreement], "whole", axis=2)
    builder.node("Squeeze", [builder.score(whole, "answers"), "one"], "answers")
    each = builder.node("Mul", [builder.unit(read), means[0]], "each.agreement")
    builder.node("Identity", [builder.score(builder.node("Concat", [read, each], "each", axis=2), "tokens")], "tokens")
    model = _model(
        builder,
        {"joined": [1, "tokens", reader.sizes.hidden]},
        {"answers": [1, 1], "tokens": [1, "passage tokens", 1]},
    )
    model.graph.input.append(helper.make_tensor_value_info("passage", TensorProto.INT64, [1]))
    return model


def measured(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return an fp32 graph with further outputs: the largest |value| of each channel of every product's input."""
    wider = onnx.ModelProto()
    wider.CopyFrom(model)
    wider.graph.initializer.append(numpy_helper.from_array(np.array([0, 1], np.int64), "peak.axes"))
    for name in dict.fromkeys(node.input[0] for node in model.graph.node if node.op_type == "MatMul"):
        wider.graph.node.append(helper.make_node("Abs", [name], [f"{name}.abs"]))
        wider.graph.node.append(
            helper.make_node("ReduceMax", [f"{name}.abs", "peak.axes"], [f"peak:{name}"], keepdims=0)
        )
        wider.graph.output.append(helper.make_tensor_value_info(f"peak:{name}", TensorProto.FLOAT, None))
    return wider


def _transformer(builder: _Builder) -> onnx.ModelProto:
    sizes = builder.weights.sizes
    x = builder.embedding()
    for number in range(sizes.layers):
        x = builder.layer(x, f"l{number}")
    builder.node("ReduceMean", [x, builder.constant("one", np.array([1], np.int64))], "mean", keepdims=0)
    return _model(builder, _words(sizes), {"mean": [1, sizes.hidden]})


def _words(sizes: Sizes) -> _Shapes:
    return {"words": [1, "tokens", sizes.hidden]}


def _model(builder: _Builder, inputs: _Shapes, outputs: _Shapes) -> onnx.ModelProto:
    graph = helper.make_graph(
        builder.nodes,
        "multilingual-e5-small",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        builder.constants,
    )
    imports = [helper.make_opsetid("", 20), helper.make_opsetid(_CONTRIB, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def _smoothing(peaks: Array, matrices: Sequence[Array]) -> Array:
    largest = np.max([np.abs(matrix).max(axis=0) for matrix in matrices], axis=0)
    factors = np.maximum(peaks, 1e-6) ** _SMOOTHING / np.maximum(largest, 1e-6) ** (1 - _SMOOTHING)
    return np.maximum(factors / np.median(factors), 1e-3).astype(np.float32)


def _quantize(matrix: Array) -> tuple[NDArray[np.int8], Array]:
    pairs = np.abs(matrix).reshape(len(matrix), -1, 2).sum(axis=2)
    scale = np.maximum(pairs.max(axis=1), 1e-9) / _LARGEST_PAIR
    return np.rint(matrix / scale[:, None]).astype(np.int8), scale.astype(np.float32)
