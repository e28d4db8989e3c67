"""Fences around what goes into a prompt: content is escaped so that it can neither open nor close a tag."""

import html
import re

TAGS = ("task", "memory", "tool_call", "tool_response", "answer", "think")
"""The tags that mean something to an executor (seed 002)."""


def escape(content: str) -> str:
    """Make content harmless between tags. `unescape` gives back exactly what went in."""
    return content.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape(content: str) -> str:
    """The reverse of `escape`."""
    return content.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def fence(tag: str, content: str, **attributes: str) -> str:
    """Put escaped content between tags; values of attributes are escaped and quoted."""
    named = "".join(f' {name}="{html.escape(value, quote=True)}"' for name, value in attributes.items())
    return f"<{tag}{named}>\n{escape(content)}\n</{tag}>"


def parse(text: str, tag: str) -> list[str]:
    """The contents of all fences of a tag, as they were before they were escaped."""
    found = re.findall(rf"<{re.escape(tag)}(?: [^>]*)?>\n(.*?)\n</{re.escape(tag)}>", text, re.DOTALL)
    return [unescape(content) for content in found]
