package main

import (
	"context"
	"net/http"

	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// noOrigin is not an origin that a browser knows. etcd takes an empty list for all of them.
const noOrigin = "none"

// closeToPages keeps web pages in a browser of this machine, or of a node, away from the etcd, which
// has no password and listens on loopback:
//
//   - No page may read an answer (CORS).
//   - A name that leads to 127.0.0.1 is refused (DNS rebinding, CVE-2018-5702). The port may be any:
//     nodes come through a forwarded one of theirs.
//   - A page may send a POST without asking, and a browser says of each where it came from (Origin):
//     such a request is refused. curl and programs send none.
//   - A page may open a WebSocket anywhere. etcd's gateway takes one for any of its requests, and
//     nothing else that it answers begins with a GET.
func closeToPages(c *embed.Config) {
	c.CORS = map[string]struct{}{noOrigin: {}}
	c.HostWhitelist = map[string]struct{}{"127.0.0.1": {}, "localhost": {}}
	c.UserHandlers = map[string]http.Handler{
		"GET /v3/": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the gateway takes POST alone", http.StatusMethodNotAllowed)
		}),
	}
	c.GRPCAdditionalServerOptions = []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(
			ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
		) (any, error) {
			if err := refusePage(ctx); err != nil {
				return nil, err
			}
			return handle(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(
			srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler,
		) error {
			if err := refusePage(stream.Context()); err != nil {
				return err
			}
			return handle(srv, stream)
		}),
	}
}

// originHeader is what the gateway makes of a request's Origin.
const originHeader = "grpcgateway-origin"

func refusePage(ctx context.Context) error {
	if len(metadata.ValueFromIncomingContext(ctx, originHeader)) > 0 {
		return status.Error(codes.PermissionDenied, "a web page may not use this etcd")
	}
	return nil
}
