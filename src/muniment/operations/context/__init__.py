"""Context for prompts: the newest turns of a conversation, and earlier messages, for a model.

| file | holds |
|---|---|
| `prompt` | the request and the report |
| `prompt_lines` | a turn as lines: who says what, calls with their results; markers for what is withheld |
| `pairs` | which result answers which call, and which turns must therefore stay together |
| `cost` | what a line costs |
| `fit` | how many of the newest turns fit into a budget |
| `recent` | the newest turns, read until the budget is full |
| `earlier` | which earlier messages are quoted |
| `quotes` | earlier messages as one block that they cannot close |
| `shapes` | lines as the messages of an interface |
| `record` | the record that is kept of a context |
| `compose` | makes a context of all these |

All but `recent`, `earlier`, `record` and `compose` are functions of values. Nothing is cut in the middle: a unit of
turns is in the context or is not, and so is a quoted message (decision 0107).
"""

from muniment.operations.context.compose import compose_context
from muniment.operations.context.prompt import Composition, Context, PromptRequest, Shape

__all__ = ["Composition", "Context", "PromptRequest", "Shape", "compose_context"]
