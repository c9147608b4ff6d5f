"""A program for `test_devices`: train on some devices and print the losses as JSON.

Usage: python devices.py KIND COUNT [PORT PROCESS]
"""

import json
import sys

import jax

KIND, COUNT = sys.argv[1], int(sys.argv[2])
if KIND == "processes":
    jax.config.update("jax_num_cpu_devices", COUNT // 2)
    jax.distributed.initialize(f"127.0.0.1:{sys.argv[3]}", 2, int(sys.argv[4]))
else:
    from likely import tune_host

    tune_host(devices=COUNT)

import numpy as np  # noqa: E402
from problem import network, problem, rows  # noqa: E402

from likely.layers.composition.chain import initial_state  # noqa: E402
from likely.models import mlp  # noqa: E402
from likely.solvers import Adam, GradientDescent, Momentum, Validation  # noqa: E402
from likely.solvers.training import (  # noqa: E402
    Checkpoints,
    Stream,
    Training,
    train_members,
)


def curve(mesh, cut=False, **options):
    """The losses of a run with batch norm and batches that the devices do not divide.

    Not with Adam: the biases before a batch norm have no slope but rounding errors, and
    Adam makes full steps of these, different ones on every number of devices.
    """
    objective, _, data = problem(50)
    model = mlp((3, 64, 64, 1), norm="batch", key=jax.random.key(0))
    watch = Validation(rows(20, seed=1), patience=100)
    solver = Momentum(0.003, steps=40, batch_size=18, validation=watch)
    training = Training(solver, mesh=mesh, cut=cut, **options)
    found = training.minimize(
        objective, model, data, key=jax.random.key(1), state=initial_state(model)
    )
    trace = found.trace
    return [np.asarray(a)[:40].tolist() for a in (trace.loss, trace.validation[:3])]


def full(mesh):
    objective, model, data = problem(50)
    training = Training(GradientDescent(0.01, steps=20), mesh=mesh)
    return np.asarray(
        training.minimize(objective, model, data, key=None).trace.loss[:20]
    ).tolist()


def streamed(mesh):
    objective, model, data = problem(50)
    stream = Stream(np.asarray(data.x), np.asarray(data.y), window=8)
    training = Training(Adam(0.01, steps=20, batch_size=18), mesh=mesh)
    found = training.minimize(objective, model, stream, key=jax.random.key(1))
    return np.asarray(found.trace.loss[:20]).tolist()


def members(mesh):
    import test_members

    found = train_members(
        test_members.build, test_members.members(6), test_members.SHARED, mesh=mesh
    )
    return np.asarray(found.loss).tolist()


if __name__ == "__main__":
    assert network
    mesh = None if COUNT == 1 else jax.make_mesh((COUNT,), ("data",))
    result = {"devices": len(jax.devices()), "curve": curve(mesh)}
    if KIND == "all":
        result |= {
            "full": full(mesh),
            "streamed": streamed(mesh),
            "members": members(mesh),
        }
    if KIND != "all" or COUNT > 1:
        result["cut"] = curve(mesh, cut=True)
    if KIND == "processes":
        folder = sys.argv[5]
        stop = lambda e: e.step >= 20  # noqa: E731
        checkpoints = Checkpoints(folder, every_steps=10)
        curve(mesh, checkpoints=checkpoints, callbacks=stop, every=10)
        result["resumed"] = curve(mesh, checkpoints=checkpoints, resume=True, every=10)
    print("RESULT", json.dumps(result))
