package kindtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/parse"
)

// UCXServer is what the server of ucx_perftest prints of a test, as UCX 1.13 does.
func UCXServer(test, memory string, bytes int) string {
	edge := "+" + strings.Repeat("-", 106) + "+\n"
	var said strings.Builder
	said.WriteString("Waiting for connection...\nAccepted connection from 192.168.100.11:50094\n" + edge)
	for _, row := range [][2]string{
		{"API:", "protocol layer"},
		{"Test:", test},
		{"Data layout:", "(automatic)"},
		{"Send memory:", memory},
		{"Recv memory:", memory},
		{"Message size:", fmt.Sprint(bytes)},
	} {
		fmt.Fprintf(&said, "| %-13s %-90s |\n", row[0], row[1])
	}
	return said.String() + edge
}

// UCXClient is what its client prints: a row for a third of the messages, and one for all.
func UCXClient(n, bytes int, gbps float64) string {
	us := float64(bytes) * 8 / gbps / 1e3
	row := func(stage string, n int) string {
		mebi := gbps * 1e9 / 8 / (1 << 20)
		return fmt.Sprintf("%s%18d %10.3f %9.3f %9.3f %11.2f %10.2f %11.0f %11.0f\n", stage, n, us, us, us, mebi, mebi,
			1e6/us, 1e6/us)
	}
	return "|              |              |       overhead (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) " +
		"|\n|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |\n" +
		row("[thread 0]", n/3) + row("Final:    ", n)
}

// UCXPerftest is the result of one run over the first rail, with all as it should be.
func UCXPerftest(c steps.Cell, rig steps.Rig, server, client string, sent int) steps.Result {
	// As its family reads it: a server has no figure.
	read := func(text string) (parse.UCXPerftest, error) {
		v, err := parse.UCXPerftestOutput(text)
		if errors.Is(err, parse.ErrNoResult) && v.Test != "" && len(v.Rows) == 0 {
			err = nil
		}
		return v, err
	}
	s := steps.Stage{Pair: -1, Outputs: []steps.Output{
		Read(Ran("server", steps.Peer, server), read), Read(Ran("client", steps.Here, client), read),
	}}
	if v, ok := s.Outputs[0].Value.(parse.UCXPerftest); ok && v.SizeBytes > 0 {
		s.Bytes = Moved(rig, steps.Here, onWire(c, rig, -1, sent, v.SizeBytes), OnlyOne)
	}
	return steps.Result{Rig: rig, Stages: []steps.Stage{s}}
}
