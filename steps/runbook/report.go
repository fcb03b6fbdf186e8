package runbook

import (
	"fmt"
	"io"

	"github.com/railbench/railbench/steps/sanitize"
)

type problemObject struct {
	File     string `json:"file"`
	Line     int    `json:"line"`   // 0 where it is about the whole file
	Column   int    `json:"column"` // in bytes; 0 where it is about the whole line
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

// A Report is what --json prints of documents; scripts rely on its keys.
type Report struct {
	Railbench string          `json:"railbench"`
	Files     []checkedFile   `json:"files"`
	Problems  []problemObject `json:"problems"`
	Errors    int             `json:"errors"`
	Warnings  int             `json:"warnings"`
}

type checkedFile struct {
	File  string `json:"file"`
	Part  string `json:"part"`
	Cells int    `json:"cells"`
}

// Checked reports the problems of documents.
func Checked(program string, docs []Document, problems []Problem) Report {
	r := Report{
		Railbench: program, Files: []checkedFile{}, Problems: []problemObject{}, Errors: len(Errors(problems)),
	}
	r.Warnings = len(problems) - r.Errors
	for _, d := range docs {
		r.Files = append(r.Files, checkedFile{d.Name, d.Part.ID, len(d.Part.Cells)})
	}
	for _, p := range problems {
		severity := "error"
		if p.Warning {
			severity = "warning"
		}
		r.Problems = append(r.Problems, problemObject{p.File, p.Line, p.Column, severity, p.Text})
	}
	return r
}

// Print writes the problems of documents as lines.
func Print(out io.Writer, docs []Document, problems []Problem) error {
	for _, p := range problems {
		if _, err := sanitize.Fprintln(out, p.Error()); err != nil {
			return err
		}
	}
	r := Checked("", docs, problems)
	cells := 0
	for _, f := range r.Files {
		cells += f.Cells
	}
	_, err := sanitize.Fprintf(out, "%s in %s: %s, %s\n",
		count(cells, "cell"), count(len(docs), "file"), count(r.Errors, "error"), count(r.Warnings, "warning"))
	return err
}

// count is a number with its noun.
func count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
