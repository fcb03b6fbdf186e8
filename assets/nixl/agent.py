# What the NIXL programs share: memory, the agent, and how they report.

import sys

try:
    import argparse
    import ctypes
    import json
    import mmap
    import os
    import signal
    import socket
    import struct
    import threading
    import time
except ImportError as missing:  # python3-minimal
    sys.exit(f"{missing}: this python3 is not whole, install the package python3")

LIMIT = 60  # seconds that a program may take
CHUNK = 1 << 20
VRAM, DRAM = "VRAM", "DRAM"


def mapped(prefix):
    """The libraries that this process has loaded whose names begin so, by path."""
    paths = set()
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                fields = line.split(None, 5)
                if len(fields) == 6 and os.path.basename(fields[5]).startswith(prefix):
                    paths.add(fields[5].strip())
    except OSError:
        pass
    return sorted(paths)


def mapped_ucx():
    """The UCX that this process has loaded, by path and version. A wheel may bring one of its
    own under another name, of which ucx_info tells nothing."""
    found = []
    for path in mapped("libucp"):
        try:
            version = ctypes.CDLL(path).ucp_get_version_string
            version.restype = ctypes.c_char_p
            found.append(f"{path} {version().decode()}")
        except (OSError, AttributeError):
            found.append(path)
    return found


def report(result):
    """One line of JSON on stdout is the result. Other lines are for people."""
    ucx = mapped_ucx()
    if ucx:
        # Its modules are loaded by themselves, and have the wheel's suffix, too.
        result = {**result, "ucx": ucx, "uct": [os.path.basename(path) for path in mapped("libuct_")]}
    print(json.dumps(result), flush=True)


def reason(error):
    """An exception as one line: NIXL's own have the status in their text."""
    text = " ".join(str(error).split()) or type(error).__name__
    name = type(error).__name__
    if "NIXL_ERR" not in text and name.startswith("nixl"):
        text = f"{name}: {text}"
    return text


def limit(seconds):
    """Ends what hangs: a peer that never comes, a link that is gone."""

    def over(signum, frame):
        raise TimeoutError(f"not done after {seconds} s")

    signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)


def leave(good):
    """Ends the program at once: NIXL's threads must not keep it alive, and what
    they print while they go is no result."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if good else 1)


def tidy(*steps):
    """Runs what is left to do once the result stands: it changes nothing of it."""
    for step in steps:
        try:
            step()
        except Exception as e:
            print(f"while tidying up: {reason(e)}", file=sys.stderr)


def arguments(two_ends):
    parser = argparse.ArgumentParser()
    if two_ends:
        parser.add_argument("--role", choices=["target", "initiator"], required=True)
        parser.add_argument("--listen", type=int, required=True)
        parser.add_argument("--peer")
        parser.add_argument("--peer-port", type=int)
        parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True)
    parser.add_argument("--bytes", type=int, required=True)
    return parser.parse_args()


def load_nixl():
    try:
        from nixl import nixl_agent, nixl_agent_config
    except ImportError:  # older releases export nothing
        from nixl._api import nixl_agent, nixl_agent_config
    return nixl_agent, nixl_agent_config


def nixl_version():
    from importlib import metadata

    for package in ("nixl", "nixl-cu13", "nixl-cu12"):
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            pass
    return None


class Cuda:
    """The few calls of the driver's library that are needed: no torch, and no
    CUDA toolkit."""

    def __init__(self):
        try:
            self.lib = ctypes.CDLL("libcuda.so.1")
        except OSError as e:
            raise RuntimeError("no CUDA driver: libcuda.so.1 is not there") from e
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status != 0:
            raise RuntimeError(f"{name} failed with CUDA error {status}")

    def alloc(self, n):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(n))
        return address.value

    def put(self, address, data):
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), ctypes.c_char_p(data), ctypes.c_size_t(len(data)))

    def get(self, address, n):
        data = ctypes.create_string_buffer(n)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(address), ctypes.c_size_t(n))
        return data.raw


class Memory:
    """A buffer, in the processor's memory or the GPU's."""

    def __init__(self, device, n):
        self.bytes = n
        self.kind = VRAM if device == "cuda" else DRAM
        if self.kind == VRAM:
            self.cuda = Cuda()
            self.address = self.cuda.alloc(n)
            self.write(bytes)
        else:
            self.map = mmap.mmap(-1, n)
            self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))

    def write(self, chunk):
        """Fills it: chunk is a function from a length to the bytes."""
        for at in range(0, self.bytes, CHUNK):
            n = min(CHUNK, self.bytes - at)
            data = chunk(n) if chunk is bytes else chunk(at // CHUNK, n)
            if self.kind == VRAM:
                self.cuda.put(self.address + at, data)
            else:
                self.map[at : at + n] = data

    def holds(self, chunk):
        """Whether every byte is what chunk says."""
        for at in range(0, self.bytes, CHUNK):
            n = min(CHUNK, self.bytes - at)
            data = self.cuda.get(self.address + at, n) if self.kind == VRAM else self.map[at : at + n]
            if data != chunk(at // CHUNK, n):
                return False
        return True

    def registration(self):
        return [(self.address, self.bytes, 0, "")]

    def region(self):
        return [(self.address, self.bytes, 0)]


BASE = bytes(range(1, 252)) * (CHUNK // 251 + 1)


def pattern(i, n):
    """The bytes of chunk i: no two chunks are alike, and none is zero."""
    return (struct.pack("<Q", i + 1) + BASE[i % 251 : i % 251 + CHUNK])[:n]


def require_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("", port))
        except OSError as e:
            raise RuntimeError(f"port {port} is in use: find who listens there (ss -ltnp), or set NIXL_PORT") from e


def listens(port):
    """Looks in the kernel's tables, because a connection would be a client."""
    mark = f":{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table) as f:
                for line in f:
                    fields = line.split()
                    if len(fields) > 3 and fields[1].endswith(mark) and fields[3] == "0A":
                        return True
        except OSError:
            pass
    return not os.path.exists("/proc/net/tcp")


