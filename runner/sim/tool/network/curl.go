package network

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/tool/linux"
)

// curl is one request: -s -S -f -o -w -X -H -d -m and --connect-timeout, to a port of the node itself. Nothing else
// on the rig speaks HTTP. limit is real time: who answers is outside of the rig. began is by the rig's clock, for the
// time that an error reports.
type curl struct {
	c                  *host.Call
	url                *url.URL
	method, data       string
	header             http.Header
	output, format     string
	silent, show, fail bool
	limit              time.Duration // of the whole, 0 is none
	began              time.Duration
}

func runCurl(ctx context.Context, c *host.Call) int {
	p := &curl{c: c, header: http.Header{"User-Agent": {"curl/8.5.0"}, "Accept": {"*/*"}}, began: c.Node.Rack.Clock.Now()}
	if code := p.parse(); code != 0 {
		return code
	}
	// Who answers is not simulated, and no faster where the rig's time is.
	if p.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.limit, errCurlLimit)
		defer cancel()
	}
	return p.run(ctx)
}

var errCurlLimit = errors.New("the time is up")

// curlLong are the long options with their letters; connect-timeout has none.
var curlLong = map[string]string{
	"--silent": "s", "--show-error": "S", "--fail": "f", "--output": "o", "--write-out": "w",
	"--request": "X", "--header": "H", "--data": "d", "--max-time": "m", "--connect-timeout": "m",
}

// parse takes letters apart that stand together, each with its value behind it or in the next argument; of
// several URLs the last counts. Only http is spoken here.
func (p *curl) parse() int {
	args := p.c.Args[1:]
	target := ""
	for len(args) > 0 {
		a := args[0]
		args = args[1:]
		letters := strings.TrimPrefix(a, "-")
		switch {
		case strings.HasPrefix(a, "--"):
			if letters = curlLong[a]; letters == "" {
				return p.c.Fail(2, "curl: option %s: is unknown\n"+
					"curl: try 'curl --help' or 'curl --manual' for more information", a)
			}
		case a == "-" || letters == a:
			target = a
			continue
		}
		for letters != "" {
			letter := letters[0]
			letters = letters[1:]
			value := ""
			if byteIn("owXHdm", letter) {
				if value, letters = letters, ""; value == "" {
					if len(args) == 0 {
						return p.c.Fail(2, "curl: option -%c: requires parameter\n"+
							"curl: try 'curl --help' or 'curl --manual' for more information", letter)
					}
					value, args = args[0], args[1:]
				}
			}
			if !p.set(letter, value) {
				return p.c.Fail(2, "curl: option -%c: is unknown\n"+
					"curl: try 'curl --help' or 'curl --manual' for more information", letter)
			}
		}
	}
	if target == "" {
		return p.c.Fail(2, "curl: (2) no URL specified\ncurl: try 'curl --help' or 'curl --manual' for more information")
	}
	if !strings.Contains(target, "://") {
		target = "http://" + target
	}
	u, err := url.Parse(target)
	if err != nil {
		return p.failed(3, "URL using bad/illegal format or missing URL")
	}
	if p.url = u; u.Scheme != "http" {
		return p.failed(1, "Protocol \""+u.Scheme+"\" not supported or disabled in libcurl")
	}
	return 0
}

