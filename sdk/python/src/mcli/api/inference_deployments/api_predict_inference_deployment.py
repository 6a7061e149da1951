"""What one answers."""

from __future__ import annotations

from muster.deployments import predict as predict
