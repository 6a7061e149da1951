"""jobq's decorator on Muster: ``from jobq import job, JobOptions, …`` runs unchanged."""

from __future__ import annotations

from .job import (
    ImageOptions as ImageOptions,
    Job as Job,
    JobOptions as JobOptions,
    JobOptionsError as JobOptionsError,
    ResourceOptions as ResourceOptions,
    SchedulingOptions as SchedulingOptions,
    discover as discover,
    job as job,
)
