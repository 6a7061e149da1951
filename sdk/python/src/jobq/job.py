"""The decorator and its options, where jobq keeps them."""

from __future__ import annotations

from muster._job import (
    ImageOptions as ImageOptions,
    Job as Job,
    JobOptions as JobOptions,
    JobOptionsError as JobOptionsError,
    ResourceOptions as ResourceOptions,
    SchedulingOptions as SchedulingOptions,
    discover as discover,
    job as job,
)
