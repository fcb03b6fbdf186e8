package nixl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// 180 s in all, as from 0.10.0 on; before that it was 60.
	// Every wait looks into etcd this often, so many times.
	// Of the nodes' time, as every wait of the simulated program; etcd itself answers in real time.
	etcdPoll  = 3 * time.Second
	etcdPolls = 60
	// ackTime passes before a message that was acknowledged is deleted.
	ackTime = 100 * time.Millisecond
	// farewell is the real time that the last words of a process may take.
	farewell = time.Second
)

// etcdRuntime lets two processes meet over keys in an etcd, a simulated or a real one, that
// a port of the node's loopback leads to.
type etcdRuntime struct {
	b     *nixlbench
	http  *http.Client
	group string // xferbench/GROUP/
	// generation reports a barrier from the one before.
	generation int
}

// newEtcdRuntime connects to nothing yet. Of several endpoints the first is taken, and only the node's own
// loopback is reached.
func newEtcdRuntime(b *nixlbench) *etcdRuntime {
	e := &etcdRuntime{b: b, group: "xferbench/" + b.set["benchmark_group"] + "/"}
	n := b.c.Node
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		// DialLoopback takes it for itself.
		n.Rack.Lock()
		addr, known := n.Resolve(host)
		n.Rack.Unlock()
		no, err := strconv.Atoi(port)
		if err != nil || !known || !addr.IsLoopback() {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return n.DialLoopback(no)
	}
	// Its connections stay within the process: a port of the node's loopback, or nothing.
	e.http = &http.Client{Transport: &http.Transport{DialContext: dial}}
	return e
}

// address is the endpoint's host and port.
func (e *etcdRuntime) address() string {
	first, _, _ := strings.Cut(e.b.set["etcd_endpoints"], ",")
	_, rest, ok := strings.Cut(first, "://")
	if !ok {
		rest = first
	}
	return strings.TrimSuffix(rest, "/")
}

// An etcdKV is a key with its value; JSON has both in base64, as []byte is.
type etcdKV struct {
	Key   []byte `json:"key,omitempty"`
	Value []byte `json:"value,omitempty"`
}

// Without an end it is one key.
type etcdRange struct {
	Key []byte `json:"key"`
	End []byte `json:"range_end,omitempty"`
}

// call is one request to etcd's JSON gateway.
func (e *etcdRuntime) call(ctx context.Context, method string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+e.address()+"/v3/kv/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	// etcd is outside of the rig: its answer takes real time, during which the nodes' stands still.
	e.b.c.Node.Rack.Clock.Foreign(func() { err = e.answer(req, out) })
	return err
}

