"""The conversation as the model's own chat template puts it.

Templates come out of downloaded files. They are rendered in a sandbox that reaches no Python
internals, for a few seconds at most, and cannot build texts of unbounded size.
"""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
import psutil
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from specviz.errors import SettingError
from specviz.trace.config import Message, Switch
from specviz.trace.reasoning import MARKS

MAX_SECONDS = 5.0
MAX_CHARACTERS = 4_000_000
MAX_RANGE = 10_000
MAX_GROWTH = 512 * 1024 * 1024

HINT = "Switch on the raw prompt to run without the template, or use another file of this model."


class _TooLongError(Exception):
    """Raised inside a template that takes too long or builds too much."""


class _BoundedCode(CodeGenerator):
    """Compiles `a ~ b` into a call that looks at the size of what it makes."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - jinja2's
        self.write("environment.join_bounded((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class BoundedSandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, which also refuses to build huge values by multiplication or padding."""

    code_generator_class = _BoundedCode
    intercepted_binops = frozenset(["*", "**", "+", "%"])

    def join_bounded(self, parts: Sequence[Any]) -> str:
        """What `a ~ b` makes."""
        texts = [str(part) for part in parts]
        if sum(map(len, texts)) > MAX_CHARACTERS:
            raise SecurityError("a text that large is not allowed")
        return "".join(texts)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and not (
            isinstance(left, (int, float))
            and isinstance(right, (int, float))
            and abs(left) <= 1000
            and abs(right) <= 64
        ):
            raise SecurityError("a power that large is not allowed")
        if operator == "*":
            for text, times in ((left, right), (right, left)):
                if hasattr(text, "__len__") and isinstance(times, int):
                    if len(text) * max(times, 0) > MAX_CHARACTERS:
                        raise SecurityError("a repetition that large is not allowed")
            if isinstance(left, int) and isinstance(right, int):
                if left.bit_length() + right.bit_length() > 4096:
                    raise SecurityError("a number that large is not allowed")
        if operator == "+" and _size(left) + _size(right) > MAX_CHARACTERS:
            raise SecurityError("a text that large is not allowed")
        if operator == "%" and isinstance(left, (str, bytes)):
            raise SecurityError("formatting with % is not allowed")
        return super().call_binop(context, operator, left, right)

    def is_safe_callable(self, obj: Any) -> bool:
        owner = getattr(obj, "__self__", None)
        name = getattr(obj, "__name__", "")
        if isinstance(owner, (str, bytes)) and name in _GROWING_METHODS:
            return False
        return bool(super().is_safe_callable(obj))


# methods of text that can ask for any amount of memory in one call
_GROWING_METHODS = frozenset(
    ["center", "ljust", "rjust", "zfill", "expandtabs", "format", "format_map"]
)


def _size(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 0


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise SecurityError(f"a range over more than {MAX_RANGE} numbers is not allowed")
    return numbers


def _refuse(message: str) -> str:
    raise jinja2.TemplateError(str(message)[:300])


class GenerationTags(Extension):
    """Passes `{% generation %}` blocks through, which mark the assistant's part for training."""

    tags = {"generation"}  # noqa: RUF012 - declared as an instance variable by jinja2

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> BoundedSandbox:
    environment = BoundedSandbox(
        loader=jinja2.BaseLoader(),
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[GenerationTags, jinja2.ext.loopcontrols],
    )
    environment.globals["range"] = _range
    environment.filters["tojson"] = _tojson
    environment.filters["replace"] = _replace
    environment.filters["indent"] = _indent
    for name in ("center", "format", "xmlattr", "pprint", "filesizeformat", "urlize"):
        environment.filters.pop(name, None)
    return environment


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as chat templates expect it: readable characters, no HTML escapes."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=min(indent or 0, 16) or None,
        separators=separators,
        sort_keys=sort_keys,
    )


