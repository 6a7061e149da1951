"""The client for asyncio: the same calls, awaited.

The synchronous transport runs in threads, so that nothing beside the standard
library is needed; generators are asynchronous ones.

    async with AsyncClient() as c:
        w = await c.run("echo hello")
        async for text in c.logs(w.id, follow=True):
            print(text, end="")
"""

from __future__ import annotations

import asyncio
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Coroutine, Dict, Iterator, Mapping, Optional, TypeVar, Union

from ._transport import Patience
from .client import Client
from .models import Page, Workload

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")
_END = object()


def _awaited(call: Callable[Concatenate[Client, P], T]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """The call in a thread of the pool."""

    @functools.wraps(call)
    async def do(self: AsyncClient, /, *args: P.args, **options: P.kwargs) -> T:
        def there() -> T:
            own: Callable[P, T] = getattr(self.sync, call.__name__)
            return own(*args, **options)

        return await self._in_thread(there)

    return do


def _streamed(call: Callable[Concatenate[Client, P], Iterator[T]]) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    """The generator, in a thread of its own."""

    @functools.wraps(call)
    def do(self: AsyncClient, /, *args: P.args, **options: P.kwargs) -> AsyncIterator[T]:
        def there() -> Iterator[T]:
            own: Callable[P, Iterator[T]] = getattr(self.sync, call.__name__)
            return own(*args, **options)

        return self._each(there)

    return do


def _worked(call: Callable[Concatenate[Client, P], Workload]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, AsyncWorkload]]:
    """The call in a thread of the pool; what can be done with the workload is awaited as well."""

    @functools.wraps(call)
    async def do(self: AsyncClient, /, *args: P.args, **options: P.kwargs) -> AsyncWorkload:
        def there() -> Workload:
            own: Callable[P, Workload] = getattr(self.sync, call.__name__)
            return own(*args, **options)

        return AsyncWorkload(self, (await self._in_thread(there)).raw)

    return do


def _paged(call: Callable[Concatenate[Client, P], Page[Workload]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, Page[AsyncWorkload]]]:
    """The call in a thread of the pool. Further pages block: ask for them with ``asyncio.to_thread(page.next_page)``."""

    @functools.wraps(call)
    async def do(self: AsyncClient, /, *args: P.args, **options: P.kwargs) -> Page[AsyncWorkload]:
        def wrapped(page: Page[Workload]) -> Page[AsyncWorkload]:
            return Page([AsyncWorkload(self, w.raw) for w in page], page.cursor, lambda _: wrapped(page.next_page()))

        def there() -> Page[Workload]:
            own: Callable[P, Page[Workload]] = getattr(self.sync, call.__name__)
            return own(*args, **options)

        return wrapped(await self._in_thread(there))

    return do