func (e *etcdRuntime) answer(req *http.Request, out any) error {
	resp, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return fmt.Errorf("etcd says %s: %s", resp.Status, text)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

func (e *etcdRuntime) put(ctx context.Context, key, value string) error {
	return e.call(ctx, "put", etcdKV{[]byte(key), []byte(value)}, &struct{}{})
}

// list are the keys of a directory, with their values.
func (e *etcdRuntime) list(ctx context.Context, dir string) ([]etcdKV, error) {
	var out struct {
		KVs []etcdKV `json:"kvs"`
	}
	err := e.call(ctx, "range", etcdRange{[]byte(dir), after(dir)}, &out)
	return out.KVs, err
}

// get is a key's value; ok is false where there is none, and where no one can say.
func (e *etcdRuntime) get(ctx context.Context, key string) (value string, ok bool, err error) {
	var out struct {
		KVs []etcdKV `json:"kvs"`
	}
	if err := e.call(ctx, "range", etcdRange{Key: []byte(key)}, &out); err != nil || len(out.KVs) == 0 {
		return "", false, err
	}
	return string(out.KVs[0].Value), true, nil
}

func (e *etcdRuntime) remove(ctx context.Context, key string) error {
	return e.call(ctx, "deleterange", etcdRange{Key: []byte(key)}, &struct{}{})
}

func (e *etcdRuntime) removeDir(ctx context.Context, dir string) error {
	return e.call(ctx, "deleterange", etcdRange{[]byte(dir), after(dir)}, &struct{}{})
}

// after is the end of the range of all keys that begin with the prefix.
// The last byte one higher: a directory ends with a slash, so there is nothing to carry.
func after(prefix string) []byte {
	end := []byte(prefix)
	end[len(end)-1]++
	return end
}

// next counts the processes of the group up by one and returns how many there
// were. It compares and swaps where the real program holds a lock.
func (e *etcdRuntime) next(ctx context.Context) (int, error) {
	key := e.group + "/size"
	for {
		was, there, err := e.get(ctx, key)
		if err != nil {
			return 0, err
		}
		count, _ := strconv.Atoi(was)
		// A key that isn't there has a create_revision of 0.
		compare := map[string]any{"key": []byte(key), "target": "CREATE", "result": "EQUAL", "create_revision": "0"}
		if there {
			compare = map[string]any{"key": []byte(key), "target": "VALUE", "result": "EQUAL", "value": []byte(was)}
		}
		put := map[string]any{"request_put": etcdKV{[]byte(key), []byte(strconv.Itoa(count + 1))}}
		var out struct {
			Succeeded bool `json:"succeeded"`
		}
		if err := e.call(ctx, "txn", map[string]any{"compare": []any{compare}, "success": []any{put}}, &out); err != nil {
			return 0, err
		}
		if out.Succeeded {
			return count, nil
		}
	}
}

// join registers: the first to come is rank 0.
func (e *etcdRuntime) join(ctx context.Context) (rank, code int) {
	b := e.b
	b.say("Connecting to ETCD at %s", b.set["etcd_endpoints"])
	rank, err := e.next(ctx)
	if err == nil {
		err = e.put(ctx, e.group+"/rank/"+strconv.Itoa(rank), "active")
	}
	switch {
	case ctx.Err() != nil:
		return 0, b.interrupted(1, "")
	case errors.Is(err, syscall.ECONNREFUSED):
		return 0, b.c.Fail(1, "Failed to acquire lock: connections to all backends failing; "+
			"last error: UNKNOWN: ipv4:%s: Failed to connect to remote host: Connection refused\n"+
			"Failed to setup ETCD runtime", e.address())
	case err != nil:
		return 0, b.c.Fail(1, "Failed to acquire lock: connections to all backends failing; "+
			"last error: UNAVAILABLE: %v\nFailed to setup ETCD runtime", err)
	case rank >= 2:
		// It removes the registration of the other two ranks, too, as the program does: a process that waits
		// for them waits in vain.
		e.clean(ctx)
		return 0, b.c.Fail(1, "Rank %d is greater than or equal to global size 2\nFailed to setup ETCD runtime", rank)
	}
	b.say("ETCD Runtime: Registered as rank %d item %d of 2", rank, rank+1)
	return rank, 0
}

// clean removes what the program itself removes: what has a double slash in it.
// The keys of barriers and messages stay.
func (e *etcdRuntime) clean(ctx context.Context) {
	// The process was ended, and removes its keys all the same, in real time: the nodes' may stand.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	e.removeDir(ctx, e.group+"/")
}

func (e *etcdRuntime) barrierKey(id string) string {
	return fmt.Sprintf("%sbarrier/%s/%d/", e.group, id, e.generation)
}

// broken is what the program says of a barrier that failed.
func (e *etcdRuntime) broken(doing, id string, count int) string {
	// The bracket that nothing opens is nixlbench's own.
	text := fmt.Sprintf("Error in barrier %s %s rank %d completed %d/2 ranks)\n", doing, e.barrierKey(id), e.b.rank, count)
	if id == "start_barrier" {
		return text + "Failed to synchronize at start barrier\nFailed to synchronize all processes"
	}
	return text + "Failed to synchronize"
}

// fail ends the process because of a barrier.
func (e *etcdRuntime) fail(ctx context.Context, doing, id string, count int) int {
	e.clean(ctx)
	if ctx.Err() != nil {
		return e.b.interrupted(1, e.broken(doing, id, count))
	}
	return e.b.c.Fail(1, "%s", e.broken(doing, id, count))
}

// pause waits for the next look.
func (e *etcdRuntime) pause(ctx context.Context) bool {
	return e.b.c.Node.Rack.Clock.Sleep(ctx, etcdPoll)
}

// meets is the barrier itself, and says what to do about it where it fails.
func (e *etcdRuntime) meets(ctx context.Context, id string) (doing string, count int) {
	key := e.barrierKey(id)
	// Nothing leases it: what a killed process has put is still there for the next one to meet.
	if err := e.put(ctx, key+strconv.Itoa(e.b.rank), "1"); err != nil {
		return "put", 0
	}
	// Three minutes in all.
	for range etcdPolls {
		kvs, err := e.list(ctx, key)
		if err != nil {
			break
		}
		// None is left where rank 0 saw both and deleted them.
		if count = len(kvs); count == 0 || count == 2 {
			if e.b.rank == 0 {
				e.removeDir(ctx, key)
			}
			return "", count
		}
		if !e.pause(ctx) {
			break
		}
	}
	return "wait", count
}

// barrier returns when both are there.
func (e *etcdRuntime) barrier(ctx context.Context, id string) int {
	if doing, count := e.meets(ctx, id); doing != "" {
		return e.fail(ctx, doing, id, count)
	}
	e.generation++
	return 0
}

// An agent is the name by which a process of nixlbench is found by the other one, on
// whatever node that is.
type agent string

// exchange sends the metadata from the target to the initiator: its length first,
// then itself. The simulated one is only a name.
func (e *etcdRuntime) exchange(ctx context.Context) int {
	b := e.b
	number, text := e.group+"msg+int_data/src=1/dst=0", e.group+"msg+char_data/src=1/dst=0"
	if b.rank == 1 {
		name := fmt.Sprintf("nixlSerDes|%s|%d", b.c.Node.Name, b.proc.PID)
		b.c.Locked(func() { b.c.Node.Rack.Shared[agent(name)] = b })
		// In the keys' names the ranks are fixed: the target is 1 and the initiator 0.
		e.send(ctx, "int", number, strconv.Itoa(len(name)), "")
		e.send(ctx, "char", text, fmt.Sprintf("1:0:%d", len(name)), name)
		if ctx.Err() != nil {
			return b.interrupted(1, "")
		}
		return 0
	}
	if _, ok := e.receive(ctx, number, ""); !ok {
		return e.missed(ctx, "int", "NIXL: failed to receive metadata size")
	}
	name, ok := e.receive(ctx, text, "/data")
	if !ok {
		return e.missed(ctx, "char", "NIXL: failed to receive metadata")
	}
	b.c.Locked(func() { b.peer, _ = b.c.Node.Rack.Shared[agent(name)].(*nixlbench) })
	return 0
}

// missed is the end of an initiator that no message came to.
func (e *etcdRuntime) missed(ctx context.Context, kind, what string) int {
	why := fmt.Sprintf("Timeout waiting for %s data from rank 1\n%s", kind, what)
	if ctx.Err() != nil {
		return e.b.interrupted(1, why)
	}
	return e.b.c.Fail(1, "%s", why)
}

// send leaves a message and waits until it is acknowledged. That it never is isn't
// fatal by itself.
func (e *etcdRuntime) send(ctx context.Context, kind, key, value, data string) {
	if data != "" {
		// Before the key that says that it is there.
		e.put(ctx, key+"/data", data)
	}
	e.put(ctx, key, value)
	for range etcdPolls {
		if ack, ok, _ := e.get(ctx, key+"/ack"); ok && ack == "received" {
			e.remove(ctx, key+"/ack")
			return
		}
		if !e.pause(ctx) {
			return
		}
	}
	e.b.c.Fail(1, "Timeout waiting for %s data acknowledgment from rank 0", kind)
}

// receive waits for a message, acknowledges it and deletes it a moment later.
func (e *etcdRuntime) receive(ctx context.Context, key, part string) (string, bool) {
	for range etcdPolls {
		value, ok, _ := e.get(ctx, key)
		if ok && part != "" {
			value, ok, _ = e.get(ctx, key+part)
		}
		if !ok {
			if !e.pause(ctx) {
				return "", false
			}
			continue
		}
		e.put(ctx, key+"/ack", "received")
		if !e.b.c.Node.Rack.Clock.Sleep(ctx, ackTime) {
			return "", false
		}
		for _, k := range []string{key + part, key} {
			e.remove(ctx, k)
		}
		return value, true
	}
	return "", false
}

// leave removes the registration.
func (e *etcdRuntime) leave(ctx context.Context) { e.clean(ctx) }

func (e *etcdRuntime) close() {
	e.http.CloseIdleConnections()
	e.b.c.Locked(func() {
		maps.DeleteFunc(e.b.c.Node.Rack.Shared, func(_, b any) bool { return b == e.b })
	})
}
