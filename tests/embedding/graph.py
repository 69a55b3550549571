"""Writes the graph of a BERT model for onnxruntime, from its parts; with the package onnx, where it is installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from muniment.embedding.model_weights import ModelParts

OPSET = 20
HIDDEN = -1e9  # what is added to the scores of what is not there


class Graph:
    """A graph while it is made: every call adds a node and returns the name of its output."""

    def __init__(self, parts: ModelParts) -> None:
        self.onnx: Any = import_module("onnx")
        self.parts = parts
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        """Add a constant."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def weight(self, name: str, *, turned: bool = False) -> str:
        """Add a tensor of the model."""
        tensor = np.asarray(self.parts.tensors[name], np.float32)
        return self.constant(np.ascontiguousarray(tensor.T) if turned else tensor)

    def dense(self, state: str, name: str) -> str:
        """Add a linear layer."""
        return self.add(
            "Add",
            self.add("MatMul", state, self.weight(f"{name}.weight", turned=True)),
            self.weight(f"{name}.bias"),
        )

    def norm(self, state: str, name: str) -> str:
        """Add a normalisation."""
        eps = self.parts.shape.layer_norm_eps
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", state, weight, bias, axis=-1, epsilon=eps)

    def heads(self, state: str, order: list[int]) -> str:
        """Take the heads apart."""
        shape = self.parts.shape
        wide = shape.hidden_size // shape.num_attention_heads
        apart = self.add("Reshape", state, self.constant(np.array([0, 0, shape.num_attention_heads, wide])))
        return self.add("Transpose", apart, perm=order)

    def layer(self, state: str, at: str, mask: str) -> str:
        """Add a layer."""
        shape = self.parts.shape
        asked = self.heads(self.dense(state, f"{at}.attention.self.query"), [0, 2, 1, 3])
        keys = self.heads(self.dense(state, f"{at}.attention.self.key"), [0, 2, 3, 1])
        values = self.heads(self.dense(state, f"{at}.attention.self.value"), [0, 2, 1, 3])
        scale = self.constant(np.float32(1 / np.sqrt(shape.hidden_size // shape.num_attention_heads)))
        scores = self.add("Add", self.add("Mul", self.add("MatMul", asked, keys), scale), mask)
        seen = self.add("MatMul", self.add("Softmax", scores, axis=-1), values)
        whole = self.constant(np.array([0, 0, shape.hidden_size]))
        seen = self.add("Reshape", self.add("Transpose", seen, perm=[0, 2, 1, 3]), whole)
        state = self.norm(
            self.add("Add", state, self.dense(seen, f"{at}.attention.output.dense")), f"{at}.attention.output.LayerNorm"
        )
        inner = self.add("Gelu", self.dense(state, f"{at}.intermediate.dense"))
        return self.norm(self.add("Add", state, self.dense(inner, f"{at}.output.dense")), f"{at}.output.LayerNorm")


def write_graph(path: Path, parts: ModelParts) -> None:
    """Write the graph of a model."""
    graph = Graph(parts)
    helper, kinds = graph.onnx.helper, graph.onnx.TensorProto
    length = graph.add("Gather", graph.add("Shape", "input_ids"), graph.constant(np.int64(1)))
    places = graph.add("Range", graph.constant(np.int64(0)), length, graph.constant(np.int64(1)))
    words = graph.add("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    where = graph.add("Gather", graph.weight("embeddings.position_embeddings.weight"), places)
    what = graph.add("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    state = graph.norm(graph.add("Add", graph.add("Add", words, where), what), "embeddings.LayerNorm")
    there = graph.add("Cast", "attention_mask", to=kinds.FLOAT)
    hidden = graph.add(
        "Mul", graph.add("Sub", graph.constant(np.float32(1)), there), graph.constant(np.float32(HIDDEN))
    )
    mask = graph.add("Unsqueeze", hidden, graph.constant(np.array([1, 2])))
    for number in range(parts.shape.num_hidden_layers):
        state = graph.layer(state, f"encoder.layer.{number}", mask)
    inputs = [
        helper.make_tensor_value_info(name, kinds.INT64, ["texts", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    outputs = [helper.make_tensor_value_info(state, kinds.FLOAT, None)]
    constants = [graph.onnx.numpy_helper.from_array(value, name) for name, value in graph.constants.items()]
    made = helper.make_graph(graph.nodes, "bert", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", OPSET)]
    path.write_bytes(helper.make_model(made, opset_imports=opsets, ir_version=10).SerializeToString())
