package notebook

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/testform"
	"github.com/railbench/railbench/steps"
)

// takenBySchema has xmllint look at a file of JUnit.
func takenBySchema(t *testing.T, path string) {
	t.Helper()
	lint := testform.Tool(t, "xmllint")
	if out, err := exec.Command(lint, "--noout", "--schema", "testdata/junit.xsd", path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func readJUnit(t *testing.T, path string) junitSuites {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all junitSuites
	if err := xml.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// evidenceLine stands for the screen's.
func evidenceLine(e steps.Evidence) string {
	text := fmt.Sprintf("%s: %v %s, expected ", e.Name, e.Value, e.Unit)
	if e.Expected.Min != nil {
		text += fmt.Sprintf("at least %v ", *e.Expected.Min)
	}
	return text + e.Expected.From
}

// Each grade is what a CI shows of it, and only what is wrong is counted as that.
func TestJUnitOutcomes(t *testing.T) {
	t.Parallel()
	grades := map[string]steps.Grade{
		"passes": steps.Pass, "warns": steps.Warn, "fails": steps.Fail, "unknown": steps.Inconclusive,
		"skipped": steps.Skipped, "never": steps.NotRun,
	}
	var all []steps.Cell
	ended := map[string]steps.CellEnded{}
	for _, id := range []string{"passes", "warns", "fails", "unknown", "skipped", "never"} {
		all = append(all, steps.Cell{ID: id, Part: "part"})
		lowest := 90.0
		ended[id] = steps.CellEnded{Cell: id, Elapsed: 1500 * time.Millisecond, Verdict: steps.Verdict{
			Grade: grades[id], Reason: "Because of " + id + ".", Node: "spark-01",
			Evidence: []steps.Evidence{{
				Name: "bandwidth", Value: 92.5, Unit: "Gb/s",
				Expected: &steps.Expected{Min: &lowest, From: "a test"},
			}},
		}}
	}
	delete(ended, "never")
	path := filepath.Join(t.TempDir(), "out.xml")
	if err := (Results{
		Rig: steps.Rig{Name: "sim", Simulated: true}, Cells: all, Ended: ended, Evidence: evidenceLine,
	}).WriteJUnit(path); err != nil {
		t.Fatal(err)
	}
	takenBySchema(t, path)
	got := readJUnit(t, path)
	if got.Tests != 6 || got.Failures != 1 || got.Errors != 2 || got.Time != "7.500" ||
		!strings.HasSuffix(got.Name, "SIMULATED") {
		t.Errorf("%+v", got)
	}
	if len(got.Suites) != 1 || got.Suites[0].Skipped != 1 || got.Suites[0].Tests != 6 {
		t.Fatalf("%+v", got.Suites)
	}
	for _, c := range got.Suites[0].Cases {
		g := grades[c.Name]
		for outcome, has := range map[string]bool{
			"failure": (c.Failure != nil) == (g == steps.Fail),
			"error":   (c.Error != nil) == (g == steps.Inconclusive || g == steps.NotRun),
			"skipped": (c.Skipped != nil) == (g == steps.Skipped),
			"output":  (c.Out != nil) == (g == steps.Pass || g == steps.Warn),
		} {
			if !has {
				t.Errorf("%s: the %s is wrong", c.Name, outcome)
			}
		}
		if g == steps.Warn && !strings.Contains(c.Out.Text, "WARN: Because of warns.") {
			t.Errorf("a warning says %q", c.Out.Text)
		}
		if g == steps.Fail && (c.Failure.Message != "Because of fails." ||
			!strings.Contains(c.Failure.Text, "on spark-01\nbandwidth: 92.5 Gb/s, expected at least 90")) {
			t.Errorf("a failure says %+v", c.Failure)
		}
		if c.Class != "SIMULATED.part" {
			t.Errorf("the class is %q", c.Class)
		}
	}
}

// What XML can't hold, and what would control a terminal or a page that shows it, is
// made visible: the text comes from nodes.
func TestJUnitIsClean(t *testing.T) {
	t.Parallel()
	const text = "a\x00\x1b]0;owned\x07\u009b31m\u202e\ufffe\uffff\xff]]></testcase><x y=\"'&\n\tz"
	var all []steps.Cell
	ended := map[string]steps.CellEnded{}
	for g := steps.NotRun; g <= steps.Fail; g++ {
		id := text + g.String()
		all = append(all, steps.Cell{ID: id, Part: text})
		ended[id] = steps.CellEnded{Verdict: steps.Verdict{
			Grade: g, Reason: text, Node: text,
			Evidence: []steps.Evidence{{Name: text, Value: text, Unit: text, Expected: &steps.Expected{From: text}}},
		}}
	}
	rig := steps.Rig{Name: text, Nodes: []steps.Node{{Name: text, OS: text, Kernel: text}}}
	path := filepath.Join(t.TempDir(), "out.xml")
	results := Results{Program: text, Rig: rig, Cells: all, Ended: ended, Evidence: evidenceLine}
	if err := results.WriteJUnit(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.IndexFunc(b, runner.Hidden); i >= 0 {
		t.Errorf("it has %q", b[i:min(len(b), i+20)])
	}
	dec := xml.NewDecoder(bytes.NewReader(b))
	cases := 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if ok && e.Name.Local == "x" {
			t.Error("a text became an element")
		}
		if ok && e.Name.Local == "testcase" {
			cases++
		}
		for _, a := range e.Attr {
			if i := strings.IndexFunc(a.Value, runner.Hidden); i >= 0 || strings.ContainsAny(a.Value, "\n\t") {
				t.Errorf("%s is %q", a.Name.Local, a.Value)
			}
		}
	}
	if cases != len(all) {
		t.Errorf("%d cases, want %d", cases, len(all))
	}
	takenBySchema(t, path)
}
