"""What calls raise."""

from __future__ import annotations

from muster.runconfig import MCLIRunConfigValidationError as MCLIRunConfigValidationError
from muster.runs import MAPIException as MAPIException, RunStatusNotReached as RunStatusNotReached

#: What a call raises without an answer of the server, and for a deployment.
MCLIException = MAPIException
MCLIDeploymentConfigValidationError = MCLIRunConfigValidationError
