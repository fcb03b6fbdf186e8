package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// The words that a reader stumbles over, and what stands in their place.
var oldWords = []struct{ word, instead string }{
	{`(un)?told|tells?|telling`, "report, print, show, say"},
	{`nobody`, "unknown, no process, no other user"},
	{`somebody`, "another user, another process, other traffic"},
	{`anew`, "again"},
	{`(is|are) no`, "is not, are not; or say what is there"},
	{`in (its|their|whose) hands|out of (its|their) hands`, "managed by, unmanaged"},
	{`puts? right|putting right|puts? (it|them|this|that|what \w+ \w+) right`, "fix"},
	{`ways? back`, "rollback"},
}

var oldWord = regexp.MustCompile(`(?i)\b(` + func() string {
	var all []string
	for _, w := range oldWords {
		all = append(all, w.word)
	}
	return strings.Join(all, "|")
}() + `)\b`)

// instead is the replacement of a word that oldWord has found.
func instead(word string) string {
	for _, w := range oldWords {
		if regexp.MustCompile(`(?i)^(` + w.word + `)$`).MatchString(word) {
			return w.instead
		}
	}
	return ""
}

// wordsLeft is how many old words a Markdown file, or the string literals of a folder, still have: names that users'
// scripts read (JSON keys, kinds) and what a user may type. A number may only fall, and what isn't here has none.
var wordsLeft = map[string]int{
	"steps/parse": 2,
	"tui/web":     1,
}

// TestWords looks for the old words in Markdown, in the help of commands and in the strings of Go code.
func TestWords(t *testing.T) {
	t.Parallel()
	found := map[string][]string{}
	note := func(folder, at, text string) {
		for _, w := range oldWord.FindAllString(inCode.ReplaceAllString(text, "CODE"), -1) {
			found[folder] = append(found[folder], at+": "+w+" (write: "+instead(strings.ToLower(w))+"): "+text)
		}
	}
	for path, text := range markdownFiles(t) {
		for i, line := range strings.Split(text, "\n") {
			note(path, fmt.Sprintf("%s:%d", path, i+1), line)
		}
	}
	root := rootCommand()
	for _, c := range append(commandsUnder(root), root) {
		help := func(what, text string) {
			note(c.CommandPath(), c.CommandPath()+", "+what, strings.Join(strings.Fields(text), " "))
		}
		help("Short", c.Short)
		help("Long", c.Long)
		help("Example", c.Example)
		c.Flags().VisitAll(func(f *pflag.Flag) { help("--"+f.Name, f.Usage) })
	}
	for _, folder := range []string{"cmd", "tui", "steps", "runner", "assets"} {
		goStrings(t, "../../"+folder, func(folder, at, text string) {
			note(folder, at, strings.Join(strings.Fields(text), " "))
		})
	}
	for folder, list := range found {
		switch left := wordsLeft[folder]; {
		case len(list) > left:
			t.Errorf("%s has %d old words, %d at most:\n%s", folder, len(list), left, strings.Join(list, "\n"))
		case len(list) < left:
			t.Errorf("%s has only %d old words left: write so in wordsLeft, which has %d", folder, len(list), left)
		}
	}
	for folder, left := range wordsLeft {
		if len(found[folder]) == 0 && left > 0 {
			t.Errorf("%s has no old word left: take it out of wordsLeft", folder)
		}
	}
}

// goStrings visits every string literal outside of tests, with the folder that wordsLeft counts it in.
func goStrings(t *testing.T, root string, visit func(folder, at, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(path, "/testdata/") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parts := strings.Split(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../"), "/")
		folder := strings.Join(parts[:min(len(parts), 2)], "/")
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					visit(folder, files.Position(lit.Pos()).String(), text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// markdownFiles is every Markdown file of the project, by its path from the top.
func markdownFiles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(filepath.ToSlash(path), "../../")] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// mostWords is how many words the sentences of a page have on average, at most.
const mostWords = 17.0

// TestSentencesAreShort: what is read is read by tired people, many of whom have another first language.
func TestSentencesAreShort(t *testing.T) {
	t.Parallel()
	for path, text := range markdownFiles(t) {
		all := sentences(text)
		if len(all) == 0 {
			continue
		}
		words := 0
		for _, s := range all {
			words += len(strings.Fields(s))
		}
		if mean := float64(words) / float64(len(all)); mean > mostWords {
			slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(strings.Fields(b)), len(strings.Fields(a))) })
			t.Errorf("%s: %d sentences of %.1f words on average, %v at most; the longest:\n%s",
				path, len(all), mean, mostWords, strings.Join(all[:min(len(all), 5)], "\n"))
		}
	}
}

var (
	fencedText  = regexp.MustCompile("(?ms)^(`{3,}).*?^`{3,}$")
	comment     = regexp.MustCompile(`(?s)<!--.*?-->`)
	tableRow    = regexp.MustCompile(`(?m)^\|.*$`)
	heading     = regexp.MustCompile(`(?m)^#+ .*$`)
	listItem    = regexp.MustCompile(`(?m)^ *([-*]|\d+\.) `)
	quoteSign   = regexp.MustCompile(`(?m)^> ?`)
	paragraphs  = regexp.MustCompile(`\n\s*\n`)
	sentenceEnd = regexp.MustCompile(`[.!?][)"*_]*\s+`)
	inCode      = regexp.MustCompile("`[^`]*`")
)

// sentences are those of a page's prose: no code, no table, no heading. An item of a list ends a sentence.
func sentences(text string) (all []string) {
	for _, r := range []*regexp.Regexp{fencedText, comment, tableRow, heading} {
		text = r.ReplaceAllString(text, "\n")
	}
	text = quoteSign.ReplaceAllString(text, "")
	text = listItem.ReplaceAllString(text, "\n\n")
	text = inCode.ReplaceAllString(text, "CODE")
	for _, p := range paragraphs.Split(text, -1) {
		p = strings.Join(strings.Fields(p), " ")
		for _, s := range sentenceEnd.Split(p, -1) {
			if len(strings.Fields(s)) > 2 {
				all = append(all, s)
			}
		}
	}
	return all
}
