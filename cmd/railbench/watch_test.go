package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps/metrics"
)

const monitoring = "../../assets/monitoring/"

// watching is railbench watch on the simulated rig: the lines that it says, and what ends it.
func watching(t *testing.T, args ...string) (lines *bufio.Scanner, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said, out := io.Pipe()
	cmd := rootCommand()
	cmd.SetArgs(append([]string{"watch", "--rig", "sim", "--every", "1s"}, args...))
	cmd.SetIn(strings.NewReader(""))
	cmd.SetOut(out)
	cmd.SetErr(io.Discard)
	done := make(chan error, 1)
	go func() {
		done <- cmd.ExecuteContext(ctx)
		out.Close()
	}()
	return bufio.NewScanner(said), func() error {
		cancel()
		_, _ = io.Copy(io.Discard, said)
		return <-done
	}
}

// drain reads what nobody asks for: else who says it would wait.
func drain(lines *bufio.Scanner) {
	for lines.Scan() {
		continue
	}
}

// What is wrong is told, once; what is right is not; and the history has a line a node.
func TestWatch(t *testing.T) {
	t.Parallel()
	history := filepath.Join(t.TempDir(), "history.jsonl")
	lines, end := watching(t, "--history", history, "--speed", "max", "--fault", "mtu-mismatch")
	for lines.Scan() && !strings.Contains(lines.Text(), "mtu-equal") {
		continue
	}
	if !regexp.MustCompile(`^\S+Z SIMULATED ALARM FAIL mtu-equal.*: enp1s0f0np0 has an MTU`).MatchString(lines.Text()) {
		t.Errorf("it said %q", lines.Text())
	}
	go drain(lines)
	nodes := map[string]metrics.Line{}
	rated := func() bool { return nodes["spark-01"].Rails["rocep1s0f0"].TxGbps != nil }
	for len(nodes) < 2 || !rated() {
		b, err := os.ReadFile(history)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			var l metrics.Line
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				continue // it is being written
			}
			nodes[l.Node] = l
		}
		select {
		case <-t.Context().Done():
			t.Fatal("no history came")
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if l := nodes["spark-01"]; len(l.Rails) != 4 || l.Rails["rocep1s0f0"].Celsius == nil {
		t.Errorf("%+v", l)
	}
}

// What each sample tells is told at once, and not again by the check that finds the same.
func TestWatchTellsHeat(t *testing.T) {
	t.Parallel()
	lines, end := watching(t, "--history", filepath.Join(t.TempDir(), "history.jsonl"), "--speed", "max",
		"--fault", "hot-adapter", "--fault", "pcie-x2", "--fault", "mtu-mismatch")
	var said []string
	for lines.Scan() {
		if said = append(said, lines.Text()); strings.Contains(lines.Text(), "mtu-equal") {
			break
		}
	}
	go drain(lines)
	if err := end(); err != nil {
		t.Error(err)
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{
		`SIMULATED ALARM FAIL adapter-temperature on spark-01: the adapter is at 10[45] °C`,
		`SIMULATED ALARM WARN pcie-link on spark-01: .*came up as PCIe Gen5 x2`,
	} {
		if n := len(regexp.MustCompile(want).FindAllString(all, -1)); n != 1 {
			t.Errorf("%q is told %d times:\n%s", want, n, all)
		}
	}
	for _, id := range []string{" adapter-temperature ", " pcie-link "} {
		if n := strings.Count(all, id); n != 1 {
			t.Errorf("%s stands in %d lines:\n%s", id, n, all)
		}
	}
}

func TestWatchUsage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitUsage, []string{"--every", "10ms"}},
		{exitUsage, []string{"--check", "-1s"}},
		{exitUsage, []string{"--token-file", "x"}},
		{exitUsage, []string{"--listen", "nowhere"}},
		{exitUsage, []string{"gids"}},
		{exitUnwritten, []string{"--history", link}},
		{exitUnwritten, []string{"--history", filepath.Join(dir, "no", "folder")}},
	} {
		var out, errs bytes.Buffer
		if code := Main(append([]string{"watch", "--rig", "sim"}, c.args...), strings.NewReader(""), &out,
			&errs); code != c.code || errs.Len() == 0 {
			t.Errorf("%v: exit status %d: %s", c.args, code, errs.String())
		}
	}
}

