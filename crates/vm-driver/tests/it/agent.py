"""An agent with the HTTP API of Jeballto for tests. Its machines are OpenSSH servers of this host, each with the processes and
the directories `builds` and `cache` of a machine of its own.

It prints its port and serves until it is killed. `POST /test` changes how it behaves:

    limit        how many machines may run (default 2)
    boot         seconds from the first look at a started machine until it runs (0)
    pull         seconds that a pull takes, also one that runs already (0)
    create       seconds between the creation of a machine and the answer (0)
    lose_create  how many answers to a creation are lost (0)
    ssh_refused  how often each machine refuses to enable SSH (0)
    ssh_late     how often SSH of each machine is enabled before its server listens (0)
    fail         how many of the next requests get 503; -1: all (0)
    machine      the state of a machine after its start, as "error" ("running")
    path         the PATH in the machine, to hide tools

`GET /test` returns the requests so far, the pulls, and the machines.
"""

import json, os, signal, socket, subprocess, sys, threading, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT, TOKEN = sys.argv[1], "secret"
SSH_KEY = os.path.join(ROOT, "user")
HOST_KEY = os.path.join(ROOT, "host")
LOCK = threading.RLock()
KNOBS = dict(limit=2, boot=0, pull=0, create=0, lose_create=0, ssh_refused=0, ssh_late=0, fail=0, machine="running", path="")
VMS, IMAGES, PULLS, REQUESTS, COUNTS = {}, [], {}, [], {"pulls": 0}


class Refused(Exception):
    def __init__(self, status, code, message):
        self.status, self.code, self.message = status, code, message


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def listen(vm):
    """Starts the SSH server of a machine on a new port, and waits until it listens."""
    home = os.path.join(ROOT, vm["id"])
    os.makedirs(home, exist_ok=True)
    # Another process may take a port before the server does.
    for port in (free_port() for _ in range(10)):
        server = start_server(vm, home, port)
        if server:
            vm["port"], vm["sshd"] = port, server
            return
    raise Refused(409, "SSH_ENABLE_FAILED", "the SSH server does not listen")


def start_server(vm, home, port):
    """Returns an SSH server that listens on this port; `None` if it does not."""
    environment = f'HOME={home}' + (f' PATH={KNOBS["path"]}' if KNOBS["path"] else "")
    config = os.path.join(ROOT, f"{vm['id']}.{port}.conf")
    with open(config, "w") as file:
        file.write(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {HOST_KEY}\nAuthorizedKeysFile {SSH_KEY}.pub\n"
            f"StrictModes no\nUsePAM no\nPidFile none\nSetEnv {environment}\nMaxStartups 100\nMaxSessions 100\n"
        )
    enter = ["nsenter", "--target", str(children(vm["machine"].pid)[0]), "--mount", "--pid"]
    command = enter + ["/usr/sbin/sshd", "-D", "-e", "-f", config]
    with open(f"{config}.log", "w") as log:
        server = subprocess.Popen(command, stderr=log, start_new_session=True)
    ends = time.monotonic() + 20
    while server.poll() is None and time.monotonic() < ends:
        with open(f"{config}.log") as log:
            if "Server listening" in log.read():
                return server
        time.sleep(0.005)
    server.kill()
    server.wait()
    return None


def power_on(vm):
    """Starts a first process with namespaces of its own; what runs in them ends with it."""
    directories = " ".join(os.path.join(ROOT, name) for name in ("builds", "cache"))
    init = f"for it in {directories}; do mkdir -p $it && mount -t tmpfs none $it || exit; done; echo; exec sleep infinity"
    unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", init]
    vm["machine"] = subprocess.Popen(unshare, stdout=subprocess.PIPE)
    vm["machine"].stdout.readline()


def power_off(vm):
    silence(vm)
    machine = vm.pop("machine", None)
    if machine is not None:
        machine.kill()
        machine.wait()


