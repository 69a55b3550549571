"""Context for prompts: what of a conversation, and of what was said before it, a model is given.

| file | holds |
|---|---|
| `prompt` | what is asked for, and the report |
| `lines` | a turn as lines: who says what, calls with their results; what of it is withheld, and what stands for that |
| `pairs` | which result answers which call, and which turns must therefore stay together |
| `fitting` | how many of the newest turns a budget has room for |
| `counting` | what a line costs |
| `quoting` | earlier messages as one block that they cannot close |
| `earlier` | which earlier messages are quoted |
| `shapes` | lines as the messages of an interface |
| `job` | one context on its way |
| `issuing` | the record that is kept of one |

All but `earlier`, `job` and `issuing` are functions of values. Nothing is cut in the middle: a unit of turns is in the
context or is not, and so is a quoted message (decision 0107).
"""
