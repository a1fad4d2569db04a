"""A page in one HTML file that fetches nothing, and runs no script but its own."""

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

from sklda.inspection._texts import encoded


def html_page(name: str, data: dict[str, Any], **parts: str) -> str:
    """The page of `name`.html, .css and .js with these data. `parts` are texts in place of their names between @."""
    style, script = _packaged(f"{name}.css"), _packaged(f"{name}.js")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    filled = {each: html.escape(encoded(text).decode()) for each, text in parts.items()}
    filled |= {"policy": policy, "style": style, "script": script, "data": _json(data)}
    pieces = _packaged(f"{name}.html").split("@")
    return "".join(filled[piece] if i % 2 else piece for i, piece in enumerate(pieces))


def _packaged(name: str) -> str:
    return files("sklda.inspection").joinpath(name).read_text(encoding="utf-8")


def _digest(source: str) -> str:
    """The hash that allows an inline script or style, as in Content Security Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _json(data: Any) -> str:
    """JSON in which no character can end the script element or a line of it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return encoded(text).decode()
