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
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

from .client import Client, Document
from .errors import MusterError
from .models import Change, Page, Workload

T = TypeVar("T")
_END = object()


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

    async def _do(self, method: str, *args: Any, **options: Any) -> Any:
        return await self._in_thread(lambda: getattr(self.sync, method)(*args, **options))

    async def _each(self, make: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
        """What an iterator yields, each step in a thread of its own: a stream that waits must not hold up calls."""
        loop = asyncio.get_running_loop()
        queue: "asyncio.Queue[Any]" = asyncio.Queue(maxsize=64)
        gone = threading.Event()

        def put(item: Any) -> bool:
            try:
                asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()
                return not gone.is_set()
            except (RuntimeError, asyncio.CancelledError):
                return False  # the loop has ended

        def pump() -> None:
            try:
                for item in make():
                    if gone.is_set() or not put((item, None)):
                        return
                put((_END, None))
            except BaseException as e:
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
            gone.set()
            while not queue.empty():  # so that the thread is not held
                queue.get_nowait()

    async def request(self, method: str, path: str, **options: Any) -> Any:
        """See :meth:`Client.request`."""
        return await self._do("request", method, path, **options)

    async def submit(self, document: Document, **options: Any) -> Workload:
        """See :meth:`Client.submit`."""
        w: Workload = await self._do("submit", document, **options)
        return w

    async def run(self, command: Union[str, Sequence[str]], **fields: Any) -> Workload:
        """See :meth:`Client.run`."""
        w: Workload = await self._do("run", command, **fields)
        return w

    async def bulk(self, documents: Sequence[Mapping[str, Any]]) -> List[Union[Workload, MusterError]]:
        """See :meth:`Client.bulk`."""
        out: List[Union[Workload, MusterError]] = await self._do("bulk", documents)
        return out

    async def workload(self, name: str, project: Optional[str] = None) -> Workload:
        """See :meth:`Client.workload`."""
        w: Workload = await self._do("workload", name, project)
        return w

    async def workloads(self, **options: Any) -> Page[Workload]:
        """See :meth:`Client.workloads`. Further pages come with ``cursor=page.cursor``."""
        page: Page[Workload] = await self._do("workloads", **options)
        return page

    async def stop(self, name: str, project: Optional[str] = None, **options: Any) -> Workload:
        """See :meth:`Client.stop`."""
        w: Workload = await self._do("stop", name, project, **options)
        return w

    async def restart(self, name: str, project: Optional[str] = None) -> Workload:
        """See :meth:`Client.restart`."""
        w: Workload = await self._do("restart", name, project)
        return w

    async def change(self, name: str, fields: Mapping[str, Any], project: Optional[str] = None) -> Workload:
        """See :meth:`Client.change`."""
        w: Workload = await self._do("change", name, fields, project)
        return w

    async def update_metadata(self, name: str, metadata: Mapping[str, Any], project: Optional[str] = None) -> Workload:
        """See :meth:`Client.update_metadata`."""
        w: Workload = await self._do("update_metadata", name, metadata, project)
        return w

    async def delete(self, name: str, project: Optional[str] = None) -> Workload:
        """See :meth:`Client.delete`."""
        w: Workload = await self._do("delete", name, project)
        return w

    async def wait(self, name: str, project: Optional[str] = None, **options: Any) -> Workload:
        """See :meth:`Client.wait`. Cancelling it leaves the workload as it is."""
        call = functools.partial(self.sync.wait, name, project, **options)
        async for w in self._each(lambda: iter([call()])):
            return w
        raise AssertionError("it yields once")

    async def why(self, name: str, project: Optional[str] = None) -> Dict[str, Any]:
        """See :meth:`Client.why`."""
        out: Dict[str, Any] = await self._do("why", name, project)
        return out

    async def first_error(self, name: str, project: Optional[str] = None, **options: Any) -> Optional[Dict[str, Any]]:
        """See :meth:`Client.first_error`."""
        out: Optional[Dict[str, Any]] = await self._do("first_error", name, project, **options)
        return out

    async def cluster(self) -> Dict[str, Any]:
        """See :meth:`Client.cluster`."""
        out: Dict[str, Any] = await self._do("cluster")
        return out

    def watch(self, name: Optional[str] = None, **options: Any) -> AsyncIterator[Change]:
        """See :meth:`Client.watch`."""
        return self._each(lambda: self.sync.watch(name, **options))

    def logs(self, name: str, project: Optional[str] = None, **options: Any) -> AsyncIterator[str]:
        """See :meth:`Client.logs`."""
        return self._each(lambda: self.sync.logs(name, project, **options))
