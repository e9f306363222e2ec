"""What hatchling asks when it builds a package or installs the project: the description."""

import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

sys.path.insert(0, str(Path(__file__).parent))  # hatchling loads this file alone

from tools.pypi_description import description


class Description(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        metadata["readme"] = {"content-type": "text/markdown", "text": description()}
