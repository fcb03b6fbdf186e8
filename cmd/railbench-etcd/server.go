package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// folderName is the pattern of a data folder's name. It has a dot where the folders that railbench
// holds have a hyphen: of those it removes the ones that nothing holds.
const folderName = "railbench-etcd.*"

// A Server is an etcd in this process. It listens on this machine's loopback
// only, without a password, and keeps nothing once it is closed.
type Server struct {
	etcd    *embed.Etcd
	address string
	data    string // the folder of this server's data
	end     func() error
	fatal   *fatal
}

const (
	startLimit = 10 * time.Second
	closeLimit = 10 * time.Second
	// Another user may take a free port before etcd does.
	startTries = 5
)

// The only member elects itself, at once.
const (
	tickMS     = 20
	electionMS = 100
)

// segmentBytes is how much disk the write-ahead log takes ahead: etcd's own 64 MB,
// twice, is a lot for some hundred keys, and memory where /tmp is.
const segmentBytes = 1 << 20

// etcd has no other way to say so.
var smallSegments = sync.OnceFunc(func() { wal.SegmentSizeBytes = segmentBytes })

// Start starts a server and waits until it answers; ctx bounds the start only. Its data is in
// a new folder in dir, or in the system's folder of temporary files where dir is empty.
func Start(ctx context.Context, dir string) (*Server, error) {
	smallSegments()
	var err error
	for range startTries {
		var s *Server
		if s, err = start(ctx, dir); err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("start etcd: %w", err)
}

func start(ctx context.Context, dir string) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	// Each try has a folder of its own: what a failed one left would be taken for this one's.
	data, err := os.MkdirTemp(dir, folderName)
	if err != nil {
		return nil, err
	}
	s := &Server{address: address, data: data, fatal: newFatal()}
	s.end = sync.OnceValue(s.close)
	if s.etcd, err = embed.StartEtcd(s.config()); err == nil {
		err = s.ready(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

func (s *Server) config() *embed.Config {
	c := embed.NewConfig()
	c.Name, c.Dir = "railbench", s.data
	mine := url.URL{Scheme: "http", Host: s.address}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{mine}, []url.URL{mine}
	// No peers: it listens for none, and the cluster's list has to hold something.
	nobody := url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	c.ListenPeerUrls, c.AdvertisePeerUrls = nil, []url.URL{nobody}
	c.InitialCluster = c.Name + "=" + nobody.String()
	c.TickMs, c.ElectionMs = tickMS, electionMS
	c.UnsafeNoFsync = true // nothing is kept
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(s.fatal.logger())
	closeToPages(c)
	return c
}

func (s *Server) ready(ctx context.Context) error {
	select {
	case <-s.etcd.Server.ReadyNotify():
		return nil
	case err := <-s.etcd.Err():
		return err
	case <-s.fatal.told:
		return s.fatal.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(startLimit):
		return fmt.Errorf("it is not ready after %s", startLimit)
	}
}

// URL is where the server listens.
func (s *Server) URL() string { return "http://" + s.address }

// Failed is closed when the server has failed while it ran, for example for want of
// disk; Err says why.
func (s *Server) Failed() <-chan struct{} { return s.fatal.told }

// Err says why the server has failed; nil where it has not.
func (s *Server) Err() error {
	select {
	case <-s.fatal.told:
		return s.fatal.err
	default:
		return nil
	}
}

// Close ends the server and removes its data. It may be called more than once, and always returns: a server
// that does not end is left running, and Close returns an error.
func (s *Server) Close() error { return s.end() }

func (s *Server) close() error {
	var errs []error
	if s.etcd != nil {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.etcd.Close()
		}()
		select {
		case <-ended:
		case <-time.After(closeLimit):
			errs = append(errs, fmt.Errorf("close etcd at %s: it does not end", s.address))
		}
	}
	if err := os.RemoveAll(s.data); err != nil {
		errs = append(errs, fmt.Errorf("remove etcd's data: %w", err))
	}
	return errors.Join(errs...)
}

// freeAddress finds a port of loopback that is free now. etcd's gateway wants to
// know it before it listens.
func freeAddress() (string, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// A fatal is etcd's logger. It is silent: the terminal is another user's. What etcd would end the process for ends
// only the goroutine that says it, and is kept.
type fatal struct {
	once sync.Once
	told chan struct{}
	err  error // set before told is closed
}

func newFatal() *fatal { return &fatal{told: make(chan struct{})} }

func (f *fatal) logger() *zap.Logger {
	return zap.New(zapcore.NewNopCore(), zap.WithFatalHook(f), zap.WithPanicHook(f))
}

// OnWrite is called in place of an exit or a panic.
func (f *fatal) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	f.once.Do(func() {
		f.err = errors.New("etcd: " + entry.Message)
		for _, field := range fields {
			if err, ok := field.Interface.(error); ok {
				f.err = fmt.Errorf("etcd: %s: %w", entry.Message, err)
			}
		}
		close(f.told)
	})
	runtime.Goexit()
}
