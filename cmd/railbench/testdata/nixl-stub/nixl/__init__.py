"""A stub of NIXL's Python module, for tests. It is no NIXL: bytes travel over one
TCP connection, and there is no UCX. It has the calls that the programs in
assets/nixl make, with the shapes that NIXL gives them.

NIXL_STUB breaks it: "backend" fails to register, "corrupt" flips a bit of what is
read, "lost" loses every transfer, "silent" never answers.
"""

import ctypes
import os
import pickle
import socket
import struct
import threading

BROKEN = os.environ.get("NIXL_STUB", "")


class nixlBackendError(Exception):
    pass


class nixl_agent_config:
    def __init__(self, enable_prog_thread=True, enable_listen_thread=False, listen_port=8888, capture_telemetry=False,
                 num_threads=0, backends=("UCX",), sync_mode=None):
        self.listen, self.port = enable_listen_thread, listen_port


class nixl_agent:
    def __init__(self, agent_name, nixl_conf=None, instantiate_all=False):
        self.name, self.conf = agent_name, nixl_conf or nixl_agent_config()
        self.links, self.known, self.notifs = {}, set(), {}
        self.lock = threading.Lock()
        self.reads = {}
        if self.conf.listen:
            self.server = socket.create_server(("", self.conf.port))
            threading.Thread(target=self.accept, daemon=True).start()
        print("Initialized NIXL agent:", agent_name, "(a stub)")

    # The wire: a length and a pickled tuple.

    def send(self, link, *message):
        data = pickle.dumps(message)
        with self.lock:
            link.sendall(struct.pack("<Q", len(data)) + data)

    def accept(self):
        while True:
            link, _ = self.server.accept()
            threading.Thread(target=self.serve, args=(link,), daemon=True).start()

    def serve(self, link):
        stream = link.makefile("rb")
        while True:
            head = stream.read(8)
            if len(head) < 8:
                return
            kind, *rest = pickle.loads(stream.read(struct.unpack("<Q", head)[0]))
            if BROKEN == "silent":
                continue
            if kind == "who":
                self.send(link, "i am", self.name)
            elif kind in ("i am", "know me"):
                self.links[rest[0]] = link
                self.known.add(rest[0])
            elif kind == "notif":
                with self.lock:
                    self.notifs.setdefault(rest[0], []).append(rest[1])
            elif kind == "read":
                number, address, size = rest
                self.send(link, "bytes", number, ctypes.string_at(address, size))
            elif kind == "bytes":
                number, data = rest
                if BROKEN == "corrupt":
                    data = data[:-1] + bytes([data[-1] ^ 1])
                to, done = self.reads.pop(number)
                ctypes.memmove(to, data, len(data))
                done.set()

    # NIXL's calls.

    def register_memory(self, reg_list, mem_type=None, backends=()):
        assert mem_type in ("DRAM", "VRAM") and all(len(r) == 4 for r in reg_list)
        if BROKEN == "backend":
            raise nixlBackendError("NIXL_ERR_BACKEND")
        return list(reg_list)

    def deregister_memory(self, dereg_list, backends=()):
        pass

    def get_xfer_descs(self, descs, mem_type=None):
        assert all(len(d) == 3 for d in descs)
        return list(descs)

    def get_serialized_descs(self, descs):
        return pickle.dumps(descs)

    def deserialize_descs(self, data):
        return pickle.loads(data)

    def connect(self, ip, port):
        if (ip, port) not in self.links:
            link = socket.create_connection((ip, port))
            self.links[ip, port] = link
            threading.Thread(target=self.serve, args=(link,), daemon=True).start()
        return self.links[ip, port]

    def fetch_remote_metadata(self, remote_agent, ip_addr="", port=8888):
        self.send(self.connect(ip_addr, port), "who")

    def send_local_metadata(self, ip_addr="", port=8888):
        self.send(self.connect(ip_addr, port), "know me", self.name)

    def check_remote_metadata(self, agent):
        return agent in self.known

    def remove_remote_agent(self, agent):
        self.known.discard(agent)

    def send_notif(self, remote_agent, message, backend=None):
        self.send(self.links[remote_agent], "notif", self.name, message)

    def get_new_notifs(self, backends=()):
        with self.lock:
            new, self.notifs = self.notifs, {}
        return new

    def initialize_xfer(self, operation, local_descs, remote_descs, remote_agent, notif_msg=b"", backends=()):
        assert operation == "READ"
        (to, size, _), (address, there, _) = local_descs[0], remote_descs[0]
        assert size == there
        return {"link": self.links[remote_agent], "to": to, "from": address, "size": size, "done": None}

    def transfer(self, handle, notif_msg=b""):
        if BROKEN == "lost":
            return "ERR"
        handle["done"], number = threading.Event(), len(self.reads) + 1
        self.reads[number] = handle["to"], handle["done"]
        self.send(handle["link"], "read", number, handle["from"], handle["size"])
        return "PROC"

    def check_xfer_state(self, handle):
        return "DONE" if handle["done"].wait(0.05) else "PROC"

    def release_xfer_handle(self, handle):
        pass
