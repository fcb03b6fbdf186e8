# railbench: nixl-latency
# Reads a small buffer of the target's many times, and times each read.
# with agent.py


def head(a):
    return {"op": "READ", "bytes": a.bytes, "iterations": a.iterations}


def measure(a, read):
    times = []
    for _ in range(a.iterations):
        began = time.perf_counter_ns()
        read()
        times.append((time.perf_counter_ns() - began) / 1000)
    times.sort()

    def share(p):
        return round(times[min(len(times) - 1, int(p * len(times)))], 2)

    return {
        "avgUS": round(sum(times) / len(times), 2),
        "minUS": round(times[0], 2),
        "p50US": share(0.50),
        "p95US": share(0.95),
        "p99US": share(0.99),
        "maxUS": round(times[-1], 2),
    }


two_ends("nixl-latency", head, measure)
