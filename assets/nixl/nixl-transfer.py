# railbench: nixl-transfer
# Reads a buffer of the target's over and over, and compares it with what the
# target wrote.
# with agent.py


def head(a):
    return {"op": "READ", "device": a.device, "bytes": a.bytes, "iterations": a.iterations}


def measure(a, read):
    began = time.monotonic()
    for _ in range(a.iterations):
        read()
    seconds = time.monotonic() - began
    return {"seconds": round(seconds, 6), "gbps": round(a.bytes * a.iterations * 8 / seconds / 1e9, 6)}


two_ends("nixl-transfer", head, measure)
