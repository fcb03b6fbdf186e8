package linux

import (
	"io/fs"
	"strings"
	"text/template"

	"github.com/railbench/railbench/runner/sim/host"
)

// inputs calls f with the text of each file, or of stdin where there is none. One that can't be
// read makes the status 1, and the others are read all the same.
func inputs(c *host.Call, files []string, f func(name, text string)) int {
	code := 0
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		text, err := c.Read(name)
		if err != nil {
			code = c.Fail(1, "%s: %s: %s", c.Program(), name, host.ErrorText(err))
			continue
		}
		f(name, text)
	}
	return code
}

// splitLines is a text's lines, of which the last may have no end.
// An empty text has no line, where strings.Split would make one of it.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// PrintTemplate is a text that a program prints at length: a file of its folder, a template where values stand
// between.
func PrintTemplate(files fs.FS, name string, values any) string {
	var b strings.Builder
	if err := template.Must(template.ParseFS(files, name)).Execute(&b, values); err != nil {
		panic(err) // the file and its values are ours
	}
	return b.String()
}
