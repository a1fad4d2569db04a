from typing import Any

LANES: int
STRIDE: int

def __getattr__(name: str) -> Any: ...
