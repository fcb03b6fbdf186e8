package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps/parse"
)

// folders say which tool the corpus of a parser is of. The others' texts are not of one tool alone.
var folders = map[string]string{
	"perftest-bandwidth": "perftest", "perftest-latency": "perftest",
	"ibv-devices": "ibv_devices", "ibv-devinfo": "ibv_devinfo",
	"gid-table": "show_gids", "ibdev2netdev": "ibdev2netdev", "ping": "ping",
	"ip-links": "ip", "ip-routes": "ip", "ip-brief": "ip",
	"bonding": "bonding", "bonds": "bonding", "iperf3": "iperf3", "nixlbench": "nixlbench", "ucx": "ucx_info",
	"rdma-link": "rdma", "rdma-statistic": "rdma", "ibstat": "ibstat", "ethtool": "ethtool", "ethtool-module": "ethtool",
	"nccl-tests": "nccl-tests", "ucx-perftest": "ucx_perftest",
	"osu": "osu", "fabtests": "fabtests", "cloudai": "cloudai", "nvbandwidth": "nvbandwidth",
	"pingpong": "ibv_rc_pingpong", "rping": "rping", "iperf2": "iperf2",
	"dmesg": "dmesg", "nvidia-smi": "nvidia-smi", "free": "free",
}

// object is what every tool's JSON has.
type object struct {
	Tool   string            `json:"tool"`
	Rows   []json.RawMessage `json:"rows"`
	Errors []string          `json:"errors"`
}

// unprinted are the values that are null where a tool does not print them: a lid, and what answered an address.
var unprinted = regexp.MustCompile(`"(?:lid|smLID|baseLID|dev|mac|test|bytes|batch|messages|seconds|rateGbps|averageUS|minUS|maxUS|rateMpps|what|` +
	`localGID|remoteGID|iterations|last|event|error|completion|state|retransmits|jitterMS|lost|datagrams|(prep|post|tx)(P99)?US)":null|null[,\]]`)

// readObject reads a text and holds the value to what is promised of every tool's.
func readObject(t *testing.T, tool parse.Tool, text string) (object, error) {
	t.Helper()
	v, err := tool.Read(text)
	b, jerr := json.Marshal(v)
	if jerr != nil {
		t.Fatalf("%s: %v", tool.Name, jerr)
	}
	var o object
	if jerr := json.Unmarshal(b, &o); jerr != nil {
		t.Fatalf("%s: %v: %s", tool.Name, jerr, b)
	}
	switch {
	case o.Tool != tool.Name:
		t.Fatalf("%s calls itself %q", tool.Name, o.Tool)
	case o.Rows == nil || o.Errors == nil:
		t.Fatalf("%s: rows or errors are null: %s", tool.Name, b)
	case err != nil && len(o.Errors) == 0:
		t.Fatalf("%s: %v, and errors is empty", tool.Name, err)
	case strings.Contains(unprinted.ReplaceAllString(string(b), ""), ":null"):
		t.Fatalf("%s: something is null: %s", tool.Name, b)
	}
	return o, err
}

