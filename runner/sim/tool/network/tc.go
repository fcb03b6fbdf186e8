package network

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// runTc shows the queueing disciplines of interfaces, and sets two as the root of one: netem, which loses
// and delays, and tbf, which limits the rate. There are no filters.
func runTc(_ context.Context, c *host.Call) int {
	args := c.Args[1:]
	if len(args) == 0 || args[0] != "qdisc" && args[0] != "filter" {
		return c.Fail(1, "Object \"%s\" is unknown, try \"tc help\".", first(args))
	}
	if len(args) > 1 && slices.Contains([]string{"add", "replace", "change", "del", "delete"}, args[1]) {
		return setQueue(c, args)
	}
	if len(args) > 1 && args[1] != "show" && args[1] != "list" && args[1] != "dev" {
		return c.Fail(1, "Command \"%s\" is unknown, try \"tc %s help\".", args[1], args[0])
	}
	dev := ""
	if i := slices.Index(args, "dev"); i >= 0 && i+1 < len(args) {
		dev = args[i+1]
	}
	code := 0
	c.Locked(func() {
		if dev != "" && c.Node.Netdev(dev) == nil {
			code = c.Fail(1, "Cannot find device \"%s\"", dev)
			return
		}
		if args[0] != "filter" {
			printQueues(c, dev)
		}
	})
	return code
}

// printQueues prints the queue of an interface, or of all with their names. The caller holds the lock.
func printQueues(c *host.Call, dev string) {
	for _, d := range c.Node.Netdevs {
		if dev != "" && d.Name != dev {
			continue
		}
		// What a driver with several queues has by itself; lo and a bond pass packets on and have none.
		kind := "mq 0: root"
		switch {
		case d.Queue.Text != "":
			kind = d.Queue.Text
		case d.Kind == "loopback" || d.Bond != nil:
			kind = "noqueue 0: root refcnt 2"
		}
		if dev == "" {
			c.Printf("qdisc %s dev %s\n", kind, d.Name)
			continue
		}
		c.Printf("qdisc %s \n", kind)
	}
}

// setQueue is "tc qdisc add|replace|change|del dev NAME root [KIND …]". The messages are tc's and the kernel's.
func setQueue(c *host.Call, args []string) int {
	verb, rest := args[1], args[2:]
	if args[0] != "qdisc" || len(rest) < 3 || rest[0] != "dev" || rest[2] != "root" {
		return c.Fail(1, "tc: the simulated rig sets queues as the root of an interface: tc qdisc add dev NAME root KIND …")
	}
	name, rest := rest[1], rest[3:]
	takes := verb == "del" || verb == "delete"
	var q net.Queue
	if !takes {
		var why string
		if q, why = queueOf(rest); why != "" {
			return c.Fail(1, "%s", why)
		}
	}
	code := 0
	c.Locked(func() {
		d := c.Node.Netdev(name)
		switch {
		case d == nil:
			code = c.Fail(1, "Cannot find device \"%s\"", name)
		// tc looks for the interface itself, and the kernel refuses then.
		case !c.Root:
			code = c.Fail(2, "RTNETLINK answers: Operation not permitted")
		// The interface's own discipline has the handle 0:, and can't be taken away.
		case takes && d.Queue.Text == "":
			code = c.Fail(2, "Error: Cannot delete qdisc with handle of zero.")
		case verb == "add" && d.Queue.Text != "":
			code = c.Fail(2, "Error: Exclusivity flag on, cannot modify.")
		case verb == "change" && d.Queue.Text == "":
			code = c.Fail(2, "Error: Qdisc not found. To create specify NLM_F_CREATE flag.")
		default:
			d.Queue = q
		}
	})
	return code
}

// setQueueOption sets one of a discipline's settings; why is what tc says where it doesn't know it.
func setQueueOption(q *net.Queue, kind, name, value string) (why string) {
	ok := false
	switch {
	case kind == "netem" && name == "delay":
		q.Delay, ok = parseTcTime(value)
	case kind == "netem" && (name == "loss" || name == "corrupt"):
		var share float64
		share, ok = percent(value)
		q.Loss = 1 - (1-q.Loss)*(1-share) // what is corrupt fails its checksum, and is lost
	case name == "rate":
		q.Rate, ok = bitRate(value)
	case name == "limit" || kind == "tbf" && slices.Contains([]string{"burst", "latency"}, name):
		ok = value != ""
	default:
		return fmt.Sprintf("What is \"%s\"?", name)
	}
	if !ok {
		return fmt.Sprintf("Illegal \"%s\"", name)
	}
	return ""
}

// queueOf reads a discipline's kind and its settings; why is what tc says where it doesn't know them.
func queueOf(words []string) (q net.Queue, why string) {
	kind := first(words)
	if kind != "netem" && kind != "tbf" {
		return q, fmt.Sprintf("Unknown qdisc \"%s\", hence option \"%s\" is unparsable", kind,
			strings.Join(words[min(1, len(words)):], " "))
	}
	// The kernel gives handles from 8001: on to what has none.
	text := []string{kind + " 8001: root refcnt 33"}
	if kind == "netem" {
		text = append(text, "limit 1000")
	}
	for words = words[1:]; len(words) > 0; {
		name, value := words[0], first(words[1:])
		// "loss random 5%" is "loss 5%": the other models have words of their own.
		if name == "loss" && value == "random" {
			words = words[1:]
			value = first(words[1:])
		}
		if why := setQueueOption(&q, kind, name, value); why != "" {
			return q, why
		}
		if name != "limit" {
			text = append(text, strings.Replace(name, "latency", "lat", 1)+" "+value)
		}
		words = words[2:]
	}
	if kind == "tbf" && q.Rate == 0 {
		return q, "Both \"rate\" and \"burst\" are required."
	}
	q.Text = strings.Join(text, " ")
	return q, ""
}

// percent reads "5%".
func percent(text string) (share float64, ok bool) {
	number, is := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	return v / 100, is && err == nil && v >= 0 && v <= 100
}

// parseTcTime reads a time of tc's: "20ms", and microseconds where there is no unit.
func parseTcTime(text string) (time.Duration, bool) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "us"
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && d < time.Hour
}

// bitRate reads "5gbit": bits a second, by tc's units, and bits where there is none.
func bitRate(text string) (float64, bool) {
	text = strings.ToLower(text)
	// Whichever comes first: what ends in a unit is not a number without it.
	for unit, bits := range map[string]float64{"kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "": 1} {
		number, is := strings.CutSuffix(text, unit)
		if v, err := strconv.ParseFloat(number, 64); is && err == nil && v > 0 && v < 1e15 {
			return v * bits, true
		}
	}
	return 0, false
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
