"""The style of the project as executable rules.

A rule is a name, the files it looks at, a check that yields complaints, what to do instead, and one offending example
that proves that the check can fail. Rules about code read the syntax tree; rules about text read every file of the
repository. `tests/test_tidy.py` runs them all. What ruff, mypy and import-linter check already is not repeated here.

`tests/exemptions.py` says what may break a rule, and why.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 6
GROUP_OPERATIONS_MAX = 9
FILE_BYTES_MAX = 200_000
TEST_NAME_WORDS_MIN = 4
REASON_WORDS_MIN = 1

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source(NamedTuple):
    """One file: its path from the root of the repository, and its text."""

    path: str
    text: str


class Complaint(NamedTuple):
    """A place and what is wrong there."""

    line: int
    place: str
    what: str


class CodeRule(NamedTuple):
    """A rule over a Python file."""

    name: str
    folders: tuple[str, ...]
    check: Callable[[ast.Module, Source], Iterable[Complaint]]
    instead: str
    offence: str
    offender: str = "src/muniment/example.py"


class TextRule(NamedTuple):
    """A rule over any text file."""

    name: str
    pattern: re.Pattern[str]
    instead: str
    offence: str
    suffixes: tuple[str, ...] = ()
    unless: tuple[str, ...] = ("tests/tidy.py",)


# --- reading the tree -------------------------------------------------------------------------------------------------


def repository_files() -> list[Path]:
    """Return the files that are, or are about to be, part of the repository."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - whichever git there is
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        return sorted(path for name in listing.stdout.decode().split("\0") if name and (path := ROOT / name).is_file())
    kept = (
        path
        for folder in ("src", "tests", "replay", "schemas", "fixtures", "clients")
        for path in (ROOT / folder).rglob("*")
    )
    return sorted(path for path in kept if path.is_file() and "__pycache__" not in path.parts)


@cache
def nodes(tree: ast.Module) -> list[ast.AST]:
    """Return every node of a file."""
    return list(ast.walk(tree))


@cache
def places(tree: ast.Module) -> list[tuple[str, ast.ClassDef | Function]]:
    """Return every class and function of a file with its qualified name, outer ones first."""
    return list(places_in(tree))


