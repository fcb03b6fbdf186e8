# railbench: nixl-register
# Registers one buffer with NIXL, and says how many bytes describe it to a peer.
# with agent.py

a = arguments(two_ends=False)
limit(LIMIT)
result = {"test": "nixl-register", "device": a.device, "bytes": a.bytes, "registered": False}
try:
    nixl_agent, nixl_agent_config = load_nixl()
    memory = Memory(a.device, a.bytes)
    agent = nixl_agent("register", nixl_agent_config())
    began = time.monotonic()
    registered = agent.register_memory(memory.registration(), memory.kind)
    seconds = time.monotonic() - began
    if not registered:
        raise RuntimeError("register_memory gave no descriptors")
    offer = agent.get_xfer_descs(memory.region(), memory.kind)
    described = agent.get_serialized_descs(offer)
    tidy(lambda: agent.deregister_memory(registered))
    result.update(registered=True, descBytes=len(described), seconds=round(seconds, 6), nixl=nixl_version())
except Exception as e:
    print(f"nixl-register: {e}", file=sys.stderr)
    result["error"] = reason(e)
report(result)
leave(result["registered"])
