package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/stream"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/tui/web"
)

// rateUnits are what a packet's number may be in, as Gb/s.
var rateUnits = map[string]float64{
	"GB/s": 8, "Gb/s": 1, "MB/s": 8e-3, "Mb/s": 1e-3, "GiB/s": 8 * 1.073741824,
	"MiB/s": 8 * 1.048576e-3, "B/s": 8e-9,
}

type gaugeFlags struct {
	listen, order, unit, page string
	full                      float64
}

// addForm adds what a packet's number is.
func (f *gaugeFlags) addForm(cmd *cobra.Command) {
	units := slices.Sorted(maps.Keys(rateUnits))
	cmd.Flags().StringVar(&f.unit, "unit", "GB/s", "the `UNIT`: "+strings.Join(units, ", "))
	cmd.Flags().StringVar(&f.order, "order", "little", "the byte `ORDER`: little or big")
	completeFlags(cmd, map[string]completer{"unit": words(units...), "order": words("little", "big")})
}

// form is the byte order and the unit, as Gb/s.
func (f gaugeFlags) form() (order binary.ByteOrder, unit float64, err error) {
	switch f.order {
	case "little":
		order = binary.LittleEndian
	case "big":
		order = binary.BigEndian
	default:
		return nil, 0, fmt.Errorf("--order %s: give little or big", f.order)
	}
	unit, ok := rateUnits[f.unit]
	if !ok {
		return nil, 0, fmt.Errorf("--unit %s: give %s", f.unit, strings.Join(slices.Sorted(maps.Keys(rateUnits)), ", "))
	}
	return order, unit, nil
}

func gaugeCommand() *cobra.Command {
	var f gaugeFlags
	cmd := &cobra.Command{
		Use:   "gauge",
		Short: "Show a rate that a program sends by UDP",
		Long: `Receives packets of eight bytes, each the current rate as a double. It shows the rate on
the terminal and, with --page, in browsers like a rail. Packets of another length, and
values that are not a number, infinite or negative, are counted and not shown. Ctrl-C
ends it.

Exit status: 0 it was ended; 2 wrong usage, or the address is not available; 5 the rate
could not be written.`,
		Example: `  railbench gauge --page 127.0.0.1:7117
  railbench gauge --listen 0.0.0.0:45004 --unit MB/s --order big
  railbench gauge send 127.0.0.1:45004 5.78`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1"+gaugePort, "the `ADDRESS` and port (UDP)")
	cmd.Flags().StringVar(&f.page, "page", "", "also show it in browsers, at this `ADDRESS` and port")
	cmd.Flags().Float64Var(&f.full, "full", 100, "the end of the scale, Gb/s")
	f.addForm(cmd)
	completeFlags(cmd, map[string]completer{
		"listen": words("127.0.0.1" + gaugePort), "page": words(serveAt),
		"full": words("100", "200", "400"),
	})
	cmd.AddCommand(gaugeSend())
	return cmd
}

func gaugeSend() *cobra.Command {
	var f gaugeFlags
	cmd := &cobra.Command{
		Use:   "send ADDRESS:PORT RATE…",
		Short: "Send rates to a gauge, one a packet, four a second",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("name the gauge and a rate: railbench gauge send 127.0.0.1" + gaugePort + " 5.78")
			}
			return nil
		},
		ValidArgsFunction: words(),
		RunE: func(cmd *cobra.Command, args []string) error {
			order, _, err := f.form()
			if err != nil {
				return usage(err)
			}
			var rates []float64
			for _, text := range args[1:] {
				rate, err := strconv.ParseFloat(text, 64)
				// So put it is true of NaN, too.
				if err != nil || !(rate >= 0 && rate <= 1e300) {
					return usage(fmt.Errorf("%q is not a rate: give a number from 0", text))
				}
				rates = append(rates, rate)
			}
			to, err := stream.DialGauge(args[0], order)
			if err != nil {
				return usage(err)
			}
			defer to.Close() //nolint:errcheck // a packet is sent or not
			for i, rate := range rates {
				if i > 0 {
					select {
					case <-time.After(stream.CountEvery):
					case <-cmd.Context().Done():
						return nil
					}
				}
				if err := to.Report(rate); err != nil {
					return status{exitUnreachable, fmt.Errorf("send to %s: %w", args[0], err)}
				}
			}
			return nil
		},
	}
	f.addForm(cmd)
	return cmd
}

func (f gaugeFlags) run(cmd *cobra.Command) error {
	order, unit, err := f.form()
	if err == nil && !(f.full > 0 && f.full < 1e6) {
		err = fmt.Errorf("--full %g: it is a rate above 0 and below a million Gb/s", f.full)
	}
	if err != nil {
		return usage(err)
	}
	c, err := net.ListenPacket("udp", f.listen)
	if err != nil {
		return usage(fmt.Errorf("--listen: %w", err))
	}
	defer c.Close() //nolint:errcheck // a socket that was read
	sanitize.Fprintf(cmd.ErrOrStderr(), "takes rates in %s at %s (UDP)\n", f.unit, c.LocalAddr())
	// A number alone doesn't say what of it is RDMA.
	d := meter.NewDial(meter.Gauge{
		Node: "gauge", Dev: c.LocalAddr().String(), LinkGbps: f.full, Source: meter.NetdevBytes,
	})
	var page *web.Page
	if f.page != "" {
		s := &stage{options: web.Options{Railbench: version(), RigName: "gauge"}, listen: f.page}
		where, err := s.open()
		if err != nil {
			return usage(err)
		}
		defer s.close()
		sanitize.Fprintf(cmd.ErrOrStderr(), "%s\n", where)
		page = s.page
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- stream.ListenRates(ctx, c, order, func(_ net.Addr, rate float64, why string) { d.Report(rate*unit, why) })
	}()
	err = f.show(ctx, cmd, d, page, ended)
	sanitize.Fprintf(cmd.ErrOrStderr(), "%s\n", d.Sums())
	return err
}

// bar is how wide the gauge is on the terminal.
const bar = 50

// show draws until ctx ends: a line each second, as long as something comes.
func (f gaugeFlags) show(ctx context.Context, cmd *cobra.Command, d *meter.Dial, page *web.Page,
	ended <-chan error,
) error {
	tick := time.NewTicker(pageEvery)
	defer tick.Stop()
	told, stale := time.Time{}, ""
	for {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return <-ended
		case now := <-tick.C:
			board := d.Board(now)
			if page != nil {
				page.Board(board)
			}
			g := board.Gauges[0]
			// Report only once that no rate arrives.
			if now.Sub(told) < time.Second || g.Stale != "" && stale != "" {
				continue
			}
			told, stale = now, g.Stale
			if stale != "" {
				sanitize.Fprintf(cmd.OutOrStdout(), "%s\n", stale)
				continue
			}
			sanitize.Fprintf(cmd.OutOrStdout(), "%s\n", f.drawn(g))
		}
	}
}

// drawn is the gauge as a line. Of a number in another byte order than was meant nothing bounds the size.
func (f gaugeFlags) drawn(g meter.Gauge) string {
	full := int(min(1, g.Tx.IP/f.full)*bar + 0.5)
	return fmt.Sprintf("%8.2f Gb/s  %s%s  of %g, peak %.2f", g.Tx.IP, strings.Repeat("█", full),
		strings.Repeat("░", bar-full), f.full, g.Tx.Peak)
}

// pageEvery is the interval at which a page gets the rate.
const pageEvery = 100 * time.Millisecond
