"""What a page would fetch from other machines: the site has all that it needs."""

from __future__ import annotations

import re
from html import unescape

TAG = re.compile(r"<(script|img|iframe|source|video|audio|object|embed|link)\b([^>]*)>", re.IGNORECASE)
ADDRESS = re.compile(r"\b(?:src|srcset|href|data)=[\"']?((?:https?:)?//[^\s\"'>]+)", re.IGNORECASE)
# Links that say where something is, and fetch nothing.
SILENT = re.compile(r"\brel=[\"']?(?:canonical|prev|next|alternate|license)\b", re.IGNORECASE)


def fetched(html: str) -> list[str]:
    """Addresses that a browser asks for by itself, without a click."""
    tags = (match[2] for match in TAG.finditer(html) if not (match[1].lower() == "link" and SILENT.search(match[2])))
    return [unescape(address) for attributes in tags for address in ADDRESS.findall(attributes)]