def places_in(tree: ast.Module) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    """Yield every class and function with its qualified name, outer ones first."""
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        prefix, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | Function):
                name = f"{prefix}{child.name}"
                yield name, child
                stack.append((f"{name}.", child))
            else:
                stack.append((prefix, child))


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Yield every function with its qualified name."""
    for name, node in places(tree):
        if isinstance(node, Function):
            yield name, node


def classes(tree: ast.Module) -> Iterator[tuple[str, ast.ClassDef]]:
    """Yield every class with its qualified name."""
    for name, node in places(tree):
        if isinstance(node, ast.ClassDef):
            yield name, node


def place_of(tree: ast.Module, line: int) -> str:
    """Return the qualified name of the innermost class or function around a line."""
    around = [(node.lineno, name) for name, node in places(tree) if node.lineno <= line <= (node.end_lineno or 0)]
    return max(around, default=(0, ""))[1]


def last_name(node: ast.expr) -> str:
    """Return `c` of `a.b.c`, of `c` and of `c[...]` or `c(...)`."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Subscript):
        return last_name(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


@cache
def dotted_references(tree: ast.Module) -> list[tuple[int, str]]:
    """Return every name that is read and its line, spelt in full as its import gives it."""
    references: list[tuple[int, str]] = []
    imported: dict[str, str] = {}
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imported[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in nodes(tree):
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            parts: list[str] = []
            base: ast.expr = node
            while isinstance(base, ast.Attribute):
                parts.append(base.attr)
                base = base.value
            if isinstance(base, ast.Name):
                references.append((node.lineno, ".".join([imported.get(base.id, base.id), *reversed(parts)])))
    return references


# --- size -------------------------------------------------------------------------------------------------------------


def _long_file(_tree: ast.Module, source: Source) -> Iterator[Complaint]:
    lines = source.text.count("\n")
    if lines > FILE_LINES_MAX:
        yield Complaint(1, "", f"{lines} lines, {FILE_LINES_MAX} are allowed")


def _long_function(tree: ast.Module, _source: Source) -> Iterator[Complaint]:
    for name, node in functions(tree):
        body = node.body[1:] if ast.get_docstring(node) else node.body
        docstring_lines = (node.body[0].end_lineno or 0) - node.body[0].lineno + 1 if body is not node.body else 0
        lines = (node.end_lineno or 0) - node.lineno + 1 - docstring_lines
        if lines > FUNCTION_LINES_MAX:
            yield Complaint(node.lineno, name, f"{lines} lines without docstring, {FUNCTION_LINES_MAX} are allowed")


def _many_parameters(tree: ast.Module, _source: Source) -> Iterator[Complaint]:
    for name, node in functions(tree):
        arguments = node.args
        own = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        count = len([a for a in own if a not in {"self", "cls"}])
        if count > PARAMETERS_MAX:
            yield Complaint(node.lineno, name, f"{count} parameters, {PARAMETERS_MAX} are allowed")


def _many_operations(tree: ast.Module, _source: Source) -> Iterator[Complaint]:
    for name, node in classes(tree):
        marked = [
            item
            for item in node.body
            if isinstance(item, Function) and any(last_name(mark) == "operation" for mark in item.decorator_list)
        ]
        if len(marked) > GROUP_OPERATIONS_MAX:
            yield Complaint(node.lineno, name, f"{len(marked)} operations, {GROUP_OPERATIONS_MAX} are allowed")


# --- what is called ---------------------------------------------------------------------------------------------------

_CLOCK = "take the time from Clock (muniment.kernel.sources)"
_CHANCE = "take bytes from Entropy and ids from IdSource (muniment.kernel.sources)"

# Start of a name spelt in full -> what to use instead.
BANNED_IN_PRODUCT = {
    "datetime.datetime.now": _CLOCK,
    "datetime.datetime.today": _CLOCK,
    "datetime.datetime.utcnow": _CLOCK,
    "datetime.date.today": _CLOCK,
    "time.time": _CLOCK,
    "time.time_ns": _CLOCK,
    "time.localtime": _CLOCK,
    "time.gmtime": _CLOCK,
    "uuid": _CHANCE,
    "random": _CHANCE,
    "secrets": _CHANCE + "; compare with hmac.compare_digest",
    "os.urandom": _CHANCE,
    "pickle": "encode with muniment.kernel.canonical or msgspec",
    "marshal": "encode with muniment.kernel.canonical or msgspec",
    "shelve": "use a store",
    "os.getrandom": _CHANCE,
    "numpy.random": _CHANCE,
    "cryptography.hazmat.primitives.ciphers.aead.AESGCM.generate_key": _CHANCE,
    "cryptography.hazmat.primitives.asymmetric.ed25519.Ed25519PrivateKey.generate": _CHANCE,
}
BANNED_EVERYWHERE = {
    "eval": "parse what you expect",
    "exec": "write a function",
    "unittest.mock": "use a product adapter: the memory store, a fixed clock, seeded entropy",
    "os.system": "use subprocess with an argument list",
}


def _references(tree: ast.Module, banned: dict[str, str]) -> Iterator[Complaint]:
    seen = set()
    for line, name in dotted_references(tree):
        for start, instead in banned.items():
            if (name == start or name.startswith(f"{start}.")) and (line, start) not in seen:
                seen.add((line, start))
                yield Complaint(line, place_of(tree, line), f"{start}: {instead}")


def _banned_in_product(tree: ast.Module, source: Source) -> Iterable[Complaint]:
    return () if source.path == "src/muniment/kernel/sources.py" else _references(tree, BANNED_IN_PRODUCT)


def _banned_everywhere(tree: ast.Module, _source: Source) -> Iterable[Complaint]:
    return _references(tree, BANNED_EVERYWHERE)


def _printing(tree: ast.Module, source: Source) -> Iterable[Complaint]:
    speaks = source.path.startswith("src/muniment/transports/") or source.path.endswith("/__main__.py")
    return () if speaks else _references(tree, {"print": "return what there is to say"})


def _caught(node: ast.expr | None) -> list[str]:
    if node is None:
        return ["everything"]
    return [last_name(item) for item in (node.elts if isinstance(node, ast.Tuple) else [node])]


def _broad_except(tree: ast.Module, _source: Source) -> Iterator[Complaint]:
    for node in nodes(tree):
        if isinstance(node, ast.ExceptHandler):
            broad = {"everything", "Exception", "BaseException"}.intersection(_caught(node.type))
            passed_on = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
            if broad and not passed_on:
                yield Complaint(node.lineno, place_of(tree, node.lineno), f"catches {broad.pop()}")
        elif isinstance(node, ast.Call) and last_name(node.func) == "suppress":
            broad = {"Exception", "BaseException"}.intersection(map(last_name, node.args))
            if broad:
                yield Complaint(node.lineno, place_of(tree, node.lineno), f"suppresses {broad.pop()}")


def _passed_through(tree: ast.Module, _source: Source) -> Iterator[Complaint]:
    for name, node in functions(tree):
        kwarg = node.args.kwarg
        if kwarg is not None and not (kwarg.annotation and last_name(kwarg.annotation) == "kwargs"):
            yield Complaint(node.lineno, name, f"takes **{kwarg.arg}")


# --- names, words, shapes ---------------------------------------------------------------------------------------------

BANNED_NAME_PARTS = {
    *("Manager", "Service", "Handler", "Processor", "Helper", "Helpers", "Util", "Utils"),
    *("Data", "Info", "Impl", "New", "V2", "Misc", "Common"),
}
# Files that others copy out of the package -> the third-party packages they may import.
VENDORED = {"src/muniment/evidence/verifier.py": frozenset({"cryptography"})}
ROOT_EXCEPTIONS = {"Exception", "BaseException", "ValueError", "TypeError", "RuntimeError", "KeyError", "OSError"}


def _empty_name(tree: ast.Module, source: Source) -> Iterator[Complaint]:
    named = [(1, "", Path(source.path).stem)]
    named += [(node.lineno, name, node.name) for name, node in classes(tree)]
    for line, name, word in named:
        parts = re.findall(r"V\d+|[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+", word)
        for part in BANNED_NAME_PARTS.intersection(part[:1].upper() + part[1:] for part in parts):
            yield Complaint(line, name, f"{part} says nothing")


def _module_docstring(tree: ast.Module, source: Source) -> Iterator[Complaint]:
    if source.text.strip() and not ast.get_docstring(tree):
        yield Complaint(1, "", "no docstring")


def _is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def _public_docstring(tree: ast.Module, _source: Source) -> Iterator[Complaint]:
    inner = {
        f"{name}.{child.name}" for name, node in functions(tree) for _, child in places_in(ast.Module(node.body, []))
    }
    for name, node in places(tree):
        overload = any(last_name(mark) in {"overload", "setter"} for mark in node.decorator_list)
        if not _is_public(name) or name in inner or overload:
            continue
        first = (ast.get_docstring(node) or "").partition("\n")[0]
        if not re.match(r"[A-Z`\"'(\d].*[.?!:]$", first):
            yield Complaint(node.lineno, name, "the first line of the docstring is no sentence")


def _error_elsewhere(tree: ast.Module, source: Source) -> Iterator[Complaint]:
    if source.path not in {"src/muniment/errors.py", *VENDORED}:
        for name, node in classes(tree):
            if ROOT_EXCEPTIONS.intersection(map(last_name, node.bases)):
                yield Complaint(node.lineno, name, "an exception outside errors.py")


def _loose_value(tree: ast.Module, _source: Source) -> Iterator[Complaint]:
    for name, node in classes(tree):
        if any(last_name(base) == "Struct" for base in node.bases):
            words = {word.arg for word in node.keywords if isinstance(word.value, ast.Constant) and word.value.value}
            wanted = {"frozen"} if "array_like" in words else {"frozen", "kw_only"}
            if missing := wanted - words:
                yield Complaint(node.lineno, name, f"a struct without {' and '.join(sorted(missing))}")


def _vendored(tree: ast.Module, source: Source) -> Iterator[Complaint]:
    allowed = sys.stdlib_module_names | VENDORED.get(source.path, frozenset())
    for node in nodes(tree) if source.path in VENDORED else ():
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or "."]
            foreign = [name for name in names if name.partition(".")[0] not in allowed]
            yield from (Complaint(node.lineno, "", f"imports {name}") for name in foreign)


def _mute_test(tree: ast.Module, _source: Source) -> Iterator[Complaint]:
    for name, node in functions(tree):
        words = node.name.removeprefix("test_").split("_")
        if node.name.startswith("test_") and len(words) < TEST_NAME_WORDS_MIN:
            yield Complaint(node.lineno, name, f"{len(words)} words are no sentence")


_SILENCER = re.compile(
    r"#\s*(noqa|type: ignore|pragma: no (?:cover|branch))(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|\[[\w, -]+\])?"
)


def _unreasoned(tree: ast.Module, source: Source) -> Iterator[Complaint]:
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline) if _SILENCER.search(source.text) else ()
    for token in tokens:
        found = _SILENCER.search(token.string) if token.type == tokenize.COMMENT else None
        if found and len(re.findall(r"[A-Za-z]{2,}", token.string[found.end() :])) < REASON_WORDS_MIN:
            line = token.start[0]
            yield Complaint(line, place_of(tree, line), f"{found.group(1)} without a reason")