// expressions are what the dashboard and the alerts ask Prometheus for, with the dashboard's
// variables filled in.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	b, err := os.ReadFile(monitoring + "grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &dashboard); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$instance", ".*", "$node", ".*", "$__rate_interval", "1m")
	for _, p := range dashboard.Panels {
		if p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, fill.Replace(target.Expr))
		}
	}
	rules, err := os.ReadFile(monitoring + "railbench-rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllStringSubmatch(string(rules), -1) {
		all = append(all, m[1])
	}
	if len(all) < 15 {
		t.Errorf("only %d expressions were found", len(all))
	}
	return all
}

// Every metric that the dashboard and the alerts name is told.
func TestDashboardNamesWhatIsTold(t *testing.T) {
	t.Parallel()
	lines, end := watching(t, "--fault", "hot-adapter", "--listen", "127.0.0.1:0", "--history",
		filepath.Join(t.TempDir(), "h"))
	if !lines.Scan() {
		t.Fatal("it did not say where it is")
	}
	address := lines.Text()
	go drain(lines)
	event(t, address+"events", `"grade":"PASS"`)
	event(t, address+"events", `"alarms":[{`) // heat is looked for beside the checks
	answer, err := http.Get(address + "metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.Header.Get("Content-Type") != metrics.ContentType {
		t.Fatalf("%v, %v", err, answer.Header)
	}
	names := regexp.MustCompile(`\b(?:node|railbench)_[a-z_]+\b`)
	for _, e := range expressions(t) {
		for _, name := range names.FindAllString(e, -1) {
			if !bytes.Contains(text, []byte("\n"+name+"{")) && !bytes.Contains(text, []byte("\n"+name+" ")) {
				t.Errorf("%s: there is no %s", e, name)
			}
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// A real Prometheus reads it as OpenMetrics, answers what the dashboard asks, and takes the
// configuration and the rules that come with railbench.
func TestPrometheusScrapes(t *testing.T) {
	t.Parallel()
	prometheus, promtool := testform.Tool(t, "prometheus"), testform.Tool(t, "promtool")
	for _, check := range [][]string{
		{"check", "config", monitoring + "prometheus.yml"},
		{"check", "rules", monitoring + "railbench-rules.yml"},
	} {
		if out, err := exec.Command(promtool, check...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v: %s", check, err, out)
		}
	}
	lines, end := watching(t, "--listen", "127.0.0.1:0", "--history", filepath.Join(t.TempDir(), "h"))
	if !lines.Scan() {
		t.Fatal("it did not say where it is")
	}
	address, err := url.Parse(lines.Text())
	if err != nil {
		t.Fatal(err)
	}
	go drain(lines)
	event(t, address.String()+"events", `"grade":"PASS"`)
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("scrape_configs:\n- job_name: railbench\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\n"+
		"  static_configs: [{targets: [%q]}]\n", address.Host)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, prometheus, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+at, "--log.level=error")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	ask := func(expr string) (results int, err error) {
		answer, err := http.Get("http://" + at + "/api/v1/query?query=" + url.QueryEscape(expr))
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		var v struct {
			Status, Error string
			Data          struct{ Result []json.RawMessage }
		}
		if err := json.NewDecoder(answer.Body).Decode(&v); err != nil {
			return 0, err
		}
		if v.Status != "success" {
			return 0, fmt.Errorf("%s: %s", expr, v.Error)
		}
		return len(v.Data.Result), nil
	}
	// Two scrapes make a rate.
	for {
		if n, err := ask(`rate(node_infiniband_port_data_transmitted_bytes_total[1m])`); err == nil && n == 8 {
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("it scraped nothing: %s", said.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	for _, expr := range expressions(t) {
		n, err := ask(expr)
		if err != nil {
			t.Error(err)
		}
		// Nothing is wrong here that an alert could tell.
		if alert := strings.Contains(expr, "=="); n == 0 && !alert && !strings.Contains(expr, ">=") {
			t.Errorf("%s: nothing is there", expr)
		}
	}
	if n, err := ask(`up == 1`); n != 1 || err != nil {
		t.Errorf("%d targets are up: %v", n, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
