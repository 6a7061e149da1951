"""Whether one is there."""

from __future__ import annotations

from muster.deployments import ping as ping
