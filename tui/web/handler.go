package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What all viewers together may take.
const (
	MostViewers = 256 // streams; a page is one
	// MostConnections holds for a listener: each viewer's browser asks for files, too.
	MostConnections = 2 * MostViewers
	// MostEach is how many connections one address may have that have not shown the token: a browser takes six, and
	// several viewers may share an address.
	MostEach = 64

	slowAfter  = 5 * time.Second  // a viewer who takes a message no faster is dropped
	longAfter  = 20 * time.Second // and who takes a file no faster
	beatEvery  = 15 * time.Second // a comment, or a viewer whose machine sleeps would be held for ever
	retryAfter = 2000             // ms until a browser asks again
)

// policy lets the page load what comes from here, and nothing else: no inline script or style,
// no frame around it, no form.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Server is an HTTP server for the page whose requests end: the header's within seconds, an idle connection's within a
// minute, an answer's that is not read within longAfter, a stream's by each message's own limit. It serves a listener
// that bounds its connections.
func (p *Page) Server() *http.Server {
	return &http.Server{
		Handler: p.Handler(), ReadHeaderTimeout: slowAfter, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		WriteTimeout: longAfter, ConnContext: withPlace,
		// What it would say is of single connections, and stderr may be a screen's.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// Handler answers for the page. All of it is to look at: there is nothing to be sent.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	viewers := make(chan struct{}, MostViewers)
	for path, file := range map[string]struct{ name, kind string }{
		"/{$}":      {"page.html", "text/html; charset=utf-8"},
		"/page.css": {"page.css", "text/css; charset=utf-8"},
		"/page.js":  {"page.js", "text/javascript; charset=utf-8"},
		"/icon.svg": {"icon.svg", "image/svg+xml"},
	} {
		mux.HandleFunc(path, p.file(file.name, file.kind))
	}
	mux.Handle("/events", p.private(func(w http.ResponseWriter, r *http.Request) { p.serveEvents(w, r, viewers) }))
	mux.Handle("/notebook", p.private(p.serveNotebook))
	return p.guard(mux)
}

// file is one of the page's files. They contain nothing of the session and need no token: a browser could
// send one only in their addresses.
func (p *Page) file(name, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, err := fs.ReadFile(p.o.Files, name)
		if err != nil {
			http.Error(w, name+" is missing", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(text) // the client is gone
	}
}

// guard is in front of everything.
func (p *Page) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "there is nothing to send here", http.StatusMethodNotAllowed)
		case r.ContentLength != 0:
			h.Set("Connection", "close") // or the rest of it would be waited for
			http.Error(w, "there is nothing to send here", http.StatusRequestEntityTooLarge)
		case !p.known(r.Host):
			// A page of another site whose name now resolves to this address (DNS rebinding) could read what
			// this page shows.
			http.Error(w, "asked for by a name that this railbench does not know: --name NAME allows it",
				http.StatusMisdirectedRequest)
		case r.URL.Path != "/" && r.Header.Get("Sec-Fetch-Site") == "cross-site":
			http.Error(w, "asked for by another site's page", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// known reports whether a request's host cannot be a name that another site has pointed here: it is an
// address, or localhost. The port may differ, as in a tunnel.
func (p *Page) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return true
	}
	return slices.ContainsFunc(p.o.Names, func(name string) bool { return strings.EqualFold(name, host) })
}

// private asks for the token, where there is one: in the header Authorization, as programs
// send it, or as ?token=, for a browser's event stream, which can set no header.
func (p *Page) private(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.token != "" && !p.allowed(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing or wrong: open the address that railbench serve has printed",
				http.StatusUnauthorized)
			return
		}
		if p.token != "" {
			hasToken(r.Context())
		}
		next(w, r)
	})
}

// placeKey is of a request's connection in its context.
type placeKey struct{}

// withPlace is for http.Server.ConnContext.
func withPlace(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, placeKey{}, c)
}

// hasToken keeps the connection of a request whose client has shown the token.
func hasToken(ctx context.Context) {
	if c, ok := ctx.Value(placeKey{}).(interface{ Known() }); ok {
		c.Known()
	}
}

func (p *Page) allowed(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		given = r.URL.Query().Get("token")
	}
	// Of hashes the comparison takes as long for any length.
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(p.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// serveEvents streams messages to one viewer until he leaves, reads too slowly, or the page
// ends.
func (p *Page) serveEvents(w http.ResponseWriter, r *http.Request, viewers chan struct{}) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects would show all of it late
	if r.Method == http.MethodHead {
		return
	}
	select {
	case viewers <- struct{}{}:
		defer func() { <-viewers }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "there are too many viewers", http.StatusServiceUnavailable)
		return
	}
	v := viewer{w, http.NewResponseController(w)}
	if v.send([]byte("retry: "+strconv.Itoa(retryAfter)+"\n\n")) != nil {
		return
	}
	seq, ok := p.feed.resume(r.Header.Get("Last-Event-ID"))
	if !ok {
		seq = -1
	}
	p.follow(r.Context(), v, seq)
}

// follow sends a viewer what comes after a message, or a snapshot where that isn't kept.
func (p *Page) follow(ctx context.Context, v viewer, seq int) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for ctx.Err() == nil {
		frames, news, ok := p.feed.since(seq)
		if !ok {
			frames = []frame{p.snapshot()}
		}
		for _, f := range frames {
			if v.write(f.text) != nil {
				return
			}
			seq = f.seq
		}
		if len(frames) > 0 {
			if v.flush() != nil {
				return
			}
			continue
		}
		if p.feed.ended() {
			return
		}
		select {
		case <-news:
		case <-beat.C:
			if v.send([]byte(":\n\n")) != nil {
				return
			}
		case <-ctx.Done():
		}
	}
}

// A viewer is one stream. Each write has a limit of its own.
type viewer struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (v viewer) write(text []byte) error {
	if err := v.rc.SetWriteDeadline(time.Now().Add(slowAfter)); err != nil {
		return err
	}
	_, err := v.w.Write(text)
	return err
}

func (v viewer) flush() error { return v.rc.Flush() }

func (v viewer) send(text []byte) error {
	if err := v.write(text); err != nil {
		return err
	}
	return v.flush()
}
