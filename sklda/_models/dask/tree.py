"""Sums over workers along a binary tree: each worker sends to its parent and to its children only."""

import asyncio
import math


class Tree:
    """Mixin of an actor: sums over all actors of their kind. All of them make the same sums in the same order.

    The calls between actors run in the event loops of the workers, so no thread waits for another worker.

    Attributes
    ----------
    epoch : int
        The number of the present tree, or a number between two trees. Calls from an earlier tree fail, and its sums
        end.
    """

    epoch = -1
    # Futures of sums by their number; `join_tree` begins with new ones.
    _subtotals: dict[int, asyncio.Future]
    _totals: dict[int, asyncio.Future]

    def join_tree(self, epoch, index, actors):
        """Take a place in a tree of the actors; the sums begin at number 0."""
        self.leave_tree()
        self.epoch, self.index, self.n_shards = epoch, index, len(actors)
        self._parent = actors[(index - 1) // 2] if index else None
        self._children = actors[2 * index + 1 : 2 * index + 3]
        self._number, self._subtotals, self._totals = 0, {}, {}

    def leave_tree(self):
        """End the calls of other actors that wait for sums."""
        self.epoch = math.floor(self.epoch) + 0.5
        for sums in (getattr(self, "_subtotals", {}), getattr(self, "_totals", {})):
            for waiting in sums.values():
                waiting.cancel()

    async def subtotal(self, epoch, number):
        """The sum over this actor and those below it."""
        return await self._found(epoch, lambda: self._subtotals, number)

    async def total(self, epoch, number):
        """The sum over all actors."""
        return await self._found(epoch, lambda: self._totals, number)

    async def sum_over_shards(self, own, add):
        """The sum over all actors.

        Parameters
        ----------
        own : object
            What this actor adds.
        add : callable
            Makes the sum of a list. It is called in a thread.
        """
        number, epoch = self._number, self.epoch
        self._number += 1
        for results in (self._subtotals, self._totals):
            # All actors have the sums before the last one.
            for old in [key for key in results if key < number - 1]:
                del results[old]
        below = await asyncio.gather(*(child.subtotal(epoch, number) for child in self._children))
        result = await self.in_thread(add, [own, *below]) if below else own
        self.check_epoch(epoch)
        self._future(self._subtotals, number).set_result(result)
        if self._parent is not None:
            result = await self._parent.total(epoch, number)
            self.check_epoch(epoch)
        self._future(self._totals, number).set_result(result)
        return result

    def check_epoch(self, epoch):
        """Raise an error if the tree is no longer that of `epoch`."""
        if epoch != self.epoch:
            raise RuntimeError("the tree of the workers has changed")

    async def _found(self, epoch, results, number):
        while epoch > self.epoch:
            # The caller tells one actor of a new tree after the other.
            await asyncio.sleep(0.001)
        self.check_epoch(epoch)
        # Not before, because a new tree begins with new sums.
        future = self._future(results(), number)
        # Not `await future`, which would raise the CancelledError of `leave_tree` in the server of the worker.
        await asyncio.wait([future])
        self.check_epoch(epoch)
        return future.result()

    @staticmethod
    def _future(results, number):
        if number not in results:
            results[number] = asyncio.get_running_loop().create_future()
        return results[number]
