package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/runner/stream"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// The ports of the published demo: the receiver's, and the gauge's.
const (
	streamPort = ":12377"
	gaugePort  = ":45004"
)

func streamCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stream",
		Short: "Move data over TCP for a demo: generator, sender, receiver",
		Long: `Programs of a throughput demo, over TCP. A receiver waits. A sender sends it blocks of
ones as fast as the path allows, or the blocks of a generator, which stands for a device
and sends at a given rate. Each block has a number and a checksum: lost or changed blocks
are reported, and so is a stall.

Exit status of all three: 0 everything was moved, or it was ended; 1 blocks were lost or
changed; 2 wrong usage, or the address is not available; 3 the other end can't be reached,
or left; 5 the result could not be written.`,
		Args: noCommand,
		RunE: func(*cobra.Command, []string) error {
			return usage(errors.New("name one of the programs: railbench stream emulate, send or receive"))
		},
	}
	cmd.AddCommand(streamEmulate(), streamSend(), streamReceive())
	return cmd
}

// streamFlags are what the three have in common.
type streamFlags struct {
	bytes, gauge string
	blocks       uint64
	span         time.Duration
	json         bool
}

func (f *streamFlags) add(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.span, "for", 0, "end after this `TIME`, such as 10s (default: until Ctrl-C)")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout instead of a line")
	cmd.Flags().StringVar(&f.gauge, "gauge", "", "send the average to this gauge, `HOST`"+gaugePort)
	completeFlags(cmd, map[string]completer{"gauge": words("127.0.0.1" + gaugePort), "for": words("10s", "1m")})
}

func (f *streamFlags) addBlocks(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.bytes, "bytes", "64M", "the `SIZE` of a block, such as 64M")
	cmd.Flags().Uint64Var(&f.blocks, "blocks", 0, "end after this many blocks of each stream")
	completeFlags(cmd, map[string]completer{"bytes": words("1M", "64M"), "blocks": words()})
}

func (f *streamFlags) size() (int, error) {
	n, err := steps.ParseSize(f.bytes)
	if err == nil && (n < 1 || n > stream.MaxBytes) {
		err = fmt.Errorf("it is a size from 1 byte to %s", steps.SizeText(stream.MaxBytes))
	}
	if err != nil {
		return 0, fmt.Errorf("--bytes %s: %w", f.bytes, err)
	}
	return int(n), nil
}

func (f streamFlags) count(ways []*stream.Way, errOut io.Writer) (*stream.Counting, error) {
	if f.span < 0 {
		return nil, fmt.Errorf("--for %s is negative", f.span)
	}
	c := &stream.Counting{
		Counter: stream.Counter{Ways: ways}, Program: version(), Span: f.span,
		Rate: func(s, gbps float64) { sanitize.Fprintf(errOut, "%6.1f s  %7.2f Gb/s\n", s, gbps) },
		Stalled: func(w *stream.Way, several bool) {
			where := ""
			if several {
				where = " over " + w.At
			}
			sanitize.Fprintf(errOut, "stalled: nothing has moved%s for %s\n", where, stream.StallAfter)
		},
	}
	if f.gauge != "" {
		var err error
		if c.Gauge, err = stream.DialGauge(f.gauge, binary.LittleEndian); err != nil {
			return nil, fmt.Errorf("--gauge %s: %w", f.gauge, err)
		}
	}
	return c, nil
}

// tell prints the result, and gives the exit status.
func (f streamFlags) tell(out io.Writer, r stream.Result, failed error) error {
	var err error
	if f.json {
		err = writeJSON(out, r)
	} else {
		_, err = sanitize.Fprintf(out, "%d bytes in %d blocks and %.2f s: %.2f Gb/s; %d lost, %d corrupt, %d cut off, %d "+
			"stalls\n",
			r.Bytes, r.Blocks, r.Seconds, r.Gbps, r.Lost, r.Corrupt, r.Cut, r.Stalls)
	}
	switch {
	case err != nil:
		return unwritten(fmt.Errorf("write the result: %w", err))
	case failed != nil:
		return status{exitUnreachable, failed}
	case r.Lost+r.Corrupt+r.Cut > 0:
		return status{exitFail, errors.New("blocks were lost or changed")}
	}
	return nil
}

func streamSend() *cobra.Command {
	var f streamFlags
	var from []string
	var streams int
	var zeroCopy bool
	var input string
	cmd := &cobra.Command{
		Use:   "send ADDRESS:PORT…",
		Short: "Send blocks to receivers, over one rail or several at once",
		Long: `Sends blocks of ones as fast as possible to every address, each on its own rail. --from
names this end's addresses in the same order. With --input it sends the blocks of a
generator (railbench stream emulate), through a queue.`,
		Example: `  railbench stream send 192.168.100.10:12377
  railbench stream send 192.168.100.10:12377 192.168.101.10:12377 \
    --from 192.168.100.11,192.168.101.11 --gauge 127.0.0.1:45004`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the receiver: railbench stream send ADDRESS" + streamPort)
			}
			return nil
		},
		ValidArgsFunction: words(),
		RunE: func(cmd *cobra.Command, args []string) error {
			size, err := f.size()
			switch {
			case err != nil:
				return usage(err)
			case len(from) > 0 && len(from) != len(args):
				return usage(fmt.Errorf("--from names %d addresses, and there are %d receivers: give one for each", len(from),
					len(args)))
			case streams < 1 || streams > 128:
				return usage(fmt.Errorf("--streams %d: it goes from 1 to 128", streams))
			case input != "" && (len(args) > 1 || streams > 1):
				return usage(errors.New("--input has one stream: name one receiver"))
			case input != "":
				for _, name := range []string{"bytes", "blocks", "zero-copy"} {
					if cmd.Flags().Changed(name) {
						return usage(fmt.Errorf("--%s is for blocks of ones, and --input sends those of a generator: give one of them",
							name))
					}
				}
			}
			s := sender{flags: f, size: size, to: args, from: from, streams: streams, zeroCopy: zeroCopy, input: input}
			return s.run(cmd)
		},
	}
	f.add(cmd)
	f.addBlocks(cmd)
	cmd.Flags().StringSliceVar(&from, "from", nil, "this end's address for each receiver: the rail's")
	cmd.Flags().IntVar(&streams, "streams", 1, "parallel connections to each receiver")
	cmd.Flags().BoolVar(&zeroCopy, "zero-copy", false, "let the kernel send the pages (sendfile)")
	cmd.Flags().StringVar(&input, "input", "",
		"send the blocks of a generator that connects to this `ADDRESS`")
	completeFlags(cmd, map[string]completer{
		"from": words(), "streams": words("1", "2", "4"),
		"input": words("127.0.0.1:45005"),
	})
	return cmd
}

