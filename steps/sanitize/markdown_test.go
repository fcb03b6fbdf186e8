package sanitize_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"

	"github.com/railbench/railbench/steps/sanitize"
)

// What takes long to set is set as it is written, whatever it is made of.
func TestMarkdown(t *testing.T) {
	const size = 600_000
	for name, c := range map[string]struct {
		text  string
		plain bool
	}{
		"prose":              {"# A\n\nText with a [link](x), *stress* and `code`.\n\n> > A quote.\n", false},
		"many paragraphs":    {strings.Repeat("A [link](x).\n\n", 5000), false},
		"long":               {strings.Repeat("word ", size/5), true},
		"links begun":        {strings.Repeat("![a](", 20_000), true},
		"links by name":      {strings.Repeat("[a][b", 20_000), true},
		"links over lines":   {strings.Repeat("[a](\n", 20_000), true},
		"links in a quote":   {strings.Repeat("> ![a](\n", 20_000), true},
		"quotes":             {strings.Repeat(">", 100_000) + "x", true},
		"quotes with blanks": {strings.Repeat("> ", 50_000) + "x", true},
		"brackets":           {strings.Repeat("[", 200_000), false},
		"stress":             {strings.Repeat("_a*", 60_000), true},
		"some stress":        {strings.Repeat(strings.Repeat("*a* _b_ ", 100)+"\n\n", 100), false},
		"lists":              {strings.Repeat("- ", 100_000) + "x", true},
		"numbered lists":     {strings.Repeat("1.\t", 60_000) + "x", true},
		"quotes and lists":   {strings.Repeat("> - ", 2000) + "x", true},
		"rules":              {strings.Repeat(strings.Repeat("-", 100)+"\n\n", 1000), false},
		"names of links":     {strings.Repeat("[a]: b\n", 30_000), true},
		"a long address": {
			"[x]: /" + strings.Repeat("u", 100_000) + "\n\n" + strings.Repeat("[x] ", 5000), true,
		},
		"a long address below": {
			"> - [x]:\n> /" + strings.Repeat("u", 100_000) + "\n\n" + strings.Repeat("[x] ", 5000), true,
		},
		"addresses": {
			strings.Repeat("A [link] and [another][link].\n\n", 500) + "[link]: https://example.com/" +
				strings.Repeat("u", 100) + "\n", false,
		},
		"code": {strings.Repeat("` `` ", 40_000), false},
		"a table": {strings.Repeat("|a", 500) + "|\n" + strings.Repeat("|-", 500) + "|\n" +
			strings.Repeat("|a|b\n", 2000), true},
		"a whole table": {strings.Repeat(strings.Repeat("|a", 50)+"|\n"+strings.Repeat("|-", 50)+"|\n"+
			strings.Repeat(strings.Repeat("|a", 50)+"|\n", 20)+"\n", 50), false},
	} {
		got := sanitize.Markdown(c.text)
		if (got != c.text) != c.plain {
			t.Errorf("%s: as it is written: %v", name, got != c.text)
		}
		if want := "\n    " + strings.ReplaceAll(c.text, "\n", "\n    "); c.plain && got != want {
			t.Errorf("%s: it is another text", name)
		}
		// Without the limits some of these take minutes: the test's own limit ends it.
		began := time.Now()
		var out strings.Builder
		if err := goldmark.Convert([]byte(got), &out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s took %s and has %d KB", name, time.Since(began), out.Len()>>10)
	}
}
