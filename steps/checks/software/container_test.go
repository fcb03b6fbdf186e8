package software

import (
	"testing"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/registry/kindtest"
)

func TestContainer(t *testing.T) {
	const good = "container: vllm\nengine: docker\nstate: running\nimage: nvcr.io/nvidia/vllm:25.11-py3\n" +
		"network: host\nIPC: host\n" +
		"shared memory: 67108864\nprivileged: false\ninside: reached\ninside device files: 4\ninside rdma_cm: yes\n" +
		"inside GPUs: 1\n" +
		"inside memlock: unlimited\ninside interface enp1s0f0np0: yes\ninside interface enp1s0f1np1: yes\n" +
		"inside interface enP2p1s0f0np0: yes\ninside interface enP2p1s0f1np1: yes\n" +
		"inside library libibverbs: /lib/libibverbs.so.1\noutside GPUs: 1\n"
	with := func(edits ...string) string {
		text := good
		for i := 0; i < len(edits); i += 2 {
			text = amended(t, text, edits[i], edits[i+1])
		}
		return text
	}
	runCases(t, registered().Judges["container"], map[string]textCase{
		"as it should be": {
			good, good, steps.Pass, "",
			[]string{"vllm on spark-02 (nvcr.io/nvidia/vllm:25.11-py3, docker) and vllm on spark-01"},
		},
		"none named": {"container: none\n", "container: none\n", steps.Skipped, steps.CannotRun, nil},
		"none there": {
			good, "container: vllm\ndocker shows: etcd web\nengine: none\n", steps.Inconclusive, steps.NoContainerFound,
			[]string{"container vllm was not found on spark-01", "docker shows etcd web"},
		},
		"no engine": {
			good, "container: vllm\nengine: none\n", steps.Inconclusive, steps.NoContainerFound,
			[]string{"neither docker nor podman"},
		},
		"not allowed": {
			good, "container: vllm\ndocker shows: permission denied while trying to connect\nengine: none\n",
			steps.Inconclusive, steps.NoContainerFound,
			[]string{"group docker"},
		},
		"stopped": {
			good, with("state: running", "state: exited"), steps.Fail, steps.ContainerStopped,
			[]string{"vllm on spark-01 is exited"},
		},
		"no shell": {
			good, with("inside: reached", "inside: refused"), steps.Inconclusive, steps.Unreadable,
			[]string{"has no sh"},
		},
		"no devices": {
			good, with("device files: 4", "device files: 0"), steps.Fail, steps.ContainerNoDevices,
			nil,
		},
		"some devices": {
			good, with("device files: 4", "device files: 2"), steps.Warn, steps.ContainerNoDevices,
			[]string{"2 RDMA device files", "4 devices"},
		},
		"no rdma_cm": {
			good, with("rdma_cm: yes", "rdma_cm: no"), steps.Warn, steps.ContainerNoDevices,
			[]string{"/dev/infiniband/rdma_cm"},
		},
		"its own network": {
			good, with("network: host", "network: bridge", "inside interface enp1s0f1np1: yes\n", ""),
			steps.Fail, steps.ContainerOwnNetwork,
			[]string{"its own network (bridge) without enp1s0f1np1"},
		},
		"locked memory": {
			good, with("unlimited", "8192"), steps.Warn, steps.MemlockLow,
			[]string{"may lock only 8192 KiB", "--ulimit memlock=-1"},
		},
		"locked memory of root's": {
			with("memlock: unlimited", "memlock: 8192\ninside locks without a limit: yes"), good, steps.Pass, "", nil,
		},
		"shared memory": {
			good, with("IPC: host", "IPC: private"), steps.Warn, steps.ContainerShmSmall,
			[]string{"64 MiB of shared memory", "at least 1024"},
		},
		"no GPU": {
			good, with("inside GPUs: 1", "inside GPUs: 0"), steps.Warn, steps.ContainerNoGPU,
			[]string{"none of the node's 1 GPU"},
		},
		"no library": {
			good, with("inside library libibverbs: /lib/libibverbs.so.1", "inside ibv_devices: missing"),
			steps.Warn, steps.ContainerNoVerbs,
			nil,
		},
		"nothing of files": {
			good, with("inside device files: 4\n", ""), steps.Inconclusive, steps.Unreadable,
			[]string{"could not read the device files"},
		},
		"nothing of locks": {
			good, with("inside memlock: unlimited\n", ""), steps.Inconclusive, steps.Unreadable,
			[]string{"could not read the memlock limit"},
		},
	})
	// An adapter of two ports is one device, and has one file.
	ports := checkedFacts(good, with("device files: 4", "device files: 3"))
	ports.Rig.Nodes[steps.Peer].Rails[1].Dev, ports.Rig.Nodes[steps.Peer].Rails[1].Port = "rocep1s0f0", 2
	kindtest.Want(t, "two ports", registered().Judges["container"](steps.Cell{}, ports), steps.Pass)
	for _, bad := range []string{"a b", "-x", "a;reboot", "$(x)", "a/b"} {
		if containerName(bad) == nil {
			t.Errorf("%q is taken for a container's name", bad)
		}
	}
	if err := containerName("nixl-etcd_1.2"); err != nil {
		t.Error(err)
	}
}
