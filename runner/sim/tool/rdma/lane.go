package rdma

import "github.com/railbench/railbench/runner/sim/net"

// A Lane is a pair of functions that carries data between two processes.
type Lane struct{ Near, Far *net.Function }

// SocketRate is what UCX and NCCL reach over one TCP connection.
const SocketRate = 0.9 * net.TCPFlowRate
