package tool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"

	"github.com/railbench/railbench/runner/sim/host"
)

// etcdPort is where a node's own etcd listens, on loopback, as Ubuntu's does.
const etcdPort = 2379

// etcdUnit is its service.
const etcdUnit = "etcd.service"

// A store is what a node's own etcd holds. The rig's lock guards it.
type store struct {
	keys map[string]string
}

// staleKeys are what two processes of nixlbench leave that were killed.
// And one that is somebody else's: whoever clears theirs has to leave it.
func staleKeys() map[string]string {
	return map[string]string{
		"xferbench/default//size":                        "2",
		"xferbench/default/barrier/start_barrier/0/1":    "1",
		"xferbench/default/barrier/sync/4/0":             "1",
		"xferbench/default/msg+int_data/src=1/dst=0/ack": "1",
		"xferbench/default/msg+char_data/src=1/dst=0":    "x",
		"/registry/somebody/elses":                       "x",
	}
}

// HaveEtcd installs an etcd as a service that is enabled: it runs, with what a dead
// nixlbench left in it, or it has failed.
func HaveEtcd(n *host.Node, runs bool) (undo func()) {
	files := n.Set(etcdFiles())
	u := &host.Unit{
		Name: etcdUnit, Active: "failed", Sub: "failed", Result: "exit-code",
		Status: 1, Stop: func() {}, Gone: make(chan struct{}),
	}
	n.Units[etcdUnit] = u
	undo = func() {
		files()
		if l := n.Listeners[etcdPort]; l != nil && l.Serves == etcdUnit {
			delete(n.Listeners, etcdPort)
			delete(n.Procs, l.Proc.PID)
		}
		delete(n.Units, etcdUnit)
	}
	if !runs || n.Listeners[etcdPort] != nil {
		return undo
	}
	p := n.Spawn([]string{"/usr/bin/etcd"}, true)
	// It has been there for longer than any run, which is how a check tells.
	p.Started -= host.ForgottenFor
	s := &store{staleKeys()}
	n.Listeners[etcdPort] = &host.Listener{
		Port: etcdPort, Proc: p, Serves: etcdUnit, Loopback: true, Open: func() func(net.Conn) {
			return func(conn net.Conn) { serveEtcd(n, s, conn) }
		},
	}
	u.Active, u.Sub, u.Result, u.Status, u.Proc = "active", "running", "success", 0, p
	return undo
}

// MaskEtcd installs an etcd that was enabled once and is masked since: nothing starts it, and
// whoever wants it is told where it would be.
func MaskEtcd(n *host.Node) (undo func()) {
	files := etcdFiles()
	files["/etc/systemd/system/"+etcdUnit] = host.NewLink("/dev/null")
	text := host.EnvironmentText + "\nNIXL_ETCD_ENDPOINTS=http://127.0.0.1:2379"
	files[host.EnvironmentFile] = host.NewFile(text)
	return n.Set(files)
}

// etcdFiles is what its package and its service leave in the file system.
func etcdFiles() map[string]*host.Inode {
	return map[string]*host.Inode{
		"/usr/lib/systemd/system/" + etcdUnit: host.NewFile(
			"[Unit]\nDescription=etcd - highly-available key value store\n\n" +
				"[Service]\nExecStart=/usr/bin/etcd\n\n[Install]\nWantedBy=multi-user.target"),
		"/etc/systemd/system/multi-user.target.wants/" + etcdUnit: host.NewLink("/usr/lib/systemd/system/" + etcdUnit),
		"/etc/default/etcd": host.NewFile("## etcd(1) daemon options\n# ETCD_LISTEN_CLIENT_URLS=\"http://localhost:2379\""),
		"/usr/bin/etcd":     host.NewProgram(),
		"/var/lib/etcd":     {Mode: fs.ModeDir | 0o700, Kids: map[string]*host.Inode{}},
	}
}

// serveEtcd answers one request of the JSON gateway on a connection.
func serveEtcd(n *host.Node, s *store, conn net.Conn) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	if err != nil {
		return
	}
	status, answer := http.StatusNotFound, any(map[string]any{"code": 5, "message": "Not Found"})
	switch req.URL.Path {
	case "/version":
		status, answer = http.StatusOK, map[string]string{"etcdserver": "3.4.30", "etcdcluster": "3.4.0"}
	case "/health":
		status, answer = http.StatusOK, map[string]string{"health": "true"}
	case "/v3/kv/range", "/v3/kv/deleterange":
		status, answer = keyRange(n, s, req.URL.Path == "/v3/kv/deleterange", body)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return
	}
	resp := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Close: true,
	}
	_ = resp.Write(conn) // a client that is gone needs no answer
}

// A gatewayRange is the body of a request for keys; JSON has them in base64.
type gatewayRange struct {
	Key       []byte `json:"key"`
	RangeEnd  []byte `json:"range_end"`
	CountOnly bool   `json:"count_only"`
	KeysOnly  bool   `json:"keys_only"`
	Limit     int    `json:"limit"`
}

// keyRange answers a question for keys, or removes them: sorted, and only as much as was asked for. count is of
// all that there are, whatever the limit was.
func keyRange(n *host.Node, s *store, remove bool, body []byte) (status int, answer any) {
	var q gatewayRange
	if err := json.Unmarshal(body, &q); err != nil {
		return http.StatusBadRequest, map[string]any{"code": 3, "message": err.Error()}
	}
	n.Rack.Lock()
	defer n.Rack.Unlock()
	var names []string
	for _, k := range slices.Sorted(maps.Keys(s.keys)) {
		// Without an end it is one key.
		if k == string(q.Key) || k > string(q.Key) && k < string(q.RangeEnd) {
			names = append(names, k)
		}
	}
	// Whole numbers of 64 bits are texts in the gateway's JSON, as protobuf has it.
	header := map[string]string{
		"cluster_id": "14841639068965178418", "member_id": "10276657743932975437", "revision": "31", "raft_term": "4",
	}
	if remove {
		for _, k := range names {
			delete(s.keys, k)
		}
		return http.StatusOK, map[string]any{"header": header, "deleted": strconv.Itoa(len(names))}
	}
	kvs := []map[string]any{}
	for i, k := range names {
		if q.CountOnly || q.Limit > 0 && i >= q.Limit {
			break
		}
		kv := map[string]any{"key": []byte(k), "create_revision": "7", "mod_revision": "7", "version": "1"}
		if !q.KeysOnly {
			kv["value"] = []byte(s.keys[k])
		}
		kvs = append(kvs, kv)
	}
	// What is empty or zero is left out.
	o := map[string]any{"header": header}
	if len(kvs) > 0 {
		o["kvs"] = kvs
	}
	if len(names) > 0 {
		o["count"] = strconv.Itoa(len(names))
	}
	return http.StatusOK, o
}
