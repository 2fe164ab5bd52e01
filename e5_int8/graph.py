"""The transformer of multilingual-e5-small as an ONNX graph, in fp32 or with 8-bit matrix products.

The input `words` holds the rows of the embedding table for one sequence, shape (1, tokens, hidden). The table itself is
not part of the graph; it is mapped from the weights file. The output `mean` is the mean of the tokens' last states,
shape (1, hidden).

The 8-bit products take activations as uint8 with one scale for the whole sequence, measured at run time, and weights as
int8 with one scale for each output. Two measures keep them close to fp32:

- A few channels carry values 10 to 60 times the median, which would make the scale too coarse for all others. They are
  divided by max|x|^0.7 / max|w|^0.3, and their weights are multiplied by it. This is SmoothQuant (arXiv 2211.10438,
  equation 4).
- On x86 without VNNI, a product adds two neighbouring uint8 * int8 in 16 bits and saturates. The weights' scale keeps
  |w[2i]| + |w[2i + 1]| at 128 or below, and 255 * 128 fits.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from e5_int8.weights import Weights

Array = NDArray[np.float32]
_CONTRIB = "com.microsoft"
_LARGEST_PAIR = 127  # # rounding adds at most one
_SMOOTHING = 0.7


class _Builder:
    def __init__(self, weights: Weights, peaks: Mapping[str, Array] | None) -> None:
        self.weights = weights
        self.peaks = peaks
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.products: list[str] = []

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
        self.products.append(x)
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


def transformer(weights: Weights, peaks: Mapping[str, Array] | None = None) -> onnx.ModelProto:
    """Build the graph in fp32, or in 8 bits if `peaks` is given.

    `peaks` are the maxima that the graph of `measured_transformer` returns, by the name of the product's input.
    """
    return _transformer(_Builder(weights, peaks))


def measured_transformer(weights: Weights) -> onnx.ModelProto:
    """Build the fp32 graph with further outputs: the largest |value| of each channel of every product's input."""
    builder = _Builder(weights, None)
    model = _transformer(builder)
    axes = numpy_helper.from_array(np.array([0, 1], np.int64), "peak.axes")
    model.graph.initializer.append(axes)
    for name in dict.fromkeys(builder.products):
        model.graph.node.append(helper.make_node("Abs", [name], [f"{name}.abs"]))
        model.graph.node.append(
            helper.make_node("ReduceMax", [f"{name}.abs", "peak.axes"], [f"peak:{name}"], keepdims=0)
        )
        model.graph.output.append(helper.make_tensor_value_info(f"peak:{name}", TensorProto.FLOAT, None))
    return model


def _transformer(builder: _Builder) -> onnx.ModelProto:
    sizes = builder.weights.sizes
    x = builder.embedding()
    for number in range(sizes.layers):
        x = builder.layer(x, f"l{number}")
    builder.node("ReduceMean", [x, builder.constant("one", np.array([1], np.int64))], "mean", keepdims=0)
    graph = helper.make_graph(
        builder.nodes,
        "multilingual-e5-small",
        [helper.make_tensor_value_info("words", TensorProto.FLOAT, [1, "tokens", sizes.hidden])],
        [helper.make_tensor_value_info("mean", TensorProto.FLOAT, [1, sizes.hidden])],
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
