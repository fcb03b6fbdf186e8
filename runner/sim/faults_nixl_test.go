package sim

import (
	"strings"
)

// nixlChecks are those of nixlDefects.
func nixlChecks(says func(node, command string, code int,
	part string) func(*bench) bool,
) map[string][]func(b *bench) bool {
	const few = "--total_buffer_size 67108864 --start_block_size 1048576 --max_block_size 4194304 --num_iter 160 " +
		"--warmup_iter 16 "
	rows := func(b *bench, a, z reply) int {
		if a.code != 0 || z.code != 0 {
			b.t.Errorf("%+v\n%+v", a, z)
		}
		return len(nixlRows(b.t, a.out))
	}
	// moved says whether a run used a rail.
	moved := func(b *bench, env, dev string) bool {
		before := b.counter("spark-02", dev, "port_xmit_data")
		a, z := b.nixl(env, few)
		rows(b, a, z)
		return b.counter("spark-02", dev, "port_xmit_data") > before+1e6
	}
	return map[string][]func(b *bench) bool{
		"ucx-mismatch": {
			says("spark-01", "ucx_info -v", 0, "# Library version: 1.16.0\n"),
			func(b *bench) bool {
				a, z := b.nixl(oneRail, few)
				return a.code == 1 && z.code == aborted &&
					strings.HasSuffix(a.err, "\nNIXL: loadRemoteMD failed (NIXL_ERR_NOT_FOUND)\n") && len(nixlRows(b.t, a.out)) == 0
			},
			func(b *bench) bool {
				a, _ := b.python("nixl-transfer", oneRail, "--device cpu --bytes 1048576 --iterations 4")
				return a.code == 1 && strings.Contains(a.out,
					`"verified": false, "error": "nixlNotFoundError: NIXL_ERR_NOT_FOUND"}`)
			},
		},
		"ucx-no-verbs": {
			func(b *bench) bool { return !strings.Contains(b.must("spark-01", "ucx_info -d"), "rc_mlx5") },
			func(b *bench) bool { return !moved(b, "", "rocep1s0f0") && !moved(b, "", "rocep1s0f1") },
			func(b *bench) bool {
				a, z := b.nixl(oneRail, few)
				return a.code == aborted && z.code == 1 &&
					strings.HasSuffix(z.err, "NIXL: createBackend failed! (NIXL_ERR_BACKEND)\n")
			},
		},
		"nixl-hang": {
			func(b *bench) bool {
				got := func(env string) int {
					_, first := b.start("spark-02", "timeout 30 "+asio+few+env)
					b.listening(1, 12345)
					_, second := b.start("spark-01", "timeout 30 "+asio+few+env)
					a, z := first(), second()
					if a.code == 0 && z.code == 0 {
						return 0
					}
					if a.code != 124 || z.code != 124 {
						b.t.Errorf("%+v\n%+v", a, z)
					}
					return len(nixlRows(b.t, a.out))
				}
				return got("--num_threads 4 --enable_pt") == 2 && got("") == 0
			},
		},
		"nixl-one-rail": {func(b *bench) bool { return !moved(b, twoRails, "rocep1s0f1") }},
		"nixl-old": {
			func(b *bench) bool { return !strings.Contains(b.try("spark-02", "nixlbench --help").out, "asio") },
			says("spark-02", "nixlbench --asio_address 192.168.100.11", 1, "ERROR: unknown command line flag 'asio_address'\n"),
			says("spark-02", "nixlbench --runtime_type ASIO", 1, "Invalid runtime: ASIO\n"),
		},
		"nixl-missing": {
			says("spark-01", "nixlbench --version", 127, "nixlbench: command not found"),
			func(b *bench) bool { return b.try("spark-01", "command -v nixlbench").code != 0 },
		},
		"gpu-missing": {
			says("spark-01", "nvidia-smi", 127, "command not found"),
			func(b *bench) bool { return !strings.Contains(b.must("spark-01", "cat /proc/modules"), "nvidia") },
			func(b *bench) bool { return !strings.Contains(b.must("spark-01", "ucx_info -d"), "cuda_copy") },
			says("spark-01", handed("gpu-staging", "--bytes 1048576"), 0,
				`"gpu": null, "unified": false, "gpuDirectRDMA": null, "dmaBuf": null, "samples": [], "error": null}`),
			says("spark-01", handed("nixl-register", "--device cuda --bytes 1048576"), 1,
				`"registered": false, "error": "no CUDA driver: libcuda.so.1 is not there"}`),
			func(b *bench) bool {
				_, z := b.nixl(oneRail, few+"--initiator_seg_type VRAM --target_seg_type VRAM")
				return z.code == 1 && z.err == "CUDA: Failed to set device (Error code: 100 - no CUDA-capable device is detected)\n"
			},
		},
		"low-memory": {
			func(b *bench) bool { return strings.Contains(b.must("spark-01", "free -m"), " 700\n") },
			func(b *bench) bool {
				_, z := b.nixl(oneRail, "--max_block_size 8192")
				return z.code == 1 && strings.HasPrefix(z.err, "Failed to allocate 8589934592 bytes of page-aligned DRAM "+
					"memory\nFailed to allocate 8589934592 bytes of DRAM memory\n") &&
					strings.HasSuffix(z.err, "NIXL: registerMem failed (NIXL_ERR_BACKEND)\n")
			},
		},
	}
}

// handed is a command line that runs one of railbench's programs.
func handed(name, args string) string {
	return "python3 -u - " + args + " <<'END'\n# railbench: " + name + "\nimport sys\nEND\n"
}

// python runs a program's two ends, the initiator on spark-02.
func (b *bench) python(name, env, args string) (initiator, target reply) {
	b.t.Helper()
	if env != "" {
		env = "export " + env + "\n"
	}
	_, wait := b.start("spark-01", env+handed(name, "--role target --listen 5555 "+args))
	b.listening(0, 5555)
	initiator = b.try("spark-02", env+
		handed(name, "--role initiator --listen 0 --peer 192.168.100.10 --peer-port 5555 "+args))
	return initiator, wait()
}
