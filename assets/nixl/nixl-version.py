# railbench: nixl-version
# Which NIXL this interpreter has, as one line of JSON.
# with agent.py

result = {"test": "nixl-version", "nixl": None, "python": sys.version.split()[0], "path": None, "error": None}
try:
    load_nixl()
    import nixl

    result["nixl"] = nixl_version()
    result["path"] = getattr(nixl, "__file__", None)
except Exception as e:
    result["error"] = reason(e)
report(result)
