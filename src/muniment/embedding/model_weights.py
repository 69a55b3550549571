"""The weights of a BERT model: read from its published folder, or from one file of a quarter of the size.

A folder has the layout of the Hugging Face hub: `config.json`, `vocab.txt` or `tokenizer.json`, `model.safetensors`,
and the files of sentence-transformers (`1_Pooling/config.json`, `sentence_bert_config.json`). The one file is a numpy
archive without pickles: matrices are bytes with a scale for every 64 numbers of a row, everything else is float32. All
of it is checked before it is used: kind of model, sizes, shapes, finite numbers.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
from msgspec import DecodeError, Meta, Struct, ValidationError, json
from msgspec.structs import replace
from numpy.typing import NDArray

from muniment.embedding.safetensors import read_tensors
from muniment.errors import ModelInvalid

Floats = NDArray[np.float32]
Few = Annotated[int, Meta(ge=1, le=64)]
Wide = Annotated[int, Meta(ge=8, le=8192)]
T = TypeVar("T")

SMALL_FILE_BYTES_MAX = 64_000_000  # of vocabularies and settings
ARCHIVE_BYTES_MAX = 1_000_000_000
TOKENS_MAX = 512
GROUP = 64  # numbers of a row with one scale: whole rows with one scale cost four times as much likeness
SCALE_MIN = np.float32(1e-12)
SHAPE, VOCABULARY, NUMBERS, SCALES = "shape", "vocabulary", "/int8", "/scales"


class ModelShape(Struct, frozen=True, kw_only=True):
    """The shape of a model: the names are those of `config.json`, the last ones ours."""

    model_type: str
    hidden_size: Wide
    intermediate_size: Wide
    num_hidden_layers: Few
    num_attention_heads: Few
    vocab_size: Annotated[int, Meta(ge=4, le=1_000_000)]
    max_position_embeddings: Annotated[int, Meta(ge=8, le=8192)]
    layer_norm_eps: Annotated[float, Meta(gt=0, lt=1)] = 1e-12
    hidden_act: str = "gelu"
    position_embedding_type: str = "absolute"
    lowercase: bool = True
    tokens_max: Annotated[int, Meta(ge=8, le=TOKENS_MAX)] = TOKENS_MAX
    mean: bool = True
    name: str = "bert"


class Norm(NamedTuple):
    """The weight and bias of a normalisation."""

    weight: Floats
    bias: Floats


class Packed(NamedTuple):
    """A matrix in bytes: each group of adjacent numbers in a row has one scale."""

    numbers: NDArray[np.int8]
    scales: Floats


class Layer(NamedTuple):
    """A layer: matrices that a row of tokens is multiplied with from the left, each with its bias."""

    attend: tuple[Floats, Floats]  # queries, keys and values side by side
    gather: tuple[Floats, Floats]
    gather_norm: Norm
    widen: tuple[Floats, Floats]
    narrow: tuple[Floats, Floats]
    narrow_norm: Norm


class EmbeddingModel(NamedTuple):
    """A model, ready for use. `digest` identifies its shape, vocabulary and every weight."""

    name: str
    digest: str
    shape: ModelShape
    vocabulary: list[str]
    words: Floats | Packed
    places: Floats
    kind: Floats
    norm: Norm
    layers: list[Layer]


class ModelParts(NamedTuple):
    """The stored parts of a model."""

    shape: ModelShape
    vocabulary: list[str]
    tensors: Mapping[str, Floats | Packed]


def rows_of(matrix: Floats | Packed, rows: NDArray[np.int64]) -> Floats:
    """Return rows of a matrix as float32."""
    if not isinstance(matrix, Packed):
        return matrix[rows]
    scales = matrix.scales[rows]
    apart = matrix.numbers[rows].reshape(*scales.shape, -1).astype(np.float32)
    apart *= scales[:, :, None]
    return apart.reshape(len(rows), -1)


def load(path: Path) -> EmbeddingModel:
    """Return the model in a folder, or in one file."""
    return assembled(read_folder(path) if path.is_dir() else read_archive(path))


# --- from what is kept to what is computed with -----------------------------------------------------------------------


def assembled(parts: ModelParts) -> EmbeddingModel:
    """Return a model of its parts; raises `ModelInvalid` when one is missing, of another shape or not finite."""
    shape, tensors = parts.shape, parts.tensors
    for name, wanted in _wanted(shape).items():
        _check(tensors.get(name), wanted)
    plain = {name: _plain(tensor) for name, tensor in tensors.items() if name != WORDS}
    return EmbeddingModel(
        name=shape.name,
        digest=_digest(parts),
        shape=shape,
        vocabulary=parts.vocabulary,
        words=tensors[WORDS],
        places=plain[PLACES],
        kind=plain[KINDS][0],
        norm=Norm(plain[f"{FIRST_NORM}.weight"], plain[f"{FIRST_NORM}.bias"]),
        layers=[_layer(plain, f"encoder.layer.{number}.") for number in range(shape.num_hidden_layers)],
    )


def _plain(tensor: Floats | Packed) -> Floats:
    return rows_of(tensor, np.arange(len(tensor.numbers))) if isinstance(tensor, Packed) else tensor


WORDS = "embeddings.word_embeddings.weight"
PLACES = "embeddings.position_embeddings.weight"
KINDS = "embeddings.token_type_embeddings.weight"
FIRST_NORM = "embeddings.LayerNorm"
ASKING = ("attention.self.query", "attention.self.key", "attention.self.value")
PREFIX = "bert."  # of the names, in some files


def _layer(tensors: Mapping[str, Floats], at: str) -> Layer:
    def linear(*names: str) -> tuple[Floats, Floats]:
        weight = np.concatenate([tensors[f"{at}{name}.weight"] for name in names])
        return np.ascontiguousarray(weight.T), np.concatenate([tensors[f"{at}{name}.bias"] for name in names])

    def norm(name: str) -> Norm:
        return Norm(tensors[f"{at}{name}.weight"], tensors[f"{at}{name}.bias"])

    return Layer(
        attend=linear(*ASKING),
        gather=linear("attention.output.dense"),
        gather_norm=norm("attention.output.LayerNorm"),
        widen=linear("intermediate.dense"),
        narrow=linear("output.dense"),
        narrow_norm=norm("output.LayerNorm"),
    )


def _wanted(shape: ModelShape) -> dict[str, tuple[int, ...]]:
    """Return the shape of every tensor that a model has."""
    wide, inner = shape.hidden_size, shape.intermediate_size
    shapes: dict[str, tuple[int, ...]] = {
        WORDS: (shape.vocab_size, wide),
        PLACES: (shape.max_position_embeddings, wide),
        KINDS: (0, wide),
        f"{FIRST_NORM}.weight": (wide,),
        f"{FIRST_NORM}.bias": (wide,),
    }
    linear = [*((name, wide, wide) for name in (*ASKING, "attention.output.dense"))]
    linear += [("intermediate.dense", inner, wide), ("output.dense", wide, inner)]
    for number in range(shape.num_hidden_layers):
        at = f"encoder.layer.{number}."
        for name, out, into in linear:
            shapes |= {f"{at}{name}.weight": (out, into), f"{at}{name}.bias": (out,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{at}{name}.weight": (wide,), f"{at}{name}.bias": (wide,)}
    return shapes


def _check(tensor: Floats | Packed | None, wanted: tuple[int, ...]) -> None:
    if tensor is None:
        raise ModelInvalid(at="weights", problem="missing")
    numbers, scales = tensor if isinstance(tensor, Packed) else (tensor, tensor)
    shape = (0, *numbers.shape[1:]) if wanted[0] == 0 and len(numbers) else numbers.shape
    uneven = isinstance(tensor, Packed) and (scales.ndim != 2 or not scales.shape[1] or shape[1] % scales.shape[1])
    if shape != wanted or len(scales) != len(numbers) or uneven:
        raise ModelInvalid(at="weights", problem="shape")
    if not np.isfinite(scales).all():
        raise ModelInvalid(at="weights", problem="not_finite")


def _digest(parts: ModelParts) -> str:
    digest = sha256(json.encode(parts.shape, order="sorted"))
    digest.update("\n".join(parts.vocabulary).encode("utf-8", "surrogatepass"))
    for name, tensor in sorted(parts.tensors.items()):
        digest.update(name.encode())
        for array in tensor if isinstance(tensor, Packed) else (tensor,):
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


# --- a folder ---------------------------------------------------------------------------------------------------------


def read_folder(folder: Path) -> ModelParts:
    """Return the parts in the folder of a model; raises `ModelInvalid` when it is no BERT model for sentences."""
    shape, vocabulary = read_shape(folder)
    return ModelParts(shape, vocabulary, _tensors(folder / "model.safetensors", shape))


def read_shape(folder: Path) -> tuple[ModelShape, list[str]]:
    """Return the shape and the vocabulary in the folder of a model, without reading the weights."""
    shape = _json(folder, "config.json", ModelShape)
    if shape.model_type != "bert" or shape.hidden_act != "gelu" or shape.position_embedding_type != "absolute":
        raise ModelInvalid(at="config.json", problem="not_supported")
    if shape.hidden_size % shape.num_attention_heads:
        raise ModelInvalid(at="config.json", problem="shape")
    pieces = _optional(folder, "tokenizer.json")
    named = folder / "vocab.txt"
    vocabulary = _lines(named) if named.exists() else _pieces(pieces)
    if len(vocabulary) != shape.vocab_size:
        raise ModelInvalid(at="vocabulary", problem="size", limit=shape.vocab_size, found=len(vocabulary))
    normalizer = pieces.get("normalizer") or {}
    lowercase = normalizer.get("lowercase", _optional(folder, "tokenizer_config.json").get("do_lower_case", True))
    pooling = _optional(folder, "1_Pooling/config.json")
    first = bool(pooling.get("pooling_mode_cls_token", False))
    if pooling and first is bool(pooling.get("pooling_mode_mean_tokens", False)):
        raise ModelInvalid(at="1_Pooling/config.json", problem="not_supported")
    tokens = _optional(folder, "sentence_bert_config.json").get("max_seq_length") or TOKENS_MAX
    if not isinstance(tokens, int) or tokens < 8:
        raise ModelInvalid(at="sentence_bert_config.json", problem="shape")
    shape = replace(
        shape,
        lowercase=lowercase is not False,
        mean=not first,
        tokens_max=min(tokens, shape.max_position_embeddings, TOKENS_MAX),
        name=folder.resolve().name[:64],
    )
    return shape, vocabulary


def _tensors(path: Path, shape: ModelShape) -> dict[str, Floats]:
    names = set(_wanted(shape))
    try:
        tensors = read_tensors(path, names | {PREFIX + name for name in names})
    except OSError:
        raise ModelInvalid(at=path.name, problem="missing") from None
    return {name.removeprefix(PREFIX): tensor for name, tensor in tensors.items()}


def _lines(path: Path) -> list[str]:
    return _text(path).removesuffix("\n").split("\n")


def _pieces(parsed: dict[str, Any]) -> list[str]:
    """Return the vocabulary of a `tokenizer.json`."""
    try:
        numbers: dict[str, int] = parsed["model"]["vocab"]
        ordered = sorted(numbers, key=numbers.__getitem__)
        if [numbers[piece] for piece in ordered] == list(range(len(ordered))):
            return ordered
    except (KeyError, TypeError, AttributeError):
        pass
    raise ModelInvalid(at="vocabulary", problem="missing")


def _json(folder: Path, name: str, kind: type[T]) -> T:
    try:
        return json.decode(_text(folder / name), type=kind)
    except (DecodeError, ValidationError):
        raise ModelInvalid(at=name, problem="not_understood") from None


def _optional(folder: Path, name: str) -> dict[str, Any]:
    return _json(folder, name, dict[str, Any]) if (folder / name).exists() else {}


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > SMALL_FILE_BYTES_MAX:
            raise ModelInvalid(at=path.name, problem="size", limit=SMALL_FILE_BYTES_MAX)
        return path.read_bytes().decode()
    except OSError:
        raise ModelInvalid(at=path.name, problem="missing") from None
    except UnicodeDecodeError:
        raise ModelInvalid(at=path.name, problem="not_understood") from None


# --- one file ---------------------------------------------------------------------------------------------------------


def packed(parts: ModelParts) -> ModelParts:
    """Return a model whose matrices are bytes."""
    return parts._replace(tensors={name: _packed(each) for name, each in parts.tensors.items()})


def _packed(tensor: Floats | Packed) -> Floats | Packed:
    if isinstance(tensor, Packed) or tensor.ndim != 2:
        return tensor
    wide = tensor.shape[1]
    apart = tensor.reshape(len(tensor), -1, GROUP if wide % GROUP == 0 else wide)
    scales = np.maximum(np.abs(apart).max(axis=2), SCALE_MIN) / np.float32(127)
    return Packed(np.rint(apart / scales[:, :, None]).astype(np.int8).reshape(tensor.shape), scales)


def write_archive(parts: ModelParts) -> bytes:
    """Return a model as one file; the same model is always the same bytes."""
    arrays: dict[str, NDArray[Any]] = {
        SHAPE: np.frombuffer(json.encode(parts.shape, order="sorted"), np.uint8),
        VOCABULARY: np.frombuffer("\n".join(parts.vocabulary).encode(), np.uint8),
    }
    for name, tensor in sorted(parts.tensors.items()):
        if isinstance(tensor, Packed):
            arrays |= {name + NUMBERS: tensor.numbers, name + SCALES: tensor.scales}
        else:
            arrays[name] = tensor
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]  # of all that it takes, arrays alone are known to numpy 2.1
    return out.getvalue()


def read_archive(path: Path) -> ModelParts:
    """Return the model of a file that `write_archive` made."""
    try:
        if path.stat().st_size > ARCHIVE_BYTES_MAX:
            raise ModelInvalid(at="model", problem="size", limit=ARCHIVE_BYTES_MAX)
        with ZipFile(path) as members:
            if any(each.compress_type != ZIP_STORED for each in members.infolist()):
                raise ModelInvalid(at="model", problem="not_understood")  # small here, and who knows how large inside
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        shape = json.decode(arrays.pop(SHAPE).tobytes(), type=ModelShape)
        vocabulary = arrays.pop(VOCABULARY).tobytes().decode().split("\n")
    except OSError:
        raise ModelInvalid(at="model", problem="missing") from None
    except (BadZipFile, ValueError, DecodeError, KeyError, EOFError):
        raise ModelInvalid(at="model", problem="not_understood") from None
    tensors: dict[str, Floats | Packed] = {}
    for name, array in arrays.items():
        if name.endswith(NUMBERS):
            plain = name.removesuffix(NUMBERS)
            scales = arrays.get(plain + SCALES)
            if scales is None or array.dtype != np.int8 or scales.dtype != np.float32:
                raise ModelInvalid(at="model", problem="not_understood")
            tensors[plain] = Packed(array, scales)
        elif not name.endswith(SCALES):
            if array.dtype != np.float32:
                raise ModelInvalid(at="model", problem="not_understood")
            tensors[name] = array
    return ModelParts(shape, vocabulary, tensors)
