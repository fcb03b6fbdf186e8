package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/steps"
)

// few are bounds that a test comes to at once.
var few = bounds{
	cell: 64 << 10, held: 16 << 10, own: 128 << 10, cells: 50, levels: 20, values: 1000, name: 1000,
	parts: 10_000, all: 100_000, items: 100_000,
}

// A session that is longer than what is held at once is read twice, and is the same.
func TestLongSession(t *testing.T) {
	_, long := lengthened(t, func(c map[string]any) {
		text := slices.Repeat([]string{strings.Repeat("x", 99) + "\n"}, 100)
		c["outputs"] = []any{map[string]any{"output_type": "stream", "name": "stdout", "text": text}}
	})
	if len(long) < 4*few.held {
		t.Fatalf("%d bytes are not long", len(long))
	}
	for name, file := range map[string][]byte{"whole": long, "cut short": long[:len(long)*3/4]} {
		want, whole := Decode(file)
		d, err := decode(bytes.NewReader(file), few)
		if fmt.Sprint(err) != fmt.Sprint(whole) || (whole == nil) != (name == "whole") {
			t.Errorf("%s: %v, and at once %v", name, err, whole)
		}
		if damaged, ok := errors.AsType[*Damaged](whole); ok {
			want = damaged.Found
			if again, ok := errors.AsType[*Damaged](err); ok {
				d = again.Found
			}
		}
		if d == nil || !bytes.Equal(encoded(t, d), encoded(t, want)) || len(d.Book.Cells) < 4 {
			t.Errorf("%s: read twice, it is another session", name)
		}
	}
}

// Of a file that is JSON and no notebook any more all cells are found, wherever it is wrong.
func TestOddValues(t *testing.T) {
	file, _ := lengthened(t, func(map[string]any) {})
	for want, bad := range map[string][]byte{
		"there is more behind its end": append(bytes.Clone(file), "{}"...),
		"cannot unmarshal string":      bytes.Replace(file, []byte(`"nbformat": 4`), []byte(`"nbformat": "4"`), 1),
		"invalid character 'x'":        append(bytes.Clone(file), 'x'),
	} {
		_, err := Decode(bad)
		d, ok := errors.AsType[*Damaged](err)
		if !ok || len(d.Found.Book.Cells) != 8 || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// What no session of railbench's has is refused: a long cell, many cells, much next to the outputs.
func TestSessionsThatAreTooMuch(t *testing.T) {
	for want, change := range map[string]func(map[string]any) []any{
		"a part of it is longer than 65536 bytes": func(c map[string]any) []any {
			c["source"] = strings.Repeat("x", 3*few.cell)
			return []any{c}
		},
		"more than 50 cells": func(c map[string]any) []any { return slices.Repeat([]any{c}, few.cells+1) },
		"beside the outputs it has more than 131072 bytes": func(c map[string]any) (all []any) {
			for i := range 9 {
				one := maps.Clone(c)
				one["source"], one["id"] = strings.Repeat("x", few.own/8), fmt.Sprint("c", i)
				all = append(all, one)
			}
			return all
		},
	} {
		var s map[string]any
		file, _ := lengthened(t, func(map[string]any) {})
		if err := json.Unmarshal(file, &s); err != nil {
			t.Fatal(err)
		}
		cells, _ := s["cells"].([]any)
		cell, _ := cells[0].(map[string]any)
		s["cells"] = change(cell)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(bytes.NewReader(text), few); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// lengthened is a session of eight cells that ran, and the same with its code cells changed.
func lengthened(t *testing.T, change func(map[string]any)) (file, long []byte) {
	t.Helper()
	var cells []steps.Cell
	var events []steps.Event
	for i := range 8 {
		id := fmt.Sprint("cell-", i)
		cells = append(cells, steps.Cell{ID: id, Part: "p", Title: id, Roles: []steps.Role{{Script: "hostname\n"}}})
		run := steps.RunID(i + 1)
		events = append(events, steps.CellStarted{Run: run, Cell: id, At: began},
			steps.CellEnded{Run: run, Cell: id, Verdict: steps.Verdict{Grade: steps.Pass, Reason: "Fine."}})
	}
	d := New("v1", steps.Tutorial{Title: "t", Parts: []steps.Part{{ID: "p", Title: "p", Cells: cells}}}, began)
	for _, e := range events {
		d.seq++
		d.Apply(e)
	}
	file = encoded(t, d)
	var s map[string]any
	if err := json.Unmarshal(file, &s); err != nil {
		t.Fatal(err)
	}
	all, _ := s["cells"].([]any)
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && c["cell_type"] == "code" {
			change(c)
		}
	}
	long, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return file, long
}
