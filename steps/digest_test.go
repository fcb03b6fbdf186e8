package steps

import (
	"fmt"
	"testing"
)

// What decided stands first, and what several rails have is a row each, or one row where all have the same.
func TestDigest(t *testing.T) {
	least := 90.0
	v := Verdict{
		Reason:   "Rail 2 is slow. And 1 more finding.",
		Findings: []Found{{Grade: Fail, Text: "Rail 2 is slow."}, {Grade: Warn, Text: "It is hot."}},
		Evidence: []Evidence{
			{Name: "hint", Value: "x"},
			{Name: "rail 1 messages", Of: "rail 1", Value: 5},
			{Name: "rail 2 messages", Of: "rail 2", Value: 5},
			{Name: "rail 1 rate", Of: "rail 1", Value: 92.5, Unit: "Gb/s", Expected: &Expected{Min: &least, From: "a source"}},
			{Name: "rail 2 rate", Of: "rail 2", Value: 12.5, Unit: "Gb/s", Expected: &Expected{Min: &least, From: "a source"}},
			{Name: "rail 2 crc", Of: "rail 2", Value: 7, Decisive: true},
			{Name: DecidedName, Value: "the figure: rate, crc"},
		},
	}
	d := v.Digest()
	var names []string
	for _, e := range d.Decided {
		names = append(names, e.Name)
	}
	if got := fmt.Sprint(names); got != "[WARN decided by rail 2 crc]" {
		t.Error(got)
	}
	if len(d.Rest) != 1 || d.Rest[0].Name != "hint" {
		t.Error(d.Rest)
	}
	table, ok := d.Table(func(e Evidence) string { return fmt.Sprint(e.Value) },
		func(e Evidence) string { return fmt.Sprint("at least ", *e.Expected.Min) })
	want := "[[rate rail 1 92.5 at least 90] [ rail 2 12.5 at least 90] [messages each of 2 5 ]]"
	if got := fmt.Sprint(table.Rows); !ok || got != want || table.Note != "rate: a source." {
		t.Errorf("%s\n%s", got, table.Note)
	}
}
