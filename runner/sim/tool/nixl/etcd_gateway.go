package nixl

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An Etcd is a simulated one, in memory, as its JSON gateway shows it: a node's own, or the one that
// railbench lends to both. It answers for keys alone. Leases, locks and watches, which the real
// nixlbench uses, go over gRPC, and the simulated one does without them.
type Etcd struct {
	release etcdRelease

	// Not the rig's lock: a client may be outside of the rig.
	mu       sync.Mutex
	revision int64
	keys     map[string]*etcdValue
}

// An etcdRelease is what /version answers.
type etcdRelease struct {
	Server  string `json:"etcdserver"`
	Cluster string `json:"etcdcluster"`
	Storage string `json:"storage,omitempty"` // since 3.6
}

// An etcdValue is what a key has.
type etcdValue struct {
	value                []byte
	created, changed, no int64 // its revisions, and how often it was put
}

// NewEtcd is an empty one, of the release that railbench-etcd is built with.
func NewEtcd() *Etcd {
	return newEtcd(etcdRelease{Server: "3.7.3", Cluster: "3.7.0", Storage: "3.7.0"}, nil)
}

func newEtcd(release etcdRelease, keys map[string]string) *Etcd {
	e := &Etcd{release: release, revision: 1, keys: map[string]*etcdValue{}} // an empty one is at 1
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		e.revision++
		e.put(k, []byte(keys[k]), e.revision)
	}
	return e
}

// etcdRequestBytes is etcd's own limit of a request.
const etcdRequestBytes = 3 << 19

// Serve answers the requests on a connection until its end, and closes it.
func (e *Etcd) Serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(io.LimitReader(req.Body, etcdRequestBytes+1))
		if err != nil || len(body) > etcdRequestBytes {
			return
		}
		status, kind, text := e.answer(req.URL.Path, body)
		resp := http.Response{
			StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {kind}},
			Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)), Close: req.Close,
		}
		// A client that is gone needs no answer.
		if err := resp.Write(conn); err != nil || req.Close {
			return
		}
	}
}

// answer is what a request gets. An error has gRPC's code.
func (e *Etcd) answer(path string, body []byte) (status int, kind string, text []byte) {
	const asJSON, asText = "application/json", "text/plain; charset=utf-8"
	var answer any
	var err error
	switch path {
	case "/version":
		answer = e.release
	case "/health":
		return http.StatusOK, asText, []byte(`{"health":"true","reason":""}`)
	case "/v3/kv/put":
		answer, err = reply(body, e.putKey)
	case "/v3/kv/range":
		answer, err = reply(body, e.rangeKeys)
	case "/v3/kv/deleterange":
		answer, err = reply(body, e.deleteKeys)
	case "/v3/kv/txn":
		answer, err = reply(body, e.transact)
	default:
		if !strings.HasPrefix(path, "/v3/") {
			return http.StatusNotFound, asText, []byte("404 page not found\n")
		}
		return http.StatusNotFound, asJSON, []byte(`{"code":5,"message":"Not Found"}`)
	}
	status = http.StatusOK
	if err != nil {
		status, answer = http.StatusBadRequest, map[string]any{"code": 3, "message": err.Error()}
	}
	if text, err = json.Marshal(answer); err != nil {
		return http.StatusInternalServerError, asText, []byte(err.Error())
	}
	return status, asJSON, text
}

// reply reads a request and answers it.
func reply[Q any](body []byte, answer func(Q) (etcdAnswer, error)) (a etcdAnswer, err error) {
	var q Q
	if err = json.Unmarshal(body, &q); err != nil {
		return a, err
	}
	return answer(q)
}

// The requests. Bytes are in base64 in JSON, as []byte is. A range without an end is one key.
type (
	etcdPut struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}
	etcdSpan struct {
		Key       []byte  `json:"key"`
		RangeEnd  []byte  `json:"range_end"`
		Limit     etcdInt `json:"limit"`
		KeysOnly  bool    `json:"keys_only"`
		CountOnly bool    `json:"count_only"`
	}
	etcdTxn struct {
		Compare []etcdCompare `json:"compare"`
		Success []etcdOp      `json:"success"`
		Failure []etcdOp      `json:"failure"`
	}
	etcdCompare struct {
		Key     []byte  `json:"key"`
		Target  string  `json:"target"`
		Result  string  `json:"result"`
		Value   []byte  `json:"value"`
		Version etcdInt `json:"version"`
		Created etcdInt `json:"create_revision"`
		Changed etcdInt `json:"mod_revision"`
	}
	etcdOp struct {
		Range  *etcdSpan `json:"request_range"`
		Put    *etcdPut  `json:"request_put"`
		Delete *etcdSpan `json:"request_delete_range"`
	}
)

// An etcdInt is a whole number of 64 bits: in protobuf's JSON it is written as a text, and read as a number, too.
type etcdInt int64

func (i *etcdInt) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	*i = etcdInt(n)
	return err
}

// The answers. What is empty or zero is left out.
type (
	etcdAnswer struct {
		Header    etcdHeader     `json:"header"`
		Succeeded bool           `json:"succeeded,omitempty"`
		KVs       []etcdEntry    `json:"kvs,omitempty"`
		More      bool           `json:"more,omitempty"`
		Count     int64          `json:"count,string,omitempty"`
		Deleted   int64          `json:"deleted,string,omitempty"`
		Responses []etcdResponse `json:"responses,omitempty"`
	}
	etcdHeader struct {
		Cluster  string `json:"cluster_id,omitempty"`
		Member   string `json:"member_id,omitempty"`
		Revision int64  `json:"revision,string"`
		Term     string `json:"raft_term,omitempty"`
	}
	etcdEntry struct {
		Key     []byte `json:"key"`
		Created int64  `json:"create_revision,string"`
		Changed int64  `json:"mod_revision,string"`
		Version int64  `json:"version,string"`
		Value   []byte `json:"value,omitempty"`
	}
	etcdResponse struct {
		Range  *etcdAnswer `json:"response_range,omitempty"`
		Put    *etcdAnswer `json:"response_put,omitempty"`
		Delete *etcdAnswer `json:"response_delete_range,omitempty"`
	}
)

