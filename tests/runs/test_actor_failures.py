"""The cause of a failure in an actor of a real Ray, in the words of what was raised there."""

import re
from collections.abc import Callable, Iterator

import pytest
import ray

from pacs.runs.actor_failures import cause_of, death_of, is_death

MESSAGE = "Please don't set A\nwhen B is set."


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(address="local", num_cpus=8, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


class Unpicklable(Exception):
    """Its arguments are not those of its message."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


@ray.remote(num_cpus=0)
def failing_task() -> None:
    raise ValueError(MESSAGE)


@ray.remote(num_cpus=0)
class Failing:
    def __init__(self, how: str) -> None:
        if how == "raises":
            raise ValueError(MESSAGE)
        if how == "task":
            ray.get(failing_task.remote())
        if how == "actor":
            ray.get(Failing.remote("task").answer.remote())
        if how == "unpicklable":
            raise Unpicklable(1, 2)

    def answer(self) -> None:
        raise ValueError(MESSAGE)


@ray.remote(num_cpus=0)
def of_an_actor() -> None:
    ray.get(Failing.remote("raises").answer.remote())


def error_of(call: Callable[[], ray.ObjectRef]) -> Exception:
    with pytest.raises(ray.exceptions.RayError) as raised:
        ray.get(call())
    return raised.value


@pytest.mark.parametrize("how", ["raises", "task", "actor"])
def test_of_a_constructor_it_is_what_was_raised_first(how: str) -> None:
    error = error_of(lambda: Failing.remote(how).answer.remote())
    assert is_death(error)
    where = re.escape(f"ip={ray.util.get_node_ip_address()}")
    for said in (cause_of(error), death_of(error)):
        assert re.fullmatch(rf"ValueError: Please don't set A when B is set\. \(pid=\d+, {where}\)", said)


def test_of_a_task_that_waits_for_such_an_actor_it_is_the_same() -> None:
    error = error_of(lambda: of_an_actor.remote())
    assert cause_of(error).startswith("ValueError: Please don't set A when B is set. (pid=")
    assert death_of(error) == cause_of(error)


def test_of_an_exception_that_cannot_be_sent_it_is_its_text() -> None:
    assert cause_of(error_of(lambda: Failing.remote("unpicklable").answer.remote())).endswith(".Unpicklable: 1 and 2")


def test_of_a_method_it_is_what_it_raised() -> None:
    assert cause_of(error_of(lambda: Failing.remote("works").answer.remote())) == "ValueError: Please don't set A"


def test_of_a_killed_actor_it_is_ray_s_reason() -> None:
    actor = Failing.remote("works")
    ray.kill(actor)
    said = cause_of(error_of(lambda: actor.answer.remote()))
    assert said.startswith("ActorDiedError: The actor is dead because it was killed by `ray.kill`")
