package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net"
	"time"
)

// Packets of a gauge are UDP and have eight bytes: the present rate, a double. Neither its unit
// nor its byte order is in it.

// EncodeRate is a packet.
func EncodeRate(order binary.ByteOrder, rate float64) []byte {
	b := make([]byte, 8)
	order.PutUint64(b, math.Float64bits(rate))
	return b
}

// DecodeRate reads a packet; why says what is wrong with one that is not taken.
func DecodeRate(order binary.ByteOrder, packet []byte) (rate float64, why string) {
	if len(packet) < 8 {
		return 0, "short"
	}
	if len(packet) > 8 {
		return 0, "long"
	}
	rate = math.Float64frombits(order.Uint64(packet))
	switch {
	case math.IsNaN(rate):
		return 0, "no number"
	case math.IsInf(rate, 0):
		return 0, "infinite"
	case rate < 0:
		return 0, "negative"
	}
	return rate, ""
}

// A Gauge is one that rates are reported to.
type Gauge struct {
	to    net.Conn
	order binary.ByteOrder
}

// DialGauge is the gauge at an address, which need not be there.
func DialGauge(address string, order binary.ByteOrder) (*Gauge, error) {
	to, err := net.Dial("udp", address)
	if err != nil {
		return nil, err
	}
	return &Gauge{to, order}, nil
}

// Report sends a rate.
func (g *Gauge) Report(rate float64) error {
	_, err := g.to.Write(EncodeRate(g.order, rate))
	return err
}

// Close ends it.
func (g *Gauge) Close() error { return g.to.Close() }

// ListenRates takes packets until ctx ends, and reports each rate, or why there is none.
func ListenRates(ctx context.Context, c net.PacketConn, order binary.ByteOrder,
	tell func(from net.Addr, rate float64, why string),
) error {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	packet := make([]byte, 2048)
	for {
		n, from, err := c.ReadFrom(packet)
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		rate, why := DecodeRate(order, packet[:n])
		tell(from, rate, why)
	}
}