class AsyncWorkload(Workload):
    """A :class:`Workload` whose calls are awaited."""

    def __init__(self, owner: AsyncClient, raw: Mapping[str, Any]) -> None:
        super().__init__(raw, owner.sync)
        self._owner = owner

    async def _taken(self, coming: Coroutine[Any, Any, Workload]) -> AsyncWorkload:
        self._take(await coming)
        return self

    async def refresh(self) -> AsyncWorkload:  # type: ignore[override]
        """Reads it again."""
        return await self._taken(self._owner.workload(self.id))

    async def stop(self, message: str = "", grace_period: str = "") -> AsyncWorkload:  # type: ignore[override]
        """Ends it; its definition and logs stay."""
        return await self._taken(self._owner.stop(self.id, message=message, grace_period=grace_period))

    async def hold(self, message: str = "") -> AsyncWorkload:  # type: ignore[override]
        """Keeps it from being queued while it waits, until it is released."""
        return await self._taken(self._owner.hold(self.id, message=message))

    async def release(self, message: str = "") -> AsyncWorkload:  # type: ignore[override]
        """Lets it go that is held."""
        return await self._taken(self._owner.release(self.id, message=message))

    async def restart(self) -> AsyncWorkload:  # type: ignore[override]
        """Runs it again once it has ended."""
        return await self._taken(self._owner.restart(self.id))

    async def delete(self) -> AsyncWorkload:  # type: ignore[override]
        """Ends it and removes it with its logs."""
        return await self._taken(self._owner.delete(self.id))

    async def change(self, **fields: Any) -> AsyncWorkload:  # type: ignore[override]
        """Changes priority or limits while it lives, such as ``priority="high"``."""
        return await self._taken(self._owner.change(self.id, fields))

    async def update_metadata(self, metadata: Mapping[str, Any]) -> AsyncWorkload:  # type: ignore[override]
        """Merges into its metadata; None takes a key away."""
        return await self._taken(self._owner.update_metadata(self.id, metadata))

    async def wait(self, phase: Optional[str] = None, timeout: Optional[float] = None, progress: bool = False) -> AsyncWorkload:  # type: ignore[override]
        """Waits until it is in that phase, or has ended. See :meth:`Client.wait`."""
        return await self._taken(self._owner.wait(self.id, phase=phase, timeout=timeout, progress=progress))

    def logs(self, task: int = 0, **options: Any) -> AsyncIterator[str]:  # type: ignore[override]
        """Output of a task. See :meth:`Client.logs`."""
        return self._owner.logs(self.id, task=task, **options)

    def follow(self, task: int = 0, **options: Any) -> AsyncIterator[str]:  # type: ignore[override]
        """Output of a task until it has ended."""
        return self._owner.logs(self.id, task=task, follow=True, **options)

    async def why(self) -> Dict[str, Any]:  # type: ignore[override]
        """Why it does not run, when it is expected to, and what could be changed."""
        return await self._owner.why(self.id)

    async def first_error(self) -> Optional[Dict[str, Any]]:  # type: ignore[override]
        """The first thing that went wrong, over all tasks; None: nothing was found."""
        return await self._owner.first_error(self.id)


