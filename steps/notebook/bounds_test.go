package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/railbench/railbench/steps"
)

// foreign is a session with cells of another user's in front, each with metadata of its own.
func foreign(t *testing.T, cells int, metadata string) []byte {
	t.Helper()
	file, _ := lengthened(t, func(map[string]any) {})
	one := fmt.Sprintf(`{"cell_type": "markdown", "id": "x", "metadata": {"theirs": %s}, "source": []},`, metadata)
	return bytes.Replace(file, []byte(`"cells": [`), []byte(`"cells": [`+strings.Repeat(one, cells)), 1)
}

// Cells of another user's are written as they came, so that no small file becomes a long one.
func TestForeignCellsStayAsTheyCame(t *testing.T) {
	deep := strings.Repeat("[", 90) + strings.Repeat("[],", 10_000) + "1" + strings.Repeat("]", 90)
	for name, metadata := range map[string]string{
		"deep": deep, "indented": "{\n   \"a\": [\n    1\n   ]\n  }", "other line ends": "{\r\n\t\"a\": \"b\\r\"\r\n}",
		"hidden": "\"\u202e\"", "a text with brackets": `"[[[[\"{{{{\\"`,
	} {
		file := foreign(t, 3, metadata)
		d, err := Decode(file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		once := encoded(t, d)
		if len(once) > len(file)+100 {
			t.Errorf("%s: of %d bytes %d were made", name, len(file), len(once))
		}
		if d, err = Decode(once); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if twice := encoded(t, d); !bytes.Equal(once, twice) {
			t.Errorf("%s: saved again it is another file", name)
		}
		var was, is struct {
			Cells []struct{ Metadata map[string]any }
		}
		if json.Unmarshal(file, &was) != nil || json.Unmarshal(once, &is) != nil ||
			fmt.Sprint(was.Cells[0].Metadata) != fmt.Sprint(is.Cells[0].Metadata) {
			t.Errorf("%s: it means something else", name)
		}
	}
}

// What lies too deep in itself is refused when it is opened, wherever it is.
func TestSessionsThatAreTooDeep(t *testing.T) {
	deep := strings.Repeat("[", ofSession.levels) + strings.Repeat("]", ofSession.levels)
	file, _ := lengthened(t, func(map[string]any) {})
	for name, bad := range map[string][]byte{
		"a cell of somebody else's": foreign(t, 1, deep),
		"one of ours":               bytes.Replace(file, []byte(`"metadata": {`), []byte(`"metadata": {"x": `+deep+`,`), 2),
		"the metadata":              bytes.Replace(file, []byte(`"metadata": {`), []byte(`"metadata": {"x": `+deep+`,`), 1),
		"evidence": bytes.Replace(file, []byte(`"reason": "Fine."`),
			[]byte(`"reason": "", "advice": [{"x": `+deep+`}]`), 1),
	} {
		if bytes.Equal(bad, file) {
			t.Fatalf("%s: nothing was changed", name)
		}
		if _, err := Decode(bad); err == nil || !strings.Contains(err.Error(), "levels of objects and lists") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A session of another user's is refused where it could be saved but not opened again, and stays as it is.
func TestWhatIsSavedCanBeOpened(t *testing.T) {
	var part []steps.Cell
	for i := range 10 {
		id := fmt.Sprint("more-", i)
		part = append(part, steps.Cell{ID: id, Part: "more", Title: id, Roles: []steps.Role{{Script: "hostname\n"}}})
	}
	tutorial := steps.Tutorial{Title: "t", Parts: []steps.Part{{ID: "more", Title: "more", Cells: part}}}
	for name, file := range map[string][]byte{
		"cells":      foreign(t, ofSession.cells-30, "1"),
		"characters": foreign(t, 1, `"`+strings.Repeat("\u202e", ofSession.own/6)+`"`),
	} {
		path := filepath.Join(t.TempDir(), "s.ipynb")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, tutorial, Options{})
		if err == nil {
			err = s.Close()
			if err == nil {
				_, err = Read(path)
			}
		}
		left, readErr := os.ReadFile(path)
		if err == nil || readErr != nil || !bytes.Equal(left, file) {
			t.Errorf("%s: %v; the file has %d bytes and had %d, %v", name, err, len(left), len(file), readErr)
		}
	}
	d := New("v1", tutorial, began)
	d.strange = make([]stranger, ofSession.cells)
	for i := range d.strange {
		d.strange[i].raw = json.RawMessage(`{"cell_type":"markdown","metadata":{},"source":""}`)
	}
	if _, err := d.Encode(began); !errors.Is(err, errUnreadable) {
		t.Errorf("%d cells: %v", len(d.strange), err)
	}
}

// Tables, charts and names of an altered session make no long text of a short one.
func TestAlteredTablesAreBounded(t *testing.T) {
	table := func(columns, rows int, first string) steps.Table {
		t := steps.Table{Columns: make([]steps.Column, columns), Rows: make([][]string, rows)}
		for i := range t.Rows {
			t.Rows[i] = []string{"x"}
		}
		t.Rows[0][0] = first
		return t
	}
	if text := tableText(table(1, 100_000, strings.Repeat("x", 10_000))); len(text) > 1<<20 {
		t.Errorf("a table of 210,000 characters is set in %d", len(text))
	}
	d := New("v1", steps.Tutorial{}, began)
	points := []steps.Series{{Points: make([]steps.Point, ofSession.values)}}
	bad := map[string]steps.Verdict{
		"columns and rows": {Tables: []steps.Table{table(10_000, 1000, "x")}},
		"points":           {Charts: []steps.Chart{{Series: points}}},
		"evidence":         {Evidence: make([]steps.Evidence, ofSession.values+1)},
	}
	for name, v := range bad {
		d.Book.Put("cell", steps.CellState{Run: 1, Verdict: v})
		if _, err := d.Encode(began); !errors.Is(err, errUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := strings.Repeat("x", ofSession.name+1)
	file, _ := lengthened(t, func(map[string]any) {})
	altered := bytes.Replace(file, []byte(`"title": "cell-0"`), []byte(`"title": "`+long+`"`), 1)
	if _, err := Decode(altered); err == nil || !strings.Contains(err.Error(), "a name of") {
		t.Errorf("a long title: %v", err)
	}
}

// A value has at most so many blanks as it has text, several times.
func TestIndented(t *testing.T) {
	var nested any = []int{}
	for range 90 {
		nested = []any{nested}
	}
	var many []any
	for range 1000 {
		many = append(many, nested)
	}
	for name, v := range map[string]any{"few": map[string]any{"a": []int{1, 2}, "b": "x,[{"}, "many": many} {
		plain, err := marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b, err := indented(v, "  ")
		var back bytes.Buffer
		if err == nil {
			err = json.Compact(&back, b)
		}
		if err != nil || len(b) > (1+mostIndented)*len(plain) || !bytes.Equal(back.Bytes(), plain) {
			t.Errorf("%s: %d bytes, and %d without blanks, %v", name, len(b), len(plain), err)
		}
		if name == "few" && string(b) != "{\n   \"a\": [\n    1,\n    2\n   ],\n   \"b\": \"x,[{\"\n  }" {
			t.Errorf("%s", b)
		}
	}
}

// A journal that grows because the file can't be written is never longer than what is read of one.
func TestJournalsCanBeRead(t *testing.T) {
	s := opened(t, sessionPath(t))
	s.replace = func(string, []byte) error { return syscall.ENOSPC }
	event := []steps.Event{steps.CellStarted{Run: 1, Cell: "bw", At: began}}
	s.size = recordLimit - 10
	if err := s.Record(event); err == nil || !s.behind {
		t.Errorf("it is written beyond what can be read: %v", err)
	}
	if info, err := s.journal.Stat(); err != nil || info.Size() > 10_000 {
		t.Errorf("%v, %v", info.Size(), err)
	}
	s.replace = replace
	if err := s.Record(event); err != nil {
		t.Error(err)
	}
}

// Nothing that a cell or the metadata may have many of makes much memory of two bytes each.
func TestSessionsOfManyParts(t *testing.T) {
	file, _ := lengthened(t, func(map[string]any) {})
	many := strings.Repeat("{},", ofSession.parts) + "{}"
	for name, c := range map[string][2]string{
		"outputs":   {`"outputs": [`, `"outputs": [` + many + `,`},
		"roles":     {`"roles": [`, `"roles": [` + many + `,`},
		"evidence":  {`"reason": "Fine."`, `"reason": "", "advice": [` + many + `]`},
		"rigs":      {`"journal": `, `"rigs": [` + many + `], "journal": `},
		"a source":  {`"source": [`, `"source": [` + strings.Repeat(`"",`, ofSession.items+1)},
		"all cells": {`"cells": [`, `"cells": [` + strings.Repeat(`{"x": [`+strings.Repeat("{},", ofSession.parts/2)+`1]},`, 9)},
	} {
		bad := bytes.Replace(file, []byte(c[0]), []byte(c[1]), 1)
		if _, err := Decode(bad); err == nil || !strings.Contains(err.Error(), "too many objects") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An empty line of an output takes a hundred times its bytes in the file. Of many no more is held than
// is kept of a run.
func TestManyLinesCanBeOpened(t *testing.T) {
	const many = 200_000
	for name, text := range map[string]any{
		"a text": strings.Repeat("\n", many), "a list": slices.Repeat([]any{"\n", nil}, many),
	} {
		_, long := lengthened(t, func(cell map[string]any) {
			cell["outputs"] = []any{map[string]any{"output_type": "stream", "name": "stdout", "text": text}}
		})
		d, err := Decode(long)
		if err != nil {
			t.Fatal(err)
		}
		for id, s := range d.Book.Cells {
			if n := s.Output.Len(); n+s.Output.Dropped() != many || n > steps.KeepLines+linesAtOnce {
				t.Errorf("%s: %s has %d lines and %d before", name, id, n, s.Output.Dropped())
			}
		}
	}
}

// A rate that no link has is not a reason to lose a session.
func TestRatesCanBeOpened(t *testing.T) {
	for _, v := range []float64{1e308, -1e308, math.MaxFloat64, math.Inf(1), math.NaN(), 0} {
		if b, err := json.Marshal(Rates{v, 1.0004}); err != nil || !strings.HasSuffix(string(b), ",1]") {
			t.Errorf("%g: %s, %v", v, b, err)
		}
	}
}
