import asyncio
import inspect
import threading
import time
import unittest
from typing import Dict, List

import muster
from muster import AsyncClient, errors

from .support import PATIENCE, ServerCase, unique


class TestAsync(ServerCase):
    def client_of(self) -> AsyncClient:
        return AsyncClient(self.server.client())

    def test_a_workload_from_submit_to_end(self) -> None:
        async def story() -> None:
            async with self.client_of() as c:
                w = await c.run("for i in 1 2 3; do echo $i; sleep 0.05; done", name=unique())
                text: List[str] = []
                async for piece in c.logs(w.id, follow=True):
                    text.append(piece)
                self.assertEqual("".join(text), "1\n2\n3\n")
                w = await c.wait(w.id, timeout=PATIENCE)
                self.assertEqual(w.phase, "Completed")
                self.assertEqual((await c.update_metadata(w.id, {"a": 1})).metadata, {"a": 1})
                self.assertEqual((await c.workloads(prefix=w.name))[0].id, w.id)
                with self.assertRaises(errors.NotFoundError):
                    await c.workload("no-such")
                with self.assertRaises(errors.IllegalPhaseError):
                    await c.stop(w.id)
                self.assertEqual((await c.restart(w.id)).attempt, 1)
                await c.wait(w.id, timeout=PATIENCE)
                self.assertIsNone(await c.first_error(w.id))
                await c.delete(w.id)

        asyncio.run(story())

    def test_a_workload_is_awaited_as_documented(self) -> None:
        async def story() -> None:
            async with self.client_of() as c:
                w = await c.run("echo said; sleep 600", name=unique())
                self.assertIsInstance(w, muster.AsyncWorkload)
                async for text in w.follow():
                    self.assertEqual(text, "said\n")
                    break
                self.assertEqual((await w.update_metadata({"a": 1})).metadata, {"a": 1})
                while (phase := (await w.why())["phase"]) == "Starting":  # what it writes may be here before the news that it runs
                    await asyncio.sleep(0.05)
                self.assertEqual(phase, "Running")
                ended = asyncio.ensure_future(w.wait(timeout=PATIENCE))
                await (await c.workload(w.id)).stop(grace_period="0s")
                self.assertIs(await ended, w)
                self.assertEqual(w.phase, "Stopped")
                listed = (await c.workloads(prefix=w.name))[0]
                self.assertEqual((await listed.refresh()).phase, "Stopped")
                await w.delete()

        asyncio.run(story())

    def test_calls_run_beside_each_other(self) -> None:
        async def story() -> None:
            async with self.client_of() as c:
                made = await asyncio.gather(*(c.run("sleep 0.1", name=unique()) for _ in range(8)))
                ended = await asyncio.gather(*(c.wait(w.id, timeout=PATIENCE) for w in made))
                self.assertEqual({w.phase for w in ended}, {"Completed"})
                # More streams than threads hold up no call.
                streams = [asyncio.ensure_future(self.first(c)) for _ in range(20)]
                await asyncio.sleep(0.1)
                self.assertTrue((await c.cluster())["nodes"])
                await c.run("true", name=unique())
                for s in streams:
                    self.assertIsNotNone(await asyncio.wait_for(s, PATIENCE))

        asyncio.run(story())

    async def first(self, c: AsyncClient) -> object:
        async for change in c.watch():
            if change.workload is not None:
                return change.workload
        return None

    def test_what_is_given_up_leaves_nothing(self) -> None:
        def streams() -> int:
            return sum(t.name == "muster-aio-stream" for t in threading.enumerate())

        async def story() -> None:
            async with self.client_of() as c:
                w = await c.run("echo begun; sleep 600", name=unique())
                async for _ in c.logs(w.id, follow=True):
                    break  # and then silence
                for call in (c.wait(w.id), self.silent(c, w.id), self.logs(c, w.id)):
                    with self.assertRaises(asyncio.TimeoutError):
                        await asyncio.wait_for(call, 0.3)
                limit = time.monotonic() + PATIENCE
                while streams() and time.monotonic() < limit:
                    await asyncio.sleep(0.05)
                self.assertEqual(streams(), 0)
                c.sync.stop(w.id, grace_period="0s")

        asyncio.run(story())

    async def silent(self, c: AsyncClient, name: str) -> None:
        async for _ in c.watch(name):
            pass

    async def logs(self, c: AsyncClient, name: str) -> None:
        async for _ in c.logs(name, follow=True):
            pass

    def test_waiting_can_be_given_up(self) -> None:
        async def story() -> None:
            async with self.client_of() as c:
                w = await c.run("sleep 600", name=unique())
                begun = time.monotonic()
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(c.wait(w.id), 0.3)
                self.assertLess(time.monotonic() - begun, PATIENCE)
                with self.assertRaises(TimeoutError):
                    await c.wait(w.id, timeout=0.3)
                self.assertFalse((await c.workload(w.id)).ended)

        asyncio.run(story())


class TestOptions(unittest.TestCase):
    def test_every_call_is_there(self) -> None:
        def calls(of: type) -> Dict[str, inspect.Signature]:
            return {n: inspect.signature(f) for n, f in inspect.getmembers(of, inspect.isfunction) if not n.startswith("_")}

        there, here = calls(muster.Client), calls(AsyncClient)
        self.assertEqual(set(there), set(here))
        for name in set(there) - {"close", "wait"}:  # which are written by hand
            self.assertEqual(there[name], here[name], name)
            self.assertEqual(name not in ("watch", "logs"), inspect.iscoroutinefunction(getattr(AsyncClient, name)), name)

    def test_a_client_is_made_of_options(self) -> None:
        async def story() -> None:
            c = AsyncClient(address="http://127.0.0.1:9", retries=0)
            with self.assertRaises(muster.UnreachableError):
                await c.request("GET", "/version")
            await c.close()

        asyncio.run(story())
