#!/usr/bin/env python3
"""A driver for Runwright: runs jobs as processes of this host. Python's standard library alone.

The protocol is documented in crates/executor-driver/proto/runwright/driver/v1/driver.proto. A driver for another kind of
environment keeps `Connection` and `Call`, and changes the methods of `Host`, which are the calls.
"""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import threading
import time
from selectors import EVENT_READ, DefaultSelector

WINDOW = 1 << 20  # how many bytes of one call may be on the way
CHUNK = 64 << 10


class Refused(Exception):
    """Ends a call with an error. Kinds: failed, temporary, config, no_capacity, unknown, canceled."""

    def __init__(self, message, kind="failed"):
        super().__init__(message)
        self.kind = kind


class Connection:
    """Frames on standard input and output; each call runs in a thread of its own."""

    def __init__(self, driver):
        self.driver, self.calls, self.lock = driver, {}, threading.Lock()
        self.input = sys.stdin.buffer
        # Standard output belongs to the protocol: what anything else prints goes to standard error.
        self.output = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)

    def send(self, header, payload=b""):
        text = json.dumps(header).encode()
        frame = memoryview(struct.pack(">II", len(text), len(payload)) + text + payload)
        with self.lock:
            while frame:  # a pipe may take a part
                frame = frame[self.output.write(frame) :]

    def serve(self):
        while True:
            lengths = self.input.read(8)
            if len(lengths) < 8:
                return
            header, payload = struct.unpack(">II", lengths)
            frame = json.loads(self.input.read(header))
            payload = self.input.read(payload)
            if "call" in frame:
                call = self.calls[frame["id"]] = Call(self, frame["id"])
                work = (call, frame["call"], frame.get("params", {}), payload)
                threading.Thread(target=self.answer, args=work, daemon=True).start()
            elif call := self.calls.get(frame["id"]):
                call.receive(frame, payload)

    def answer(self, call, name, params, payload):
        try:
            method = getattr(self.driver, "call_" + name, None)
            if method is None:
                raise Refused(f"this driver has no call {name!r}")
            end = {"result": method(call, params, payload) or {}}
        except Exception as error:  # whatever went wrong, the runner learns of it
            kind = getattr(error, "kind", "failed")
            end = {"error": {"kind": kind, "message": str(error) or repr(error)}}
        del self.calls[call.id]
        self.send({"id": call.id, **end})


class Call:
    """One open call, with a window in each direction."""

    def __init__(self, connection, id):
        self.connection, self.id = connection, id
        self.changed = threading.Condition()
        self.room, self.data, self.stopped, self.on_stop = WINDOW, [], None, None

    def receive(self, frame, payload):
        with self.changed:
            if "ack" in frame:
                self.room += frame["ack"]["bytes"]
            elif "data" in frame:
                self.data.append(payload)
            elif "stop" in frame:
                self.stopped = frame["stop"]["signal"]
                if self.on_stop:
                    self.on_stop(self.stopped)
            self.changed.notify_all()

    def when_stopped(self, act):
        """Calls `act` with "term" or "kill" for each stop, also for one that came already."""
        with self.changed:
            self.on_stop = act
            if act and self.stopped:
                act(self.stopped)

    def send(self, header, payload):
        with self.changed:
            # The runner may read no further after a "kill".
            self.changed.wait_for(lambda: self.room >= len(payload) or self.stopped == "kill")
            if self.room < len(payload):
                raise Refused("canceled", "canceled")
            self.room -= len(payload)
        self.connection.send({"id": self.id, **header}, payload)

    def log(self, text):
        """Writes lines to the log of the job that the call is for. What is printed goes to the logs of all jobs."""
        self.connection.send({"id": self.id, "log": {}}, text.encode())

    def write(self, payload):
        """A file for `tarfile`: sends data."""
        for at in range(0, len(payload), CHUNK):
            if self.stopped:
                raise Refused("canceled", "canceled")
            self.send({"data": {}}, payload[at : at + CHUNK])
        return len(payload)

    def read(self, size):
        """A file for `tarfile`: receives data; nothing at its end."""
        with self.changed:
            self.changed.wait_for(lambda: self.data or self.stopped)
            if self.stopped:
                raise Refused("canceled", "canceled")
            chunk = self.data[0][:size]
            self.data[0] = self.data[0][size:]
            if not self.data[0] and chunk:  # an empty one stays: it is the last
                self.data.pop(0)
        if chunk:
            self.connection.send({"id": self.id, "ack": {"bytes": len(chunk)}})
        return chunk


