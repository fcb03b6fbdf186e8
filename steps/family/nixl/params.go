package nixl

import (
	"errors"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry"
)

func params() []steps.Param {
	const (
		ki = 1 << 10
		gi = 1 << 30
	)
	// nixlbench doubles its blocks: one that is not a power of two would never be its largest.
	block := func(name, value, does string) steps.Param {
		p := registry.SizeParam(name, value, does, 1, gi)
		p.PowerOfTwo = true
		return p
	}
	reads := func(name, value, does string) steps.Param {
		return registry.NumberParam(name, value, "reads", does, 1, 10_000_000)
	}
	python := registry.WordsParam("NIXL_PYTHON", "python3", "the Python that has NIXL: a command or a path", "", nil)
	python.Program = true
	return []steps.Param{
		python,
		// rc with what it needs to set up a connection, and the copies from and to a GPU
		// (assets/docs/facts.md#ucx-transports).
		registry.WordsParam("NIXL_TLS", "rc,cuda_copy,tcp,sm,self", "UCX_TLS, the transports that UCX may take",
			"UCX's names of transports, separated by commas without blanks", noBlank),
		registry.PortParam("NIXL_PORT", "5555", "port of NIXL's listener on the peer"),
		registry.ChoiceParam("UCX_LOG_LEVEL", "warn", "log level of UCX; nixlbench's UCX also prints info messages at warn",
			"fatal", "error", "warn", "diag", "info", "debug",
			"trace"),
		registry.SizeParam("NIXL_REGISTER_BYTES", "4194304", "size of the buffer that nixl-register registers", 1, 64*gi),
		registry.SizeParam("NIXL_BYTES", "67108864", "size of one read of nixl-transfer and nixl-transfer-gpu", 1, 64*gi),
		reads("NIXL_READS", "256", "number of reads of nixl-transfer"),
		registry.SizeParam("NIXL_DUAL_BYTES", "1073741824", "size of one read of nixl-transfer-dual", 1, 64*gi),
		reads("NIXL_DUAL_READS", "16", "number of reads of nixl-transfer-dual"),
		reads("NIXL_GPU_READS", "16", "number of reads of nixl-transfer-gpu"),
		registry.SizeParam("NIXL_LAT_BYTES", "4096", "size of one read of nixl-latency", 1, gi),
		reads("NIXL_LAT_READS", "1000", "number of reads of nixl-latency"),

		// nixlbench doubles the block from the first to the last.
		registry.ChoiceParam("NIXL_RUNTIME", "auto", "how nixlbench's two ends find each other", "auto", "ASIO", "ETCD"),
		registry.SizeParam("NIXL_DRAM_BUFFER", "4294967296", "buffer of nixlbench in the host's memory", 64*ki, 1024*gi),
		registry.SizeParam("NIXL_VRAM_BUFFER", "2147483648", "buffer of nixlbench in the GPU's memory", 64*ki, 1024*gi),
		block("NIXL_START", "65536", "the smallest block that nixlbench sends"),
		block("NIXL_DRAM_MAX", "67108864", "the largest block that it sends from the host's memory"),
		block("NIXL_VRAM_MAX", "33554432", "the largest block that it sends from the GPU's memory"),
		registry.NumberParam("NIXL_ITERATIONS", "1000", "blocks", "number of blocks of each size that nixlbench measures", 1,
			10_000_000),
		registry.NumberParam("NIXL_WARMUP", "100", "blocks", "number of blocks of each size before it measures", 0,
			10_000_000),
		registry.NumberParam("NIXL_THREADS", "4", "threads", "threads of nixl-mt that send", 1, 128),
		registry.NumberParam("NIXL_PROGRESS", "2", "threads", "threads of nixl-mt that drive UCX", 1, 128),
		registry.SizeParam("UCXPERF_BYTES", "67108864", "size of one message of ucx_perftest", 1, 4*gi),
		registry.NumberParam("UCXPERF_MESSAGES", "500", "messages",
			"number of messages that ucx_perftest sends from host memory", 1, 10_000_000),
		registry.NumberParam("UCXPERF_GPU_MESSAGES", "50", "messages", "number of messages that it sends from GPU memory", 1,
			10_000_000),
		registry.PortParam("UCXPERF_PORT", "13337", "TCP port on which ucx_perftest's two ends meet"),
		registry.PortParam("ASIO_PORT", "12345", "first port to try where nixlbench's ends meet over sockets"),
	}
}

func noBlank(s string) error {
	if strings.Contains(s, " ") {
		return errors.New("it takes UCX's names of transports, separated by commas without blanks")
	}
	return nil
}
