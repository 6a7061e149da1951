"""What calls raise."""

from __future__ import annotations

from muster.runconfig import MCLIRunConfigValidationError as MCLIRunConfigValidationError
from muster.runs import MAPIException as MAPIException, RunStatusNotReached as RunStatusNotReached
