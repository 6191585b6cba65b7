#!/usr/bin/env python3
"""A source of machines: the boards of a list, shared by the runners that have this directory.

`create` takes a free board, and `remove` releases it. Who has which is in a file, so that nothing is lost when a runner ends.
The settings are `boards`, a list of tables with `host` and, if needed, `port`, `user`, `identity_file` and `known_hosts_file`.
"""

import contextlib
import fcntl
import json
import os
import socket
import sys

TAKEN = "boards.taken.json"


@contextlib.contextmanager
def taken():
    """Locks and returns the names of machines by board; changes are stored."""
    with open(TAKEN + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        names = {}
        if os.path.exists(TAKEN):
            with open(TAKEN) as file:
                names = json.load(file)
        yield names
        with open(TAKEN + ".new", "w") as file:
            json.dump(names, file)
        os.replace(TAKEN + ".new", TAKEN)


def check(board):
    """Raises an error unless an SSH server answers."""
    address = board["host"], board.get("port", 22)
    with socket.create_connection(address, timeout=10) as connection:
        if connection.recv(4) != b"SSH-":
            raise OSError("it is not an SSH server")


def create(name, boards):
    """Takes the machine's own board, or the first free one that answers."""
    by_key = {f"{board['host']}:{board.get('port', 22)}": board for board in boards}
    errors = {}
    while True:
        with taken() as names:
            own = [key for key in by_key if names.get(key) == name]
            free = [key for key in by_key if key not in names and key not in errors]
            if not own and not free:
                reasons = [f"{key}: {error}" for key, error in errors.items()]
                return {"error": "; ".join(reasons) or "all boards are in use"}
            key = (own + free)[0]
            # Also after a change of the list, a machine is one board.
            for other in [it for it in names if names[it] == name]:
                del names[other]
            names[key] = name
        # Without the lock, since this takes up to 10 seconds.
        try:
            check(by_key[key])
            return {"endpoint": {"ssh": by_key[key]}}
        except OSError as error:
            errors[key] = error
            with taken() as names:
                names.pop(key, None)


def remove(name):
    with taken() as names:
        for key in [key for key, it in names.items() if it == name]:
            del names[key]


def answer(request):
    call, name = request["call"], request.get("name")
    if call == "list":
        with taken() as names:
            return {"machines": [it for it in names.values() if it.startswith(request["prefix"])]}
    if call == "create":
        return create(name, request["config"]["boards"])
    if call == "check":
        check(request["endpoint"]["ssh"])
    elif call == "remove":
        remove(name)
    else:
        return {"error": f"unknown call {call!r}"}
    return {}


try:
    result = answer(json.load(sys.stdin))
except (OSError, ValueError) as error:
    result = {"error": str(error)}
except KeyError as error:
    result = {"error": f"{error} is missing"}
json.dump(result, sys.stdout)
