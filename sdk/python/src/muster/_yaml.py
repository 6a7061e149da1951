"""YAML as run configurations use it, read and written without dependencies.

Read are block and flow mappings and lists, plain and quoted scalars, block
scalars and comments. Anchors, tags, merge keys and several documents are left
to PyYAML where that is installed, else refused with the line.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional, Tuple

from .errors import InvalidError


class YAMLError(InvalidError):
    """A text is not YAML, or YAML that is not understood; ``line`` counts from 1."""

    def __init__(self, line: int, problem: str, hint: str = "") -> None:
        super().__init__(0, "line %d: %s" % (line, problem), hint=hint)
        self.line = line


class _Unsupported(YAMLError):
    pass


def load(text: str) -> Any:
    """The value of a YAML document."""
    try:
        return _Reader(text).document()
    except _Unsupported:
        try:
            import yaml  # type: ignore
        except ImportError:
            raise
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as e:
            mark = getattr(e, "problem_mark", None)
            raise YAMLError(mark.line + 1 if mark else 1, str(getattr(e, "problem", e))) from None


_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)$|0x[0-9a-fA-F]+$|0o[0-7]+$")
# With a leading zero it is a text: whether it means eight or ten nobody knows.
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False}
_SPECIAL = {".inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}


def scalar(text: str) -> Any:
    """The value of a plain scalar, by the rules of YAML 1.2."""
    low = text if text in ("",) else text.lower()
    if low in _WORDS and text in (low, low.capitalize(), low.upper()):
        return _WORDS[low]
    if low in _SPECIAL:
        return _SPECIAL[low]
    if _INT.match(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.match(text):
        return float(text)
    return text


class _Line:
    __slots__ = ("n", "indent", "text")

    def __init__(self, n: int, indent: int, text: str) -> None:
        self.n = n
        self.indent = indent
        self.text = text


def _uncomment(text: str) -> str:
    """The line without its comment, which quotes may hide."""
    quote = ""
    i = 0
    while i < len(text):
        c = text[i]
        if quote:
            if c == "\\" and quote == '"':
                i += 1
            elif c == quote:
                quote = ""
        elif c in "'\"" and (i == 0 or text[i - 1] in " [{,:-"):
            quote = c
        elif c == "#" and (i == 0 or text[i - 1] in " \t"):
            return text[:i].rstrip()
        i += 1
    return text.rstrip()


class _Reader:
    def __init__(self, text: str) -> None:
        self.raw = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff").split("\n")
        if not self.raw[-1]:
            self.raw.pop()  # behind the last line end there is no line
        self.at = 0  # of raw
        self.kept: Optional[_Line] = None

    def document(self) -> Any:
        first = self.peek()
        if first is not None and first.text == "---":
            self.take()
            first = self.peek()
        if first is None:
            return None
        value = self.block(first.indent)
        rest = self.peek()
        if rest is not None:
            if rest.text in ("---", "...") or rest.text.startswith("--- "):
                raise _Unsupported(rest.n, "another document begins", "give each a file of its own")
            raise YAMLError(rest.n, "%r is indented as nothing above it" % rest.text[:40], "align it with its siblings")
        return value

    def peek(self) -> Optional[_Line]:
        while self.kept is None and self.at < len(self.raw):
            text = self.raw[self.at]
            self.at += 1
            body = text.lstrip(" ")
            if body.startswith("\t") and body.strip():
                raise YAMLError(self.at, "a tab is used for indentation", "use spaces")
            shown = _uncomment(body)
            if not shown.strip() or (body.startswith("%") and len(body) == len(text)):
                continue
            self.kept = _Line(self.at, len(text) - len(body), shown)
        return self.kept

    def take(self) -> _Line:
        line = self.peek()
        if line is None:
            raise YAMLError(len(self.raw), "the text ends too early")
        self.kept = None
        return line

    def block(self, indent: int) -> Any:
        line = self.peek()
        if line is None:
            return None
        if line.text == "-" or line.text.startswith("- "):
            return self.items(indent)
        if _split_key(line) is not None:
            return self.mapping(indent)
        self.take()
        return self.value(line, line.text, indent - 1)

    def items(self, indent: int) -> List[Any]:
        out: List[Any] = []
        while True:
            line = self.peek()
            if line is None or line.indent != indent or not (line.text == "-" or line.text.startswith("- ")):
                return out
            self.take()
            rest = line.text[1:]
            body = rest.lstrip(" ")
            if not body:
                below = self.peek()
                out.append(self.block(below.indent) if below is not None and below.indent > indent else None)
                continue
            inner = _Line(line.n, indent + 1 + len(rest) - len(body), body)
            if body == "-" or body.startswith("- ") or _split_key(inner) is not None:
                self.kept = inner
                out.append(self.block(inner.indent))
            else:
                out.append(self.value(line, body, indent))

    def mapping(self, indent: int) -> Dict[str, Any]:
        out: Dict[str, Any] = {}
        while True:
            line = self.peek()
            if line is None or line.indent != indent:
                if line is not None and line.indent > indent:
                    raise YAMLError(line.n, "%r is indented more than its siblings" % line.text[:40], "align it with them")
                return out
            pair = _split_key(line)
            if pair is None:
                if line.text == "-" or line.text.startswith("- "):
                    return out
                raise YAMLError(line.n, "%r is no 'name: value'" % line.text[:40], "write a colon and a blank behind the name")
            key, rest = pair
            if key in out:
                raise YAMLError(line.n, "%r is there twice" % key, "keep one of the two")
            if key == "<<":
                raise _Unsupported(line.n, "merge keys are not understood without PyYAML", "write the fields out")
            self.take()
            if rest:
                out[key] = self.value(line, rest, indent)
                continue
            below = self.peek()
            if below is not None and (below.indent > indent or (below.indent == indent and (below.text == "-" or below.text.startswith("- ")))):
                out[key] = self.block(below.indent)
            else:
                out[key] = None

    def value(self, line: _Line, text: str, indent: int) -> Any:
        c = text[0]
        if c in "&*!":
            raise _Unsupported(line.n, "anchors and tags are not understood without PyYAML", "write the value out")
        if c in "|>":
            return self.text_block(line, text, indent)
        if c in "[{":
            return self.flow(line, text)
        if c in "'\"":
            whole = text
            while True:
                try:
                    value, end = _quoted(whole, 0, line.n)
                    break
                except _Open:
                    nxt = self.more(line)
                    whole += " " + nxt
            if whole[end:].strip():
                raise YAMLError(line.n, "%r stands behind a quoted text" % whole[end:].strip()[:40], "quote all of it")
            return value
        if c in "@`":
            raise YAMLError(line.n, "no text begins with %r" % c, "put it in quotes")
        if ": " in text or text.endswith(":"):
            raise YAMLError(line.n, "%r has a second ': '" % text[:40], "put the value in quotes")
        words = [text]
        while True:  # a plain text may go on below, indented more
            below = self.peek()
            if below is None or below.indent <= indent or _split_key(below) is not None or below.text.startswith("- "):
                return scalar(words[0]) if len(words) == 1 else " ".join(words)
            words.append(self.take().text.strip())

    def more(self, line: _Line) -> str:
        if self.kept is None and self.at < len(self.raw):
            self.at += 1
            return self.raw[self.at - 1].strip()
        raise YAMLError(line.n, "a quote or bracket is not closed", "close it")

    def flow(self, line: _Line, text: str) -> Any:
        whole = text
        while True:
            try:
                value, end = _flow(whole, 0, line.n, 0)
                break
            except _Open:
                whole += " " + _uncomment(self.more(line))
        if whole[end:].strip():
            raise YAMLError(line.n, "%r stands behind a closing bracket" % whole[end:].strip()[:40], "remove it")
        return value

    def text_block(self, line: _Line, head: str, indent: int) -> str:
        m = re.match(r"[|>]([-+]?)([1-9]?)([-+]?)$", head)
        if not m:
            raise YAMLError(line.n, "%r does not begin a text" % head[:20], "write | or >")
        chomp = m.group(1) or m.group(3)
        width = indent + int(m.group(2)) if m.group(2) else 0
        rows: List[str] = []
        while self.at < len(self.raw):
            row = self.raw[self.at]
            body = row.lstrip(" ")
            if body:
                width = width or max(len(row) - len(body), 1)
                if len(row) - len(body) < width or width <= indent:
                    break
            rows.append(row[width:] if body else "")
            self.at += 1
        end = len(rows)
        while end and not rows[end - 1]:
            end -= 1
        kept, blank = rows[:end], len(rows) - end
        text = "\n".join(kept) if head[0] == "|" else _fold(kept)
        if chomp == "-" or not kept:
            return text
        return text + "\n" * (1 + (blank if chomp == "+" else 0))


def _fold(rows: List[str]) -> str:
    out = ""
    for i, row in enumerate(rows):
        if i == 0:
            out = row
        elif not row:
            out += "\n"
        elif out.endswith("\n") or row.startswith(" "):
            out += ("" if out.endswith("\n") else "\n") + row
        else:
            out += " " + row
    return out


def _split_key(line: _Line) -> Optional[Tuple[str, str]]:
    """The key and the rest of 'key: rest'; None where it is none."""
    text = line.text
    if text[0] in "'\"":
        try:
            key, end = _quoted(text, 0, line.n)
        except _Open:
            return None
        rest = text[end:].lstrip()
        if not rest.startswith(":") or (len(rest) > 1 and rest[1] != " "):
            return None
        return str(key), rest[1:].strip()
    if text[0] in "[{|>&*!@`#":
        return None
    if text.startswith("? "):
        raise _Unsupported(line.n, "complex keys are not understood without PyYAML", "write 'name: value'")
    cut = text.find(": ")
    if cut < 0:
        if not text.endswith(":"):
            return None
        cut = len(text) - 1
    return text[:cut].rstrip(), text[cut + 1 :].strip()


class _Open(Exception):
    """A quote or bracket goes on in the next line."""


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


def _quoted(text: str, at: int, n: int) -> Tuple[str, int]:
    quote = text[at]
    out: List[str] = []
    i = at + 1
    while i < len(text):
        c = text[i]
        if c == quote:
            if quote == "'" and text[i + 1 : i + 2] == "'":
                out.append("'")
                i += 2
                continue
            return "".join(out), i + 1
        if c == "\\" and quote == '"':
            e = text[i + 1 : i + 2]
            width = {"x": 2, "u": 4, "U": 8}.get(e, 0)
            if width:
                try:
                    out.append(chr(int(text[i + 2 : i + 2 + width], 16)))
                except ValueError:
                    raise YAMLError(n, "%r is no escape" % text[i : i + 2 + width], "write hexadecimal digits") from None
                i += 2 + width
                continue
            if not e:
                raise _Open()
            if e not in _ESCAPES and e not in "\"\\/ ":
                raise YAMLError(n, "%r is no escape" % ("\\" + e), "write \\\\ for a backslash")
            out.append(_ESCAPES.get(e, e))
            i += 2
            continue
        out.append(c)
        i += 1
    raise _Open()


def _flow(text: str, at: int, n: int, depth: int) -> Tuple[Any, int]:
    """A value in a flow collection, and where it ends."""
    if depth > 64:
        raise YAMLError(n, "brackets are nested more than 64 deep", "write fewer")
    at = _skip(text, at)
    if at >= len(text):
        raise _Open()
    c = text[at]
    if c in "'\"":
        return _quoted(text, at, n)
    if c in "&*!":
        raise _Unsupported(n, "anchors and tags are not understood without PyYAML", "write the value out")
    if c == "[":
        items: List[Any] = []
        at = _skip(text, at + 1)
        while text[at : at + 1] != "]":
            v, at = _flow(text, at, n, depth + 1)
            items.append(v)
            at = _comma(text, at, "]", n)
        return items, at + 1
    if c == "{":
        out: Dict[str, Any] = {}
        at = _skip(text, at + 1)
        while text[at : at + 1] != "}":
            if at >= len(text):
                raise _Open()
            if text[at] in "'\"":
                key, at = _quoted(text, at, n)
            else:
                m = re.compile(r"[^:,{}\[\]]+").match(text, at)
                if not m:
                    raise YAMLError(n, "a name is missing at %r" % text[at : at + 20], "write {name: value}")
                key, at = m.group().strip(), m.end()
            at = _skip(text, at)
            value: Any = None
            if text[at : at + 1] == ":":
                at = _skip(text, at + 1)
                if text[at : at + 1] not in (",", "}"):
                    value, at = _flow(text, at, n, depth + 1)
            if key in out:
                raise YAMLError(n, "%r is there twice" % key, "keep one of the two")
            out[key] = value
            at = _comma(text, at, "}", n)
        return out, at + 1
    m = re.compile(r"(?:[^,\[\]{}:]|:(?! |$))+").match(text, at)
    if not m:
        raise YAMLError(n, "%r is not expected" % c, "put the value in quotes")
    return scalar(m.group().strip()), m.end()


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t":
        at += 1
    return at


def _comma(text: str, at: int, close: str, n: int) -> int:
    at = _skip(text, at)
    if at >= len(text):
        raise _Open()
    if text[at] == close:
        return at
    if text[at] != ",":
        raise YAMLError(n, "a comma or %r is missing before %r" % (close, text[at : at + 20]), "separate the values")
    at = _skip(text, at + 1)
    if at >= len(text):
        raise _Open()
    return at


def dump(value: Any, indent: int = 0) -> str:
    """A value as YAML, in block style; text of several lines as a block."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        return "".join(pad + _key(k) + _below(v, indent) for k, v in value.items())
    if isinstance(value, list) and value:
        return "".join(pad + "-" + _item(v, indent) for v in value)
    return pad + _flat(value) + "\n"


