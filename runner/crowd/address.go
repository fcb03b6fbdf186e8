package crowd

import (
	"net"
	"os"
)

// OnLoopback reports whether only this machine can reach an address that was listened at.
func OnLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Address is what a browser opens. The token stands behind the #, which a browser keeps to
// itself: no proxy and no log gets it with the page.
func Address(at net.Addr, token string) string {
	address := "http://" + net.JoinHostPort(reachable(at)) + "/"
	if token != "" {
		address += "#" + token
	}
	return address
}

// reachable is where others find what listens at an address.
func reachable(at net.Addr) (host, port string) {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return at.String(), ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	return host, port
}
