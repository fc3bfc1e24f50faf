"""Lets the tests of what is deployed share modules."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