// set is false for a letter that isn't known, and for a time that is none. -d makes it a POST of a form, as
// curl does, unless -H has said what it is.
func (p *curl) set(letter byte, value string) bool {
	switch letter {
	case 's':
		p.silent = true
	case 'S':
		p.show = true
	case 'f':
		p.fail = true
	case 'o':
		p.output = value
	case 'w':
		p.format = value
	case 'X':
		p.method = value
	case 'H':
		name, v, _ := strings.Cut(value, ":")
		p.header.Set(strings.TrimSpace(name), strings.TrimSpace(v))
	case 'd':
		p.data = value
		if p.header.Get("Content-Type") == "" {
			p.header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	case 'm':
		limit, ok := linux.Seconds(value)
		p.limit = limit
		return ok
	default:
		return false
	}
	return true
}

// failed reports an error as curl does: -s is silent about it, unless -S. code is one of curl(1)'s exit codes, by
// which scripts report a refused connection (7) from an answer that never came (28).
func (p *curl) failed(code int, why string) int {
	if p.silent && !p.show {
		return code
	}
	return p.c.Fail(code, "curl: (%d) %s", code, why)
}

// run makes the request and prints what came, up to 1 MiB: no answer on the rig has more. The rig's time stands still
// meanwhile, since it is unknown when a user outside answers.
func (p *curl) run(ctx context.Context) int {
	method := p.method
	if method == "" {
		method = http.MethodGet
		if p.data != "" {
			method = http.MethodPost
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, p.url.String(), strings.NewReader(p.data))
	if err != nil {
		return p.failed(3, "URL using bad/illegal format or missing URL")
	}
	req.Header = p.header
	// No proxy: its environment is the host's.
	transport := &http.Transport{DialContext: p.dial, DisableKeepAlives: true}
	var resp *http.Response
	var body []byte
	var broken error
	p.c.Node.Rack.Clock.Foreign(func() {
		if resp, err = transport.RoundTrip(req); err == nil {
			defer resp.Body.Close()
			body, broken = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		}
	})
	if err != nil {
		return p.explain(ctx, err)
	}
	// -f leaves the body out, and -w says its part all the same.
	if p.fail && resp.StatusCode >= 400 {
		p.write(resp.StatusCode)
		return p.failed(22, "The requested URL returned error: "+strconv.Itoa(resp.StatusCode))
	}
	if broken != nil {
		return p.explain(ctx, broken)
	}
	if p.output == "" || p.output == "-" {
		p.c.Out.Write(body)
	} else if p.output != "/dev/null" {
		return p.failed(23, "Failure writing output to destination")
	}
	p.write(resp.StatusCode)
	return 0
}

// write is what -w asks for.
func (p *curl) write(status int) {
	p.c.Out.WriteString(strings.NewReplacer("%{http_code}", strconv.Itoa(status),
		"%{response_code}", strconv.Itoa(status), `\n`, "\n").Replace(p.format))
}

// dial reaches what listens on the node's own loopback.
func (p *curl) dial(_ context.Context, _, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, _ := strconv.Atoi(text)
	mine := false
	p.c.Locked(func() {
		addr, ok := p.c.Node.Resolve(host)
		if !ok {
			err = errNoHost
			return
		}
		w, ok := p.c.Node.Route(addr)
		switch {
		case !ok:
			err = syscall.ENETUNREACH
		case w.Peer == nil:
			err = syscall.EHOSTUNREACH
		// Only there does anything listen that speaks bytes.
		case !w.Local || addr != netip.AddrFrom4([4]byte{127, 0, 0, 1}):
			err = syscall.ECONNREFUSED
		default:
			mine = true
		}
	})
	if !mine {
		return nil, err
	}
	return p.c.Node.DialLoopback(port)
}

var errNoHost = errors.New("no such host")

// explain is curl's wording of what went wrong on the way.
func (p *curl) explain(ctx context.Context, err error) int {
	host, port := p.url.Hostname(), p.url.Port()
	if port == "" {
		port = "80"
	}
	took := strconv.FormatInt((p.c.Node.Rack.Clock.Now() - p.began).Milliseconds(), 10)
	switch {
	case errors.Is(context.Cause(ctx), errCurlLimit):
		// The time of the nodes stands still while a user outside is to answer.
		took = strconv.FormatInt(p.limit.Milliseconds(), 10)
		return p.failed(28, "Operation timed out after "+took+" milliseconds with 0 bytes received")
	case ctx.Err() != nil:
		return 143
	case errors.Is(err, errNoHost):
		return p.failed(6, "Could not resolve host: "+host)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.ECONNREFUSED):
		return p.failed(7, "Failed to connect to "+host+" port "+port+" after "+took+" ms: Couldn't connect to server")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return p.failed(52, "Empty reply from server")
	default:
		return p.failed(56, "Recv failure: Connection reset by peer")
	}
}