// A sender is railbench stream send.
type sender struct {
	flags    streamFlags
	size     int
	to, from []string
	streams  int
	zeroCopy bool
	input    string
}

func (s *sender) run(cmd *cobra.Command) error {
	count, err := s.flags.count(nil, cmd.ErrOrStderr())
	if err != nil {
		return usage(err)
	}
	to, err := stream.NewSender(cmd.Context(), s.to, s.from, s.streams)
	if err != nil {
		return status{exitUnreachable, err}
	}
	defer to.Close()
	count.Ways = to.Ways
	payload, err := stream.NewPayload(s.size, s.zeroCopy) // before the time counts
	if err != nil {
		return usage(err)
	}
	defer payload.Close() //nolint:errcheck // memory
	move := func(ctx context.Context) error { return to.Ones(ctx, payload, s.flags.blocks) }
	if s.input != "" {
		at, err := to.TakeInput(s.input)
		if err != nil {
			return usage(err)
		}
		sanitize.Fprintf(cmd.ErrOrStderr(), "waiting for input at %s\n", at)
		move = to.Forward
	}
	began := time.Now()
	err = count.During(cmd.Context(), move)
	return s.flags.tell(cmd.OutOrStdout(), count.Sent(time.Since(began).Seconds()), err)
}

func streamReceive() *cobra.Command {
	var f streamFlags
	var at []string
	var once bool
	cmd := &cobra.Command{
		Use:   "receive",
		Short: "Receive blocks, and check that all of them arrived",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(at) == 0 { // a script whose variable is empty would get the result that nothing was lost
				return usage(errors.New("--listen is empty: give an address and port, or leave it out"))
			}
			r := stream.Receiver{}
			defer r.Close()
			for _, address := range at {
				if err := r.Listen(address); err != nil {
					return usage(err)
				}
			}
			count, err := f.count(r.Ways, cmd.ErrOrStderr())
			if err != nil {
				return usage(err)
			}
			for _, w := range r.Ways {
				sanitize.Fprintf(cmd.ErrOrStderr(), "receives at %s\n", w.At)
			}
			err = count.During(cmd.Context(), func(ctx context.Context) error { return r.Serve(ctx, once) })
			return f.tell(cmd.OutOrStdout(), count.Received(), err)
		},
	}
	f.add(cmd)
	cmd.Flags().StringSliceVar(&at, "listen", []string{streamPort}, "the addresses and ports; a rail's address listens "+
		"on that rail only")
	cmd.Flags().BoolVar(&once, "once", false, "end when the streams that came have ended")
	completeFlags(cmd, map[string]completer{"listen": words(streamPort)})
	return cmd
}

func streamEmulate() *cobra.Command {
	f := streamFlags{}
	var gbps float64
	cmd := &cobra.Command{
		Use:   "emulate ADDRESS:PORT",
		Short: "Send blocks at a given rate, as a device would, to stream send --input or a receiver",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("name one address: that of stream send --input, or of a receiver")
			}
			return nil
		},
		ValidArgsFunction: words(),
		RunE: func(cmd *cobra.Command, args []string) error {
			size, err := f.size()
			if err == nil && !(gbps > 0 && gbps <= 1000) {
				err = fmt.Errorf("--gbps %g: it is above 0 and 1000 at most", gbps)
			}
			if err != nil {
				return usage(err)
			}
			var tally stream.Tally
			count, err := f.count([]*stream.Way{{At: args[0], Streams: 1, Tally: &tally}}, cmd.ErrOrStderr())
			if err != nil {
				return usage(err)
			}
			c, err := stream.Dial(cmd.Context(), "", args[0])
			if err != nil {
				return status{exitUnreachable, err}
			}
			defer c.Close() //nolint:errcheck // who reads it knows whether it is whole
			began := time.Now()
			err = count.During(cmd.Context(), func(ctx context.Context) error {
				return stream.Emulate(ctx, c, size, gbps*1e9/8, f.blocks, &tally)
			})
			seconds := time.Since(began).Seconds()
			if reached := float64(tally.Bytes.Load()) * 8 / seconds / 1e9; err == nil && reached < 0.99*gbps && f.blocks == 0 {
				sanitize.Fprintf(cmd.ErrOrStderr(), "the rate was not reached: %.2f of %.2f Gb/s; the other end is slower\n",
					reached, gbps)
			}
			return f.tell(cmd.OutOrStdout(), count.Sent(seconds), err)
		},
	}
	f.add(cmd)
	f.addBlocks(cmd)
	cmd.Flags().Float64Var(&gbps, "gbps", 10, "the rate of the payload, 10^9 bits a second")
	completeFlags(cmd, map[string]completer{"gbps": words()})
	return cmd
}
