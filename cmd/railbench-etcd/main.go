// Command railbench-etcd is the etcd through which nixlbench's two ends meet, in a
// process of its own: etcd's libraries are most of what a program with them starts and
// weighs, and one kind of cell needs them. railbench starts it; by hand it serves until
// its stdin ends. What it is made of is runner/etcd/server's.
package main

import (
	"os"

	"github.com/railbench/railbench/runner/etcd/server"
)

func main() { os.Exit(server.Main(os.Stdin, os.Stdout, os.Stderr)) }