def _replace(value: Any, old: str, new: str, count: int | None = None) -> str:
    text, old, new = str(value), str(old), str(new)
    times = text.count(old) if old else len(text) + 1
    if len(text) + times * len(new) > MAX_CHARACTERS:
        raise SecurityError("a replacement that large is not allowed")
    return text.replace(old, new, -1 if count is None else count)


def _indent(value: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    prefix = width if isinstance(width, str) else " " * min(width, 64)
    lines = str(value).splitlines() or [""]
    head = prefix + lines[0] if first else lines[0]
    return "\n".join([head, *(prefix + x if x or blank else x for x in lines[1:])])


def render(
    template: str, messages: Sequence[Message], *, bos: str, eos: str, reasoning: Switch
) -> str:
    """The prompt text for `messages`, ending where the assistant is to speak.

    `reasoning` sets the template's `enable_thinking` when it is not `auto`. Raises SettingError
    with a sentence when the template fails, asks for something forbidden or takes too long.
    """
    if len(template) > MAX_CHARACTERS:
        raise SettingError("The chat template of this model is too large to be used.", HINT)
    variables: dict[str, Any] = {
        "messages": [_turn(message) for message in messages],
        "bos_token": bos,
        "eos_token": eos,
        "add_generation_prompt": True,
        "raise_exception": _refuse,
        "tools": None,
        "functions": None,
        "function_call": None,
        "tool_choice": None,
        "strftime_now": lambda form: datetime.now().strftime(str(form)[:64]),
    }
    if reasoning is not Switch.AUTO:
        variables["enable_thinking"] = reasoning is Switch.ON

    def work() -> str:
        pieces: list[str] = []
        size = 0
        for piece in _environment().from_string(template).generate(**variables):
            size += len(piece)
            if size > MAX_CHARACTERS:
                raise SecurityError("a prompt that large is not allowed")
            pieces.append(piece)
        return "".join(pieces)

    return _within_limits(work)


def _turn(message: Message) -> dict[str, str]:
    """A turn under the names that templates use; whether to repeat reasoning is theirs to say."""
    turn = {"role": message.role, "content": message.text}
    if message.reasoning:
        turn["reasoning_content"] = message.reasoning
    return turn


def opens_reasoning(text: str) -> bool:
    """Whether a rendered prompt ends inside a reasoning block, as some templates have it."""
    return text.rstrip().endswith(tuple(mark for mark, _ in MARKS))


def _within_limits(work: Callable[[], str]) -> str:
    """Run `work` in a thread of its own, for `MAX_SECONDS` at most and in bounded memory."""
    result: list[str] = []
    fault: list[BaseException] = []

    def body() -> None:
        try:
            result.append(work())
        except BaseException as error:  # the edge: whatever a template provokes becomes a sentence
            fault.append(error)

    thread = threading.Thread(target=body, name="chat-template", daemon=True)
    with _bounded_memory():
        thread.start()
        thread.join(MAX_SECONDS)
        if thread.is_alive() and thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(_TooLongError)
            )
            thread.join(1.0)
            raise SettingError(
                f"The chat template of this model did not finish within {MAX_SECONDS:.0f} s.", HINT
            )
    if fault:
        raise SettingError(_explain(fault[0]), HINT) from None
    return result[0]


def _explain(error: BaseException) -> str:
    if isinstance(error, (MemoryError, RecursionError)):
        return "The chat template of this model asks for more memory than it is given."
    if isinstance(error, SecurityError):
        return f"The chat template of this model asks for something forbidden: {_line(error)}."
    return f"The chat template of this model failed: {_line(error)}."


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())[:200].rstrip(".")
    return text or type(error).__name__


@contextmanager
def _bounded_memory() -> Iterator[None]:
    """Where the system can: let the process grow by half a gigabyte at most in the meantime."""
    try:
        import resource
    except ImportError:  # Windows
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    allowed = psutil.Process().memory_info().vms + MAX_GROWTH
    if before[1] != resource.RLIM_INFINITY:
        allowed = min(allowed, before[1])
    try:
        resource.setrlimit(resource.RLIMIT_AS, (allowed, before[1]))
    except (ValueError, OSError):
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