def wait(what, ready):
    """Polls until ready() gives something; limit() ends it."""
    while True:
        value = ready()
        if value:
            return value
        time.sleep(0.001)


def notices(agent, of, kept):
    """Every notification of an agent so far."""
    for name, texts in agent.get_new_notifs().items():
        if name in (of, of.encode()):
            kept.extend(texts)
    return kept


def make_agent(name, port):
    nixl_agent, nixl_agent_config = load_nixl()
    return nixl_agent(name, nixl_agent_config(enable_prog_thread=True, enable_listen_thread=True, listen_port=port))


def target(a):
    """Offers a buffer until the initiator says that it is done."""
    load_nixl()  # the first thing that may be missing
    require_free(a.listen)
    memory = Memory(a.device, a.bytes)
    memory.write(pattern)
    agent = make_agent("target", a.listen)
    registered = agent.register_memory(memory.registration(), memory.kind)
    wait("listener", lambda: listens(a.listen))
    print(f"ready {a.listen}", flush=True)
    wait("initiator", lambda: agent.check_remote_metadata("initiator"))
    offer = agent.get_xfer_descs(memory.region(), memory.kind)
    agent.send_notif("initiator", agent.get_serialized_descs(offer))
    kept = []
    wait("done", lambda: b"done" in notices(agent, "initiator", kept))
    tidy(
        lambda: agent.send_notif("initiator", b"bye"),
        lambda: time.sleep(0.2),  # so that it gets out before the agent goes
        lambda: agent.remove_remote_agent("initiator"),
        lambda: agent.deregister_memory(registered),
    )


def until_bye(agent, kept):
    """Waits until the target has read that this end is done."""
    until = time.monotonic() + 3
    while time.monotonic() < until and b"bye" not in notices(agent, "target", kept):
        time.sleep(0.01)


def initiator(a, measure):
    """Reads the target's buffer as measure wants it, and compares it."""
    memory = Memory(a.device, a.bytes)
    agent = make_agent("initiator", a.listen)
    registered = agent.register_memory(memory.registration(), memory.kind)
    agent.fetch_remote_metadata("target", a.peer, a.peer_port)
    agent.send_local_metadata(a.peer, a.peer_port)
    wait("target", lambda: agent.check_remote_metadata("target"))
    kept = []
    wait("offer", lambda: notices(agent, "target", kept))
    theirs = agent.deserialize_descs(kept.pop(0))
    mine = agent.get_xfer_descs(memory.region(), memory.kind)
    handle = agent.initialize_xfer("READ", mine, theirs, "target")

    def read():
        state = agent.transfer(handle)
        while state == "PROC":
            state = agent.check_xfer_state(handle)
        if state != "DONE":
            raise RuntimeError(f"the transfer ended as {state}")

    read()  # the first one sets up the connection
    figures = measure(read)
    figures["verified"] = memory.holds(pattern)
    agent.send_notif("target", b"done")
    tidy(
        lambda: until_bye(agent, kept),
        lambda: agent.release_xfer_handle(handle),
        lambda: agent.remove_remote_agent("target"),
        lambda: agent.deregister_memory(registered),
    )
    return figures


def two_ends(test, head, measure):
    """The whole of a program with a target and an initiator."""
    a = arguments(two_ends=True)
    limit(LIMIT)
    result = {"test": test, "role": a.role}
    good = False
    try:
        if a.role == "target":
            target(a)
            result["served"] = good = True
        else:
            result.update(head(a))
            result.update(initiator(a, lambda read: measure(a, read)))
            good = result["verified"]
    except Exception as e:
        print(f"{test}: {e}", file=sys.stderr)
        result.update({"served" if a.role == "target" else "verified": False, "error": reason(e)})
    signal.alarm(0)
    report(result)
    leave(good)
