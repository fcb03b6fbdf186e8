package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/sim/etcdtest"
)

// ids are what each etcd has others of.
var ids = regexp.MustCompile(`"(cluster_id|member_id|raft_term)":"\d+"`)

var older = regexp.MustCompile(`"storage":"(3\.[56]\.0|unknown)"`)

// The simulated etcd answers curl and nixlbench as the real one does, to the byte but for spaces in JSON.
func TestEtcdAnswers(t *testing.T) {
	t.Parallel()
	const header = `{"header":{"cluster_id":"","member_id":"","revision":"REV","raft_term":""}`
	at := func(revision, rest string) string { return strings.Replace(header, "REV", revision, 1) + rest + "}" }
	const size, rank = "eGZlcmJlbmNoL2EvL3NpemU=", "eGZlcmJlbmNoL2EvL3JhbmsvMA==" // xferbench/a//size and //rank/0
	const below = `"key":"eGZlcmJlbmNoL2Ev","range_end":"eGZlcmJlbmNoL2Ew"`       // xferbench/a/
	const sizeKV = `{"key":"` + size + `","create_revision":"2","mod_revision":"3","version":"2","value":"Mg=="}`
	const rankKV = `{"key":"` + rank + `","create_revision":"4","mod_revision":"4","version":"1"`
	etcdtest.Each(t, func(t *testing.T, url string) {
		for _, c := range []struct {
			path, ask string
			status    int
			want      string
		}{
			{"/v3/kv/range", "{" + below + "}", 200, at("1", "")},
			{"/v3/kv/deleterange", "{" + below + "}", 200, at("1", "")},
			{"/v3/kv/put", `{"key":"` + size + `","value":"MQ=="}`, 200, at("2", "")},
			{"/v3/kv/put", `{"key":"` + size + `","value":"Mg=="}`, 200, at("3", "")},
			{"/v3/kv/put", `{"key":"` + rank + `"}`, 200, at("4", "")},
			{"/v3/kv/put", `{}`, 400, `{"code":3,"message":"etcdserver: key is not provided"}`},
			{"/v3/kv/range", `{}`, 400, `{"code":3,"message":"etcdserver: key is not provided"}`},
			{"/v3/kv/deleterange", `{}`, 400, `{"code":3,"message":"etcdserver: key is not provided"}`},
			{"/v3/kv/range", "{" + below + "}", 200, at("4", `,"kvs":[`+rankKV+`},`+sizeKV+`],"count":"2"`)},
			{"/v3/kv/range", `{"key":"` + size + `"}`, 200, at("4", `,"kvs":[`+sizeKV+`],"count":"1"`)},
			{"/v3/kv/range", `{"key":"AA==","range_end":"AA=="}`, 200, at("4", `,"kvs":[`+rankKV+`},`+sizeKV+`],"count":"2"`)},
			{"/v3/kv/range", "{" + below + `,"count_only":true}`, 200, at("4", `,"count":"2"`)},
			{"/v3/kv/range", "{" + below + `,"limit":1}`, 200, at("4", `,"kvs":[`+rankKV+`}],"more":true,"count":"2"`)},
			{"/v3/kv/range", "{" + below + `,"limit":"1"}`, 200, at("4", `,"kvs":[`+rankKV+`}],"more":true,"count":"2"`)},
			{
				"/v3/kv/range", `{"key":"` + size + `","keys_only":true}`, 200,
				at("4", `,"kvs":[`+strings.Replace(sizeKV, `,"value":"Mg=="`, "", 1)+`],"count":"1"`),
			},
			{ // it counts up, as nixlbench does
				"/v3/kv/txn", `{"compare":[{"key":"` + size + `","target":"VALUE","result":"EQUAL","value":"Mg=="}],` +
					`"success":[{"request_put":{"key":"` + size + `","value":"Mw=="}}]}`, 200,
				at("5", `,"succeeded":true,"responses":[{"response_put":{"header":{"revision":"5"}}}]`),
			},
			{ // another was faster
				"/v3/kv/txn", `{"compare":[{"key":"` + size + `","target":"VALUE","result":"EQUAL","value":"Mg=="}],` +
					`"success":[{"request_put":{"key":"` + size + `","value":"Mw=="}}]}`, 200, at("5", ""),
			},
			{ // a key that isn't there has a revision of 0, and no value at all
				"/v3/kv/txn", `{"compare":[{"key":"eg==","target":"CREATE","create_revision":"0"},` +
					`{"key":"eg==","target":"VERSION","result":"LESS","version":1}],` +
					`"success":[{"request_range":{"key":"` + rank + `"}},{"request_delete_range":{"key":"` + rank + `"}}]}`, 200,
				at("6", `,"succeeded":true,"responses":[{"response_range":{"header":{"revision":"5"},"kvs":[`+rankKV+
					`}],"count":"1"}},{"response_delete_range":{"header":{"revision":"6"},"deleted":"1"}}]`),
			},
			{
				"/v3/kv/txn", `{"compare":[{"key":"eg==","target":"VALUE","result":"NOT_EQUAL","value":"Mg=="}],` +
					`"failure":[{"request_range":{"key":"eg=="}}]}`, 200,
				at("6", `,"responses":[{"response_range":{"header":{"revision":"6"}}}]`),
			},
			{"/v3/kv/deleterange", "{" + below + "}", 200, at("7", `,"deleted":"1"`)},
			{"/v3/kv/nothing", `{}`, 404, `{"code":5,"message":"Not Found"}`},
			{"/nothing", `{}`, 404, "404 page not found\n"},
		} {
			resp, err := http.Post(url+c.path, "application/json", strings.NewReader(c.ask))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			// Each build of the real one has its own spaces in JSON: protojson chooses them by the program's hash.
			var compact bytes.Buffer
			if json.Compact(&compact, body) != nil {
				compact = *bytes.NewBuffer(body)
			}
			got := ids.ReplaceAllString(compact.String(), `"$1":""`)
			if got != c.want || resp.StatusCode != c.status {
				t.Errorf("%s %s: %d\n%s\nwant %d\n%s", c.path, c.ask, resp.StatusCode, got, c.status, c.want)
			}
		}
		for path, want := range map[string]string{
			"/version": `{"etcdserver":"3.7.3","etcdcluster":"3.7.0","storage":"3.7.0"}`,
			"/health":  `{"health":"true","reason":""}`,
		} {
			resp, err := http.Get(url + path)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			// For some moments the real one has an older version of its storage.
			if got := older.ReplaceAllString(string(body), `"storage":"3.7.0"`); got != want {
				t.Errorf("%s: %s", path, body)
			}
		}
		for _, nonsense := range []string{"nonsense", `{"key":1}`, `{"limit":"x"}`} {
			resp, err := http.Post(url+"/v3/kv/range", "application/json", strings.NewReader(nonsense))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %s", nonsense, resp.Status)
			}
		}
	})
}