class AsyncClient:
    """A :class:`Client` whose calls are awaited. ``sync`` is the client itself."""

    def __init__(self, client: Optional[Client] = None, *, threads: int = 16, **options: Any) -> None:
        self._made: Optional[Client] = client
        self._options = options
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="muster-aio")
        self._lock = threading.Lock()

    @property
    def sync(self) -> Client:
        """The client underneath. Finding a server may take a moment, so it is made in a thread."""
        with self._lock:
            if self._made is None:
                self._made = Client(**self._options)
            return self._made

    async def __aenter__(self) -> "AsyncClient":
        await self._in_thread(lambda: self.sync)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Drops resting connections and threads."""
        if self._made is not None:
            self._made.close()
        self._pool.shutdown(wait=False)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    async def _each(self, make: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        """What an iterator yields, each step in a thread of its own: a stream that waits must not hold up calls."""
        loop = asyncio.get_running_loop()
        queue: "asyncio.Queue[Any]" = asyncio.Queue(maxsize=64)
        patience = Patience()
        gone = patience.over

        def put(item: Any) -> bool:
            try:
                asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()
                return not gone.is_set()
            except (RuntimeError, asyncio.CancelledError):
                return False  # the loop has ended

        def pump() -> None:
            patience.begin()
            try:
                for item in make():
                    if gone.is_set() or not put((item, None)):
                        return
                put((_END, None))
            except BaseException as e:
                if not gone.is_set():
                    put((_END, e))

        threading.Thread(target=pump, name="muster-aio-stream", daemon=True).start()
        try:
            while True:
                item, error = await queue.get()
                if error is not None:
                    raise error
                if item is _END:
                    return
                yield item
        finally:
            patience.end()  # the thread may wait for what never comes
            while not queue.empty():  # so that the thread is not held
                queue.get_nowait()

    async def wait(self, name: Union[str, Workload], project: Optional[str] = None, **options: Any) -> AsyncWorkload:
        """See :meth:`Client.wait`. Cancelling it leaves the workload as it is."""
        call = functools.partial(self.sync.wait, name, project, **options)
        async for w in self._each(lambda: iter([call()])):
            return AsyncWorkload(self, w.raw)
        raise AssertionError("it yields once")

    request = _awaited(Client.request)
    submit = _worked(Client.submit)
    run = _worked(Client.run)
    bulk = _awaited(Client.bulk)
    submit_all = _awaited(Client.submit_all)
    workload = _worked(Client.workload)
    workloads = _paged(Client.workloads)
    why = _awaited(Client.why)
    first_error = _awaited(Client.first_error)
    metrics = _awaited(Client.metrics)
    reported = _awaited(Client.reported)
    transitions = _awaited(Client.transitions)
    log_text = _awaited(Client.log_text)
    stop = _worked(Client.stop)
    restart = _worked(Client.restart)
    preempt = _worked(Client.preempt)
    hold = _worked(Client.hold)
    release = _worked(Client.release)
    approve = _worked(Client.approve)
    reject = _worked(Client.reject)
    scale = _worked(Client.scale)
    update = _worked(Client.update)
    revise = _worked(Client.revise)
    change = _worked(Client.change)
    update_metadata = _worked(Client.update_metadata)
    delete = _worked(Client.delete)
    watch = _streamed(Client.watch)
    logs = _streamed(Client.logs)
    cluster = _awaited(Client.cluster)
    clusters = _awaited(Client.clusters)
    quota = _awaited(Client.quota)
    usage = _awaited(Client.usage)
    report = _awaited(Client.report)
    budgets = _awaited(Client.budgets)
    projects = _awaited(Client.projects)
    server = _awaited(Client.server)
    version = _awaited(Client.version)
    notifications = _awaited(Client.notifications)
    add_notification = _awaited(Client.add_notification)
    remove_notification = _awaited(Client.remove_notification)
    test_notification = _awaited(Client.test_notification)
    deliveries = _awaited(Client.deliveries)
    schedules = _awaited(Client.schedules)
    schedule = _awaited(Client.schedule)
    create_schedule = _awaited(Client.create_schedule)
    update_schedule = _awaited(Client.update_schedule)
    run_schedule = _awaited(Client.run_schedule)
    delete_schedule = _awaited(Client.delete_schedule)
    templates = _awaited(Client.templates)
    template = _awaited(Client.template)
    create_template = _awaited(Client.create_template)
    update_template = _awaited(Client.update_template)
    delete_template = _awaited(Client.delete_template)
    environments = _awaited(Client.environments)
    environment = _awaited(Client.environment)
    create_environment = _awaited(Client.create_environment)
    update_environment = _awaited(Client.update_environment)
    delete_environment = _awaited(Client.delete_environment)
    assets = _awaited(Client.assets)
    asset = _awaited(Client.asset)
    create_asset = _awaited(Client.create_asset)
    update_asset = _awaited(Client.update_asset)
    delete_asset = _awaited(Client.delete_asset)
    policies = _awaited(Client.policies)
    effective_policy = _awaited(Client.effective_policy)
    set_policy = _awaited(Client.set_policy)
    delete_policy = _awaited(Client.delete_policy)
    user_limits = _awaited(Client.user_limits)
    set_user_limit = _awaited(Client.set_user_limit)
    delete_user_limit = _awaited(Client.delete_user_limit)
    budgets = _awaited(Client.budgets)
    set_budgets = _awaited(Client.set_budgets)
    prices = _awaited(Client.prices)
    set_prices = _awaited(Client.set_prices)
    usage_report = _awaited(Client.usage_report)
    checks = _awaited(Client.checks)
    set_check = _awaited(Client.set_check)
    delete_check = _awaited(Client.delete_check)
    approvals = _awaited(Client.approvals)
    create_secret = _awaited(Client.create_secret)
    secrets = _awaited(Client.secrets)
    delete_secret = _awaited(Client.delete_secret)
