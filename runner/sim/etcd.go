package sim

import (
	"context"
	"net"
	"os"
	"syscall"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/tool/nixl"
)

// Etcd starts a simulated etcd, which is empty and on none of the nodes, as the one is that railbench
// lends to them, and gives what connects to it. It takes no port of this machine, and is gone with the
// rig.
func (r *Rig) Etcd() runner.Dialer {
	e := nixl.NewEtcd()
	return func(context.Context) (net.Conn, error) {
		address := host.Address("etcd")
		client, server := host.Join(host.Address("workbench"), address)
		r.rack.Lock()
		defer r.rack.Unlock()
		if r.rack.Closed {
			return nil, &net.OpError{
				Op: "dial", Net: address.Network(), Addr: address, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
			}
		}
		r.conns[server] = nil // Close closes it, and no fault of a node does
		r.serving.Go(func() {
			e.Serve(server)
			r.rack.Lock()
			defer r.rack.Unlock()
			delete(r.conns, server)
		})
		return client, nil
	}
}