class Host:
    """The calls: each receives the call, its parameters and the payload, and returns the result."""

    capabilities = ["files"]

    def __init__(self):
        self.environments = {}

    def call_describe(self, call, params, payload):
        directory = params["directory"]
        return {
            "protocol": 1,
            "name": "host.py",
            "version": "1.0",
            "capabilities": self.capabilities,
            "builds_dir": os.path.join(directory, "builds"),
            "cache_dir": os.path.join(directory, "cache"),
        }

    def call_status(self, call, params, payload):
        return {"environments": list(self.environments)}

    def call_prepare(self, call, params, payload):
        dirs = params["dirs"]
        self.environments[params["environment"]] = dirs["temp_dir"]  # first, so that cleanup finds it
        for path in dirs["builds_dir"], dirs["cache_dir"], os.path.dirname(dirs["project_dir"]):
            os.makedirs(path, exist_ok=True)
        os.makedirs(dirs["temp_dir"], mode=0o700, exist_ok=True)
        return {"hostname": os.uname().nodename, "shell": params.get("shell") or "sh"}

    def call_run(self, call, params, payload):
        size, temp_dir = params["script_size"], params["temp_dir"]
        script = os.path.join(temp_dir, ".script." + params["run"])
        os.makedirs(temp_dir, mode=0o700, exist_ok=True)  # an earlier stage may have removed it
        write_private(script, payload[:size])
        variables = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "USER") if name in os.environ}
        variables.update(params["variables"], RUNWRIGHT_ENVIRONMENT=params["environment"])
        for file in params["files"]:
            variables[file["key"]] = path = os.path.join(temp_dir, file["key"])
            write_private(path, payload[size : size + file["size"]])
            size += file["size"]
        process = subprocess.Popen(
            [params["shell"], script],
            cwd=params["working_dir"],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a process group of its own, which a stop reaches as a whole
        )
        numbers = {"term": signal.SIGTERM, "kill": signal.SIGKILL}
        call.when_stopped(lambda name: signal_group(process.pid, numbers[name]))
        ended = threading.Event()
        threading.Thread(target=end_group, args=(process, ended), daemon=True).start()
        try:
            forward(call, process, ended)
        finally:
            ended.wait()
            call.when_stopped(None)  # from here on another process may get the number of the group
            process.wait()
            remove_file(script)
        code = process.returncode
        return {"exit_code": code} if code >= 0 else {"signal": -code}

    def call_put(self, call, params, payload):
        os.makedirs(params["directory"], exist_ok=True)
        with tarfile.open(fileobj=call, mode="r|") as archive:
            archive.extractall(params["directory"], filter="tar")  # refuses members outside
        while call.read(CHUNK):  # the padding of the archive
            pass

    def call_get(self, call, params, payload):
        with tarfile.open(fileobj=call, mode="w|") as archive:
            for path in params["paths"]:
                full = os.path.join(params["directory"], path)
                if os.path.lexists(full):
                    archive.add(full, arcname=path)

    def call_cleanup(self, call, params, payload):
        self.remove(params["environment"])

    def remove(self, environment):
        end_marked(environment)
        shutil.rmtree(self.environments.get(environment, ""), ignore_errors=True)
        self.environments.pop(environment, None)


def remove_file(path):
    if os.path.lexists(path):
        os.unlink(path)


def write_private(path, content):
    remove_file(path)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def signal_group(group, number):
    try:
        os.killpg(group, number)
    except OSError:  # it has ended, or is another user's
        pass


def end_group(process, ended):
    """Waits for the main process, and ends what it left in its group: nothing outlives a stage."""
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # keeps the number of the group taken
    signal_group(process.pid, signal.SIGKILL)
    ended.set()


def forward(call, process, ended, grace=1.0):
    """Sends both streams until their end; a process outside the group may hold them open for the grace period."""
    with process.stdout, process.stderr, DefaultSelector() as selector:
        selector.register(process.stdout, EVENT_READ, "stdout")
        selector.register(process.stderr, EVENT_READ, "stderr")
        deadline = None
        while selector.get_map() and not (deadline and time.monotonic() > deadline):
            for key, _ in selector.select(0.1):
                chunk = os.read(key.fd, CHUNK)
                if chunk:
                    call.send({"output": {"stream": key.data}}, chunk)
                else:
                    selector.unregister(key.fileobj)
            if ended.is_set():
                deadline = deadline or time.monotonic() + grace


def end_marked(environment):
    """Kills the processes of an environment wherever they are, until there are none."""
    mark = b"RUNWRIGHT_ENVIRONMENT=" + environment.encode() + b"\0"
    found = True
    while found:
        found = False
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark in file.read():
                        os.kill(int(pid), signal.SIGKILL)
                        found = True
            except OSError:  # it has ended, or is another user's
                pass


def main(driver):
    Connection(driver).serve()
    for environment in list(driver.environments):  # the runner is gone
        driver.remove(environment)


if __name__ == "__main__":
    main(Host())