def _key(k: Any) -> str:
    return (str(k) if re.match(r"[A-Za-z_][\w./-]*$", str(k)) and scalar(str(k)) == str(k) else json.dumps(str(k))) + ":"


def _below(v: Any, indent: int) -> str:
    if isinstance(v, dict) and v:
        return "\n" + dump(v, indent + 2)
    if isinstance(v, list) and v:
        return "\n" + dump(v, indent)
    if isinstance(v, str) and _blockable(v):
        chomp = "" if v.endswith("\n") and not v.endswith("\n\n") else "+" if v.endswith("\n") else "-"
        rows = v[:-1].split("\n") if v.endswith("\n") else v.split("\n")
        return " |" + chomp + "\n" + "".join((" " * (indent + 2) + row if row else "") + "\n" for row in rows)
    return " " + _flat(v) + "\n"


def _blockable(v: str) -> bool:
    first = v.split("\n", 1)[0]
    return "\n" in v and v.strip("\n") != "" and first != "" and not first.startswith((" ", "\t")) and v.replace("\n", "").isprintable()


def _item(v: Any, indent: int) -> str:
    if isinstance(v, (dict, list)) and v:
        return " " + dump(v, indent + 2).lstrip(" ")
    return _below(v, indent)


def _flat(v: Any) -> str:
    if v is None:
        return "null"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, float):
        return {float("inf"): ".inf", float("-inf"): "-.inf"}.get(v, ".nan" if v != v else repr(v))
    if isinstance(v, int):
        return str(v)
    if isinstance(v, (dict, list)):
        return "{}" if isinstance(v, dict) else "[]"
    text = str(v)
    plain = re.match(r"[A-Za-z0-9_./+=@%][\w ./+=@%,:()<>$*&!?;^~\[\]{}|'-]*$", text)
    if plain and scalar(text) == text and ": " not in text and " #" not in text and not text.endswith((":", " ")):
        return text
    return json.dumps(text)