func TestTools(t *testing.T) {
	var names []string
	for _, tool := range New().Tools {
		names = append(append(names, tool.Name), tool.Also...)
		if tool.Shows == "" || len(tool.Marks) == 0 {
			t.Errorf("%s has no words or no marks", tool.Name)
		}
		for _, text := range []string{
			"", "\n\n", "nothing of the kind\n",
			"\x00\xff\xfe\x80", "{", "[", "[1]", "{}", "null", strings.Repeat("[", 200000),
		} {
			if o, err := readObject(t, tool, text); err == nil || len(o.Rows) > 0 {
				t.Errorf("%s reads %.40q: %+v", tool.Name, text, o)
			}
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(names) {
		t.Errorf("a name comes twice: %v", names)
	}
	if _, ok := New().Tools.Named("ib_write_bw"); !ok {
		t.Error("ib_write_bw is perftest")
	}
	if _, ok := New().Tools.Named("lspci"); ok {
		t.Error("lspci is no tool here")
	}
}

// mixed are texts of several tools.
var mixed = []string{"ibv-devices/none", "ibv-devinfo/none", "ibv-devinfo/with-noise"}

// What is in the corpus is found to be its tool's, and never to be another's; saved
// in any other way it reads the same.
func TestDetectCorpus(t *testing.T) {
	unsure, all := 0, New().Tools
	files, err := filepath.Glob("../parse/testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	for i, file := range files {
		name, ok := folders[filepath.Base(filepath.Dir(file))]
		if !ok || slices.ContainsFunc(mixed, func(m string) bool { return file == "../parse/testdata/"+m+".txt" }) {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		tool, ok := all.Named(name)
		if !ok {
			t.Fatalf("no tool %s", name)
		}
		want, err := readObject(t, tool, text)
		names, sure := all.Detect(text)
		switch {
		case sure && names[0] != name:
			t.Errorf("%s is taken for %s", file, names[0])
		case !sure && err == nil:
			t.Errorf("%s: %v, and %s reads it", file, names, name)
		case !sure:
			unsure++
			t.Logf("%s: %v", file, names)
		}
		for how, saved := range map[string]string{
			"a BOM, colours and CRLF": "\ufeff" + strings.ReplaceAll(coloured(text), "\n", "\r\n"),
			"CR, in UTF-16":           wide(strings.ReplaceAll(text, "\n", "\r")),
		} {
			if strings.Contains(text, "\r") || len(text) > 16<<10 || i%2 != 0 && !testform.Full() {
				continue // one more of the same, and the race detector is slow
			}
			o, again := readObject(t, tool, saved)
			if (again == nil) != (err == nil) || len(o.Rows) != len(want.Rows) {
				t.Errorf("%s with %s: %v, %d rows; want %v, %d", file, how, again, len(o.Rows), err, len(want.Rows))
			}
			if got, s := all.Detect(saved); s != sure || !slices.Equal(got, names) {
				t.Errorf("%s with %s is %v, %t; want %v, %t", file, how, got, s, names, sure)
			}
		}
	}
	t.Logf("%d files without a result tell no tool", unsure)
}

func coloured(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("\x1b[1;32m\x1b]0;title\x07" + strings.TrimSuffix(line, "\n") + "\x1b[0m\x1b[K\n")
	}
	return b.String()
}

func wide(text string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// The keys that scripts rely on.
func TestFixedKeys(t *testing.T) {
	for _, c := range []struct{ tool, file, has string }{
		{
			"nixlbench", "nixlbench/shm_write.a.txt",
			"tool rank role config rows errors rows.blockBytes rows.batch rows.bandwidthGBps rows.latencyUS" +
				" rows.prepUS rows.prepP99US rows.postUS rows.postP99US rows.txUS rows.txP99US config.op_type",
		},
		{"nixlbench", "nixlbench/old-format.txt", "rank role config rows.aggregateGBps errors"},
		{"nixlbench", "nixlbench/shm_write.b.txt", "tool rank role config rows errors"},
		{
			"perftest", "perftest-bandwidth/bw_default-6.29.txt",
			"tool test device gidIndex mtu errors rows.bytes rows.iterations" +
				" rows.peakGbps rows.averageGbps rows.messageRateMpps",
		},
		{
			"perftest", "perftest-latency/lat_default-6.29.txt",
			"tool test device gidIndex mtu errors rows.bytes rows.iterations rows.minUS" +
				" rows.maxUS rows.typicalUS rows.avgUS rows.p99US rows.p999US",
		},
		{"dmesg", "dmesg/report-004.txt", "tool errors rows.time rows.kind rows.device rows.text"},
	} {
		text, err := os.ReadFile("../parse/testdata/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		tool, _ := New().Tools.Named(c.tool)
		v, err := tool.Read(string(text))
		b, jerr := json.Marshal(v)
		if err != nil || jerr != nil {
			t.Errorf("%s: %v, %v", c.file, err, jerr)
			continue
		}
		var o map[string]any
		if err := json.Unmarshal(b, &o); err != nil {
			t.Fatal(err)
		}
		for key := range strings.FieldsSeq(c.has) {
			outer, inner, nested := strings.Cut(key, ".")
			in, ok := o[outer]
			if rows, list := in.([]any); ok && nested && list {
				in, ok = rows[len(rows)-1], len(rows) > 0
			}
			if m, isMap := in.(map[string]any); nested {
				if ok = isMap; ok {
					_, ok = m[inner]
				}
			}
			if !ok {
				t.Errorf("%s has no %s: %s", c.file, key, b)
			}
		}
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"\x00\x01\x02":                   "",
		"hello\n":                        "",
		"Mem: 1\n":                       "", // too little to be sure
		"PING h (10.0.0.1) 56(84) bytes": "ping",
		"$ ib_write_bw spark-01\n" +
			"#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n": "perftest",
		"[1795219813.806736] [vm:7767 :0]     ucp_context.c:1508 UCX  WARN  x\n" +
			"Block Size (B)  Batch Size": "nixlbench",
	} {
		names, sure := New().Tools.Detect(text)
		if got := strings.Join(names[:min(1, len(names))], ""); sure != (want != "") || sure && got != want {
			t.Errorf("%q: %v, %t", text, names, sure)
		}
	}
	// Two tools' output in one text: both are named.
	b, err := os.ReadFile("../parse/testdata/verbs-devices/two.txt")
	if err != nil {
		t.Fatal(err)
	}
	if names, sure := New().Tools.Detect(string(b)); sure || len(names) != 2 {
		t.Errorf("%v, %t", names, sure)
	}
}

// Every tool answers to anything, as promised; so does the guess.
func FuzzTools(f *testing.F) {
	files, _ := filepath.Glob("../parse/testdata/*/*.txt")
	all := New().Tools
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		i := slices.IndexFunc(all, func(t parse.Tool) bool { return t.Name == folders[filepath.Base(filepath.Dir(file))] })
		f.Add(uint8(max(0, i)), string(b))
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		tool := all[int(which)%len(all)]
		o, err := readObject(t, tool, text)
		if err == nil && len(o.Rows) == 0 && tool.Name == "perftest" {
			t.Fatal("no error and no row")
		}
		if names, sure := all.Detect(text); sure && len(names) == 0 {
			t.Fatal("sure of nothing")
		}
	})
}
