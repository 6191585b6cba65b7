"""A client of the step-runner service that shares nothing with ours but the .proto.

Arguments: where the generated code is, the socket, a directory to work in. Prints what it saw as JSON.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

import grpc
from runwright.steps.v1 import steps_pb2 as messages
from runwright.steps.v1 import steps_pb2_grpc as services

ID = "from-python"
SECRET = "hunter2-is-no-password"
STEPS = [
    {"name": "first", "script": "echo run >> runs; echo $GREETING; echo the $SECRET; echo oops >&2"},
    {"name": "second", "script": "pwd; exit 3"},
]

# What gRPC's C library makes of the path is no authority as HTTP/2 knows it, and is refused.
OPTIONS = [("grpc.default_authority", "localhost")]

with grpc.insecure_channel("unix:" + sys.argv[2], options=OPTIONS) as channel:
    service = services.StepRunnerStub(channel)
    request = messages.RunRequest(
        id=ID,
        work_dir=sys.argv[3],
        env={"GREETING": "hello from Python", "SECRET": SECRET},
        masking=messages.Masking(phrases=[SECRET]),
        steps=json.dumps(STEPS),
    )
    # The second does nothing.
    service.Run(request, timeout=60)
    service.Run(request, timeout=60)

    def follow(offset):
        answers = service.FollowLogs(messages.FollowLogsRequest(id=ID, offset=offset), timeout=60)
        return b"".join(answer.data for answer in answers)

    log = follow(0)
    resumed = follow(40)
    results = service.FollowSteps(messages.FollowStepsRequest(id=ID), timeout=60)
    steps = [(answer.result.step.name, answer.result.status) for answer in results]
    status = service.Status(messages.StatusRequest(id=ID), timeout=60).jobs[0]
    listed = [job.id for job in service.Status(messages.StatusRequest(), timeout=60).jobs]
    service.Finish(messages.FinishRequest(id=ID), timeout=60)
    service.Finish(messages.FinishRequest(id=ID), timeout=60)
    try:
        service.Status(messages.StatusRequest(id=ID), timeout=60)
        after = "known"
    except grpc.RpcError as error:
        after = error.code().name
    print(
        json.dumps(
            {
                "log": log.decode(),
                "resumed": resumed.decode(),
                "steps": steps,
                "finished": status.finished,
                "exit_code": status.exit_code,
                "has_times": status.HasField("start_time") and status.HasField("end_time"),
                "listed": listed,
                "after": after,
            }
        )
    )