// header is of an answer by itself; one in a transaction has the revision alone. The lock is held.
func (e *Etcd) header() etcdHeader {
	return etcdHeader{Cluster: "14841639068965178418", Member: "10276657743932975437", Revision: e.revision, Term: "2"}
}

var errNoKey = errors.New("etcdserver: key is not provided")

func (e *Etcd) putKey(q etcdPut) (a etcdAnswer, err error) {
	if len(q.Key) == 0 {
		return a, errNoKey
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.revision++
	e.put(string(q.Key), q.Value, e.revision)
	return etcdAnswer{Header: e.header()}, nil
}

// put is one of a revision, of which a transaction has one for all that it puts.
func (e *Etcd) put(key string, value []byte, revision int64) {
	v := e.keys[key]
	if v == nil {
		v = &etcdValue{created: revision}
		e.keys[key] = v
	}
	v.value, v.changed = value, revision
	v.no++
}

func (e *Etcd) rangeKeys(q etcdSpan) (a etcdAnswer, err error) {
	if len(q.Key) == 0 {
		return a, errNoKey
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	a = e.list(q)
	a.Header = e.header()
	return a, nil
}

// list is the keys of a span, sorted. The count is of all that there are, whatever the limit was.
func (e *Etcd) list(q etcdSpan) (a etcdAnswer) {
	names := e.within(q)
	a.Count = int64(len(names))
	if q.CountOnly {
		return a
	}
	if limit := int(q.Limit); limit > 0 && limit < len(names) {
		names, a.More = names[:limit], true
	}
	for _, k := range names {
		v := e.keys[k]
		entry := etcdEntry{Key: []byte(k), Created: v.created, Changed: v.changed, Version: v.no}
		if !q.KeysOnly {
			entry.Value = v.value
		}
		a.KVs = append(a.KVs, entry)
	}
	return a
}

func (e *Etcd) deleteKeys(q etcdSpan) (a etcdAnswer, err error) {
	if len(q.Key) == 0 {
		return a, errNoKey
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if a.Deleted = e.remove(q); a.Deleted > 0 {
		e.revision++
	}
	a.Header = e.header()
	return a, nil
}

func (e *Etcd) remove(q etcdSpan) int64 {
	names := e.within(q)
	for _, k := range names {
		delete(e.keys, k)
	}
	return int64(len(names))
}

// within are the keys of a span, sorted. An end of one zero byte is behind the last key.
func (e *Etcd) within(q etcdSpan) (names []string) {
	from, to := string(q.Key), string(q.RangeEnd)
	for k := range e.keys {
		if k == from || k > from && to != "" && (to == "\x00" || k < to) {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return names
}

// transact does what stands under success where all comparisons hold, and under failure where one doesn't.
func (e *Etcd) transact(q etcdTxn) (a etcdAnswer, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a.Succeeded = true
	for _, c := range q.Compare {
		holds, err := c.holds(e.keys[string(c.Key)])
		if err != nil {
			return etcdAnswer{}, err
		}
		a.Succeeded = a.Succeeded && holds
	}
	ops := q.Success
	if !a.Succeeded {
		ops = q.Failure
	}
	next := e.revision + 1
	for _, op := range ops {
		var r etcdResponse
		switch {
		case op.Put != nil:
			e.put(string(op.Put.Key), op.Put.Value, next)
			e.revision = next
			r.Put = &etcdAnswer{Header: etcdHeader{Revision: e.revision}}
		case op.Delete != nil:
			r.Delete = &etcdAnswer{Deleted: e.remove(*op.Delete)}
			if r.Delete.Deleted > 0 {
				e.revision = next
			}
			r.Delete.Header.Revision = e.revision
		case op.Range != nil:
			list := e.list(*op.Range)
			list.Header.Revision = e.revision
			r.Range = &list
		}
		a.Responses = append(a.Responses, r)
	}
	a.Header = e.header()
	return a, nil
}

// holds compares a key, nil where there is none. The value of none equals nothing, not even an empty one.
func (c etcdCompare) holds(v *etcdValue) (bool, error) {
	order := 0
	switch target := cmp.Or(c.Target, "VERSION"); {
	case target == "VALUE" && v == nil:
		return false, nil
	case target == "VALUE":
		order = bytes.Compare(v.value, c.Value)
	default:
		if v == nil {
			v = &etcdValue{}
		}
		switch target {
		case "VERSION":
			order = cmp.Compare(v.no, int64(c.Version))
		case "CREATE":
			order = cmp.Compare(v.created, int64(c.Created))
		case "MOD":
			order = cmp.Compare(v.changed, int64(c.Changed))
		default:
			return false, errors.New("a comparison of " + target + " is not simulated")
		}
	}
	switch result := cmp.Or(c.Result, "EQUAL"); result {
	case "EQUAL":
		return order == 0, nil
	case "NOT_EQUAL":
		return order != 0, nil
	case "GREATER":
		return order > 0, nil
	case "LESS":
		return order < 0, nil
	default:
		return false, errors.New("a comparison with " + result + " is not simulated")
	}
}
