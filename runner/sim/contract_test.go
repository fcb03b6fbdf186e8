package sim_test

import (
	"context"
	"net"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodetest"
	"github.com/railbench/railbench/runner/sim"
)

// A simulated node passes the same contract as a real one, over the same SSH code.
func TestContract(t *testing.T) {
	t.Parallel()
	nodetest.Run(t, func(t *testing.T) runner.Node {
		rig, err := sim.New(sim.Options{Speed: 10})
		if err != nil {
			t.Fatal(err)
		}
		n := runner.NewSSH(runner.SSHOptions{
			Name: "spark-01", Ask: runner.NoAsker{}, Target: runner.Target{Host: "spark-01", User: "nvidia", Port: 22},
			Dial:    func(ctx context.Context) (net.Conn, error) { return rig.Dial(ctx, "spark-01") },
			HostKey: ssh.FixedHostKey(rig.HostKey("spark-01")),
		})
		t.Cleanup(func() { n.Close(); rig.Close() })
		return n
	}, nodetest.Options{})
}

// A node without a connection between keeps the same contract.
func TestDirectContract(t *testing.T) {
	t.Parallel()
	nodetest.Run(t, func(t *testing.T) runner.Node {
		rig, err := sim.New(sim.Options{Speed: 10})
		if err != nil {
			t.Fatal(err)
		}
		n, err := rig.Node("spark-01", sim.NodeOptions{Ask: runner.NoAsker{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close(); rig.Close() })
		return n
	}, nodetest.Options{})
}