PRODUCT = ("src/",)
CODE = ("src/", "replay/", "tests/")
TESTS = ("tests/",)
_PASS = "    pass\n"

CODE_RULES = [
    CodeRule(
        "file size", CODE, _long_file, "find the second noun and give it a file", '"""Long."""\n' + "x = 1\n" * 500
    ),
    CodeRule("function size", CODE, _long_function, "name the second thought", "def f():\n" + _PASS * 60),
    CodeRule("parameters", CODE, _many_parameters, "a noun is missing", "def f(a, b, c, *, d, e, f, g): ..."),
    CodeRule(
        "operations",
        PRODUCT,
        _many_operations,
        "split the noun",
        "class G:\n" + "".join(f"    @operation(Effect.READ)\n    def o{n}(self): ...\n" for n in range(10)),
    ),
    CodeRule(
        "sources",
        PRODUCT,
        _banned_in_product,
        "time, ids and chance are arguments",
        "from time import time_ns as t\nt()",
    ),
    CodeRule("banned", CODE, _banned_everywhere, "use what is named", "from os import system\nsystem('true')"),
    CodeRule("printing", PRODUCT, _printing, "only transports speak to a terminal", "print('hello')"),
    CodeRule(
        "broad except", CODE, _broad_except, "catch what you can name", "try:\n    f()\nexcept Exception:\n    pass"
    ),
    CodeRule("kwargs", PRODUCT, _passed_through, "spell the parameters", "def f(**options): ..."),
    CodeRule("names", CODE, _empty_name, "use a term of the field", "class TurnManager: ..."),
    CodeRule("module docstring", CODE, _module_docstring, "say what lives here and what never does", "x = 1"),
    CodeRule(
        "docstring", PRODUCT, _public_docstring, "state the contract in a sentence", "def f():\n    '''does it'''"
    ),
    CodeRule("errors", PRODUCT, _error_elsewhere, "all errors live in errors.py", "class Bad(ValueError): ..."),
    CodeRule("values", PRODUCT, _loose_value, "values are frozen and spelt out", "class P(Struct, frozen=True): ..."),
    CodeRule(
        "vendored",
        PRODUCT,
        _vendored,
        "users copy this one file",
        "from muniment.errors import Kind",
        "src/muniment/evidence/verifier.py",
    ),
    CodeRule(
        "test names", TESTS, _mute_test, "say what holds", "def test_commit_works(): ...", "tests/test_example.py"
    ),
    CodeRule("reasons", CODE, _unreasoned, "write the reason behind the codes", "import os  # noqa: F401"),
]

