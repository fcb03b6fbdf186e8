package main

import (
	"fmt"
	"strings"
	"testing"
)

// Every status that a command may end with stands in the man page.
func TestManualHasEveryStatus(t *testing.T) {
	page, err := manual(commands(false), thisEdition())
	if err != nil {
		t.Fatal(err)
	}
	_, end, found := strings.Cut(page, ".SH EXIT STATUS\n")
	if !found {
		t.Fatal("the man page has no exit statuses")
	}
	statuses, _, _ := strings.Cut(end, ".SH ")
	for code := exitOK; code <= exitUnwritten; code++ {
		if !strings.Contains("\n"+statuses, fmt.Sprintf("\n%d  ", code)) {
			t.Errorf("status %d is not told:\n%s", code, statuses)
		}
	}
}
