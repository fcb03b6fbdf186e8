package tool

import "github.com/railbench/railbench/runner/sim/net"

// A lane is a pair of functions that carries data between two processes.
type lane struct{ near, far *net.Function }

// socketRate is what UCX and NCCL reach over one TCP connection.
const socketRate = 0.9 * net.TCPFlowRate
