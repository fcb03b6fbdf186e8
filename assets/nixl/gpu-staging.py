# railbench: gpu-staging
# What the GPU's driver says about GPUDirect, and what host memory does while a
# GPU buffer is made, copied to the host and back. Without a GPU it says so.
# with agent.py

GPU_DIRECT_RDMA, DMA_BUF, INTEGRATED = 116, 124, 18  # CU_DEVICE_ATTRIBUTE_…


def used_mb():
    """Like the column "used" of free -m, in MiB."""
    sizes = {}
    with open("/proc/meminfo") as f:
        for line in f:
            name, value = line.split(":")
            sizes[name] = int(value.split()[0])
    return (sizes["MemTotal"] - sizes["MemAvailable"]) // 1024


class Step:
    """Samples host memory while a step runs, and keeps the highest."""

    def __init__(self, name, samples):
        self.name, self.samples = name, samples

    def __enter__(self):
        self.done, self.most = threading.Event(), used_mb()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        self.began = time.monotonic()

    def watch(self):
        while not self.done.wait(0.005):
            self.most = max(self.most, used_mb())

    def __exit__(self, *failure):
        seconds = time.monotonic() - self.began
        self.done.set()
        self.thread.join()
        now = used_mb()
        most = now if self.name in ("baseline", "freed") else max(self.most, now)
        self.samples.append({"step": self.name, "usedMB": most, "seconds": round(seconds, 4)})
        print(f"{self.name}: {most} MiB of host memory in use", flush=True)


def attribute(cuda, number):
    value = ctypes.c_int()
    try:
        cuda.call("cuDeviceGetAttribute", ctypes.byref(value), number, 0)
    except RuntimeError:
        return None  # a driver that does not know it
    return value.value


def walk(cuda, n, samples):
    with Step("baseline", samples):
        time.sleep(0.1)
    with Step("gpu buffer", samples):
        gpu = cuda.alloc(n)
        cuda.call("cuMemsetD8_v2", ctypes.c_uint64(gpu), ctypes.c_ubyte(1), ctypes.c_size_t(n))
        cuda.call("cuCtxSynchronize")
    with Step("gpu to host", samples):
        host = mmap.mmap(-1, n)
        place = ctypes.c_char.from_buffer(host)
        cuda.call("cuMemcpyDtoH_v2", ctypes.byref(place), ctypes.c_uint64(gpu), ctypes.c_size_t(n))
    with Step("host to gpu", samples):
        cuda.call("cuMemcpyHtoD_v2", ctypes.c_uint64(gpu), ctypes.byref(place), ctypes.c_size_t(n))
    with Step("freed", samples):
        cuda.call("cuMemFree_v2", ctypes.c_uint64(gpu))
        del place
        host.close()


parser = argparse.ArgumentParser()
parser.add_argument("--bytes", type=int, required=True)
a = parser.parse_args()
limit(LIMIT)
result = {"test": "gpu-staging", "gpu": None, "unified": False, "gpuDirectRDMA": None, "dmaBuf": None, "samples": [], "error": None}
cuda = None
try:
    cuda = Cuda()
except RuntimeError as e:
    print(f"no GPU: {e}")
if cuda:
    try:
        name = ctypes.create_string_buffer(256)
        cuda.call("cuDeviceGetName", name, 255, 0)
        result["gpu"] = name.value.decode(errors="replace")
        result["unified"] = attribute(cuda, INTEGRATED) == 1
        result["gpuDirectRDMA"] = attribute(cuda, GPU_DIRECT_RDMA)
        result["dmaBuf"] = attribute(cuda, DMA_BUF)
        walk(cuda, a.bytes, result["samples"])
    except Exception as e:
        print(f"gpu-staging: {e}", file=sys.stderr)
        result["error"] = reason(e)
signal.alarm(0)
report(result)
leave(not result["error"])
