"""Functions that JAX compiles, without JAX."""

import sys
from dataclasses import dataclass
from threading import Thread
from time import sleep
from types import SimpleNamespace

from ringlet.arrays import tracing


def test_threads_that_compile_at_once_register_a_class_once(monkeypatch):
    @dataclass(frozen=True)
    class Held:
        array: object
        name: str

    taken, compiled = [], []

    def register(kind, arrays, others):
        sleep(0.05)  # the other thread comes meanwhile
        taken.append((kind, arrays, others))

    fake = SimpleNamespace(tree_util=SimpleNamespace(register_dataclass=register), jit=lambda function, **_: function)
    monkeypatch.setitem(sys.modules, "jax", fake)
    monkeypatch.setattr(tracing, "_KINDS", {Held: ("array",)})  # the real classes must stay for JAX itself
    threads = [Thread(target=lambda: compiled.append(tracing._compiled.__wrapped__(abs))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == [(Held, ["array"], ["name"])]
    assert compiled == [abs, abs]