// What isn't simulated of a comparison is said, and no answer that could be wrong is given.
func TestEtcdComparesNothingElse(t *testing.T) {
	t.Parallel()
	url := etcdtest.Serve(t)
	for _, compare := range []string{`"target":"LEASE"`, `"result":"NEARLY"`} {
		resp, err := http.Post(url+"/v3/kv/txn", "application/json",
			strings.NewReader(`{"compare":[{"key":"eg==",`+compare+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "not simulated") {
			t.Errorf("%s: %s %s", compare, resp.Status, body)
		}
	}
}

// A rig's etcd takes no port, is another one each time, and ends with the rig, connections and all.
func TestEtcdEndsWithItsRig(t *testing.T) {
	t.Parallel()
	rig, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, second := rig.Etcd(), rig.Etcd()
	a, b := etcd.Within(first), etcd.Within(second)
	defer a.Close()
	defer b.Close()
	conn, err := first(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "POST /v3/kv/put HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\nConnection: close\r\n\r\n"+
		`{"key":"eA=="}`)
	if text, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 200 OK\r\n") {
		t.Errorf("%q, %v", text, err)
	}
	if keys, err := a.List(t.Context(), ""); err != nil || len(keys) != 1 {
		t.Errorf("%v, %v", keys, err)
	}
	if keys, err := b.List(t.Context(), ""); err != nil || len(keys) != 0 {
		t.Errorf("the other one: %v, %v", keys, err)
	}
	silent, err := first(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rig.Close()
	if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a connection that says nothing: %v", err)
	}
	if _, err := a.List(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("after the rig's end: %v", err)
	}
}
