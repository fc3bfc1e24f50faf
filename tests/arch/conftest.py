"""Lets the architecture tests share ``sources``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
