package runner

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
)

// dial connects to the host from this machine, from where the configuration says. On a machine with
// several ways the others may lead to another host of that address, or nowhere.
func (t Target) dial(ctx context.Context) (conn net.Conn, err error) {
	network := cmp.Or(t.Network, "tcp")
	from, err := t.from(ctx, network)
	if err != nil {
		return nil, fmt.Errorf("connect from where the ssh configuration says: %w", err)
	}
	for _, local := range from {
		if conn, err = (&net.Dialer{LocalAddr: local}).DialContext(ctx, network, t.address()); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// from are the addresses of this machine's that a connection may come from, in the order in which
// they are tried; one that is nil where that is the system's to choose.
func (t Target) from(ctx context.Context, network string) (all []net.Addr, err error) {
	var ips []net.IP
	switch family := "ip" + strings.TrimPrefix(network, "tcp"); {
	case t.BindAddress != "":
		if ips, err = net.DefaultResolver.LookupIP(ctx, family, t.BindAddress); err != nil {
			return nil, err
		}
	case t.BindInterface != "":
		i, err := net.InterfaceByName(t.BindInterface)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.BindInterface, err)
		}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && (family == "ip" || (n.IP.To4() != nil) == (family == "ip4")) {
				ips = append(ips, n.IP)
			}
		}
		// As ssh does: a link-local or loopback address is used only if there is no other.
		slices.SortStableFunc(ips, func(a, b net.IP) int { return narrow(a) - narrow(b) })
		if len(ips) == 0 {
			return nil, fmt.Errorf("%s has no address of that family", t.BindInterface)
		}
	default:
		return []net.Addr{nil}, nil
	}
	for _, ip := range ips {
		all = append(all, &net.TCPAddr{IP: ip})
	}
	return all, nil
}

func narrow(ip net.IP) int {
	if ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		return 1
	}
	return 0
}