# --- text -------------------------------------------------------------------------------------------------------------

TEXT_RULES = [
    TextRule(
        "making",
        re.compile(
            r"(?i)\b(?:co-authored-by|as an ai\b|(?:written|generated) (?:by|with) an? (?:ai|llm|model|assistant)"
            r"|issue #?\d+|to ?do\b:|fixme|xxx\b:|this session|helper session)"
        ),
        "the repository speaks of the product alone",
        "See issue 12.",
    ),
    TextRule(
        "machine paths",
        re.compile(r"(?<![\w.~}])/(?:work|root|opt)/[\w.-]+"),
        "say where it is from the root of the repository, or use a temporary directory",
        "cp /opt/me/x .",
    ),
    TextRule(
        "paths in documents",
        re.compile(r"(?<![\w.~}])/(?:tmp|home|Users)/[\w.-]+"),
        "use a relative path or mktemp -d",
        "muniment demo --store /tmp/demo",
        suffixes=(".md", ".txt", ".toml", ".sh"),
    ),
    TextRule(
        "registries",
        re.compile(r"pypi\.org|pythonhosted\.org|--(?:extra-)?index-url|registry\.npmjs|find-links"),
        "name the package, never where it is fetched",
        "pip install --index-url x",
    ),
]


def complaints_of(rule: CodeRule, source: Source) -> list[Complaint]:
    """Return what a rule about code has against a file."""
    return list(rule.check(_tree(source), source))


@cache
def _tree(source: Source) -> ast.Module:
    return ast.parse(source.text, filename=source.path)


def matches_of(rule: TextRule, source: Source) -> list[Complaint]:
    """Return what a rule about text has against a file."""
    if source.path in rule.unless or (rule.suffixes and not source.path.endswith(rule.suffixes)):
        return []
    lines = enumerate(source.text.splitlines(), start=1)
    return [Complaint(number, "", found.group()) for number, line in lines if (found := rule.pattern.search(line))]
