"""Calls of one item each that come within a moment of each other, made as one call of many."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Item = TypeVar("Item")
#: Seconds for which the first item waits for others: less than a response takes, more than a call between processes.
MOMENT = 0.01


class Together(Generic[Item]):
    """Gathers items for a moment from the first on, and then hands them over, while others may be under way.

    Args:
        call: takes items, and gives the number and the result of each, some at a time and in any order. An exception in
            a result's place is its item's alone; one that the call raises is that of all whose result is not there.
    """

    def __init__(self, call: Callable[[list[Item]], AsyncIterator[Iterable[tuple[int, Any]]]]) -> None:
        self.call = call
        self._waiting: list[tuple[Item, asyncio.Future[Any]]] = []
        # asyncio itself keeps no task alive.
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, item: Item) -> Any:
        """The item's result."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(MOMENT, self._send)
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((item, future))
        return await future

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        task = asyncio.get_running_loop().create_task(self._settle(waiting))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle(self, waiting: list[tuple[Item, asyncio.Future[Any]]]) -> None:
        futures = [future for _, future in waiting]
        cause: BaseException = RuntimeError("a call of many has ended without this one's result")
        try:
            async for results in self.call([item for item, _ in waiting]):
                for number, result in results:
                    _set(futures[number], result)
        except Exception as error:
            cause = error
        finally:
            for future in futures:
                _set(future, cause)


def _set(future: asyncio.Future[Any], result: Any) -> None:
    if future.done():  # it is settled, or its caller was cancelled
        return
    if isinstance(result, BaseException):
        future.set_exception(result)
    else:
        future.set_result(result)


async def settled(*awaited: Awaitable[T]) -> list[T]:
    """All results, once all of them have settled: verl hears of a failure when nothing goes on behind it."""
    values: list[T] = []
    for result in await asyncio.gather(*awaited, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
        values.append(result)
    return values