def silence(vm):
    """Ends the SSH server of a machine and its connections, and takes its port."""
    vm["port"] = None
    server = vm.pop("sshd", None)
    if server is None:
        return
    # Each connection has a session of its own below the server.
    for pid in children(server.pid) + [server.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    server.wait()


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            found = [int(word) for word in file.read().split()]
    except OSError:
        return []
    return found + [below for child in found for below in children(child)]


def seen(vm):
    return {"id": vm["id"], "name": vm["name"], "state": vm["state"], "resources": vm["resources"], "ephemeral": vm["ephemeral"]}


def find(id):
    if id not in VMS:
        raise Refused(404, "VM_NOT_FOUND", "no such VM")
    return VMS[id]


def ssh_info(vm):
    status = "ready" if vm["port"] else "disabled"
    return {"host": "127.0.0.1", "port": vm["port"], "status": status}


def finish_pull(operation):
    begun = time.monotonic()
    while (past := time.monotonic() - begun) < (whole := KNOBS["pull"]):
        operation["progress"] = past * 4 // whole / 4
        time.sleep(0.02)
    with LOCK:
        if operation["status"] == "running":
            operation["status"], operation["progress"] = "completed", 1.0
            IMAGES.append(operation["reference"])


def pull(body):
    image = body["reference"]
    if "missing" in image:
        raise Refused(400, "INVALID_REFERENCE", f"no image {image}")
    COUNTS["pulls"] += 1
    operation = {"operationId": str(uuid.uuid4()), "reference": image, "status": "running", "progress": 0.0}
    PULLS[operation["operationId"]] = operation
    threading.Thread(target=finish_pull, args=(operation,), daemon=True).start()
    return 202, operation


def create(body):
    image = body["image"]
    if any(vm["name"] == body["name"] for vm in VMS.values()):
        raise Refused(409, "INVALID_STATE", "a VM with this name exists")
    if image not in IMAGES:
        COUNTS["pulls"] += 1
        IMAGES.append(image)
    vm = dict(id=str(uuid.uuid4()), name=body["name"], state="stopped", resources={}, port=None, refused=0, late=0, ephemeral=body["ephemeral"])
    VMS[vm["id"]] = vm
    return vm


def change(vm, body):
    if vm["state"] not in ("created", "stopped"):
        raise Refused(409, "INVALID_STATE", "VM must be stopped or created to update resources")
    vm["resources"].update(body["resources"])
    return 200, seen(vm)


def start(vm):
    if vm["state"] != "stopped":
        raise Refused(409, "INVALID_STATE", "Cannot start VM from its current state")
    active = sum(other["state"] not in ("stopped", "error") for other in VMS.values())
    if active >= KNOBS["limit"]:
        raise Refused(409, "VM_LIMIT_REACHED", f"Cannot start VM - {active} VMs already active (max {KNOBS['limit']})")
    vm["state"] = "starting"

    def run():
        with LOCK:
            if vm["state"] == "starting":
                power_on(vm)
                vm["state"] = KNOBS["machine"]

    if KNOBS["boot"]:
        vm["boot"] = threading.Timer(KNOBS["boot"], run)
    else:
        run()
    return 200, seen(vm)


def look(vm):
    """Answers a look at a machine, which sees a slow start however late it comes."""
    boot = vm.pop("boot", None)
    if boot:
        boot.start()
    return 200, seen(vm)


def enable(vm):
    if vm["state"] != "running":
        raise Refused(409, "INVALID_STATE", "VM must be running to enable SSH forwarding")
    if vm["refused"] < KNOBS["ssh_refused"]:
        vm["refused"] += 1
        raise Refused(409, "SSH_ENABLE_FAILED", "VM has no NAT IP address")
    if vm["late"] < KNOBS["ssh_late"]:
        vm["late"] += 1
        # Nothing listens there.
        return 200, {"host": "127.0.0.1", "port": 1, "status": "ready"}
    if not vm["port"]:
        listen(vm)
    return 200, ssh_info(vm)


def disable(vm):
    silence(vm)
    return 200, ssh_info(vm)


def stop(vm):
    power_off(vm)
    if vm["ephemeral"] and vm["state"] == "running":
        del VMS[vm["id"]]
    vm["state"] = "stopped"
    return 200, seen(vm)


def delete(vm, force):
    if vm["state"] not in ("stopped", "error") and not force:
        raise Refused(409, "INVALID_STATE", "VM must be stopped before deletion")
    power_off(vm)
    del VMS[vm["id"]]
    return 204, None


def page(items, key):
    return 200, {key: items, "total": len(items), "limit": 1000, "offset": 0}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        text = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def serve(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(body) if body else {}
        path, _, query = self.path.partition("?")
        if path == "/test":
            with LOCK:
                KNOBS.update(body)
                machines = [dict(seen(vm), port=vm["port"]) for vm in VMS.values()]
                return self.answer(200, dict(COUNTS, requests=REQUESTS, machines=machines))
        try:
            with LOCK:
                REQUESTS.append(f"{self.command} {path.removeprefix('/v1')}")
                status, found = self.route(path.removeprefix("/v1").strip("/").split("/"), body, query)
            if status == "created":
                vm, status, found = found, 201, seen(found)
                time.sleep(KNOBS["create"])
                with LOCK:
                    lost = KNOBS["lose_create"] > 0
                    KNOBS["lose_create"] -= lost
                if lost:
                    self.close_connection = True
                    return self.connection.shutdown(socket.SHUT_RDWR)
            self.answer(status, found)
        except Refused as refused:
            self.answer(refused.status, {"error": {"code": refused.code, "message": refused.message}})
        except (BrokenPipeError, ConnectionResetError):
            pass

    do_GET = do_POST = do_PATCH = do_DELETE = serve

    def route(self, path, body, query):
        if self.headers.get("authorization") != f"Bearer {TOKEN}":
            raise Refused(401, "UNAUTHORIZED", "invalid token")
        if KNOBS["fail"]:
            KNOBS["fail"] -= KNOBS["fail"] > 0
            raise Refused(503, "INTERNAL", "out of order")
        match self.command, path:
            case "GET", ["images"]:
                return page([{"reference": image} for image in IMAGES], "images")
            case "GET", ["images", "pull", "operations"]:
                return 200, {"operations": [it for it in PULLS.values() if it["status"] == "running"]}
            case "POST", ["images", "pull"]:
                return pull(body)
            case "GET", ["images", "pull", "operations", id]:
                return 200, PULLS[id]
            case "DELETE", ["images", "pull", "operations", id]:
                PULLS[id]["status"] = "cancelled"
                return 200, PULLS[id]
            case "GET", ["vms"]:
                return page([seen(vm) for vm in VMS.values()], "vms")
            case "POST", ["vms"]:
                return "created", create(body)
            case "GET", ["vms", id]:
                return look(find(id))
            case "PATCH", ["vms", id]:
                return change(find(id), body)
            case "DELETE", ["vms", id]:
                return delete(find(id), "force=true" in query)
            case "POST", ["vms", id, "start"]:
                return start(find(id))
            case "POST", ["vms", id, "stop"]:
                return stop(find(id))
            case "GET", ["vms", id, "ssh"]:
                return 200, ssh_info(find(id))
            case "POST", ["vms", id, "ssh"]:
                return enable(find(id))
            case "DELETE", ["vms", id, "ssh"]:
                return disable(find(id))
        raise Refused(404, "NOT_FOUND", self.path)


for key in (SSH_KEY, HOST_KEY):
    if not os.path.exists(key):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
os.makedirs("/run/sshd", exist_ok=True)
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
# The end of standard input ends it, and all machines with it.
sys.stdin.read()
for vm in list(VMS.values()):
    power_off(vm)
