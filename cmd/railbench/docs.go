package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner/console"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/plain"
	"github.com/railbench/railbench/tui/screen"
)

const docsIndex = "README"

// A line of the index: its page, and what is in it.
var indexed = regexp.MustCompile(`(?m)^- \[([a-z-]+)\]\(([a-z-]+)\.md\): (.+)$`)

// page is one of assets/docs by its name; ok is false where there is none.
func page(name string) (text string, ok bool) {
	b, err := assets.Docs.ReadFile("docs/" + name + ".md")
	return string(b), err == nil
}

// pages are those of assets/docs, in the order of the index.
func pages() []screen.Doc {
	index, _ := page(docsIndex)
	var all []screen.Doc
	for _, m := range indexed.FindAllStringSubmatch(index, -1) {
		if text, ok := page(m[2]); ok {
			all = append(all, screen.Doc{Name: m[1], About: m[3], Text: text})
		}
	}
	return all
}

func docsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "docs [TOPIC]",
		Short: "Read railbench's pages: troubleshooting, glossary, keys, formats and more",
		Long: `Shows a page, or the list of pages. On a terminal it opens $PAGER; in a pipe or a file
it is plain text. In the workbench D shows the same pages.`,
		Example: `  railbench docs
  railbench docs troubleshooting
  railbench docs glossary | grep GID`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("docs shows one page: name one topic")
			}
			return nil
		},
		ValidArgsFunction: completeDocs,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := docsIndex
			if len(args) == 1 {
				name = args[0]
			}
			text, ok := page(name)
			if !ok {
				return usage(noPage(name))
			}
			return readPage(cmd, text)
		},
	}
}

func noPage(name string) error {
	names := steps.Each(pages(), func(p screen.Doc) string { return p.Name })
	near := cmp.Or(steps.DidYouMean(name, names), ": there are "+strings.Join(names, ", "))
	return fmt.Errorf("no page %q%s", name, near)
}

// readPage shows a page on a terminal in the user's pager, and writes it elsewhere.
func readPage(cmd *cobra.Command, text string) error {
	out := cmd.OutOrStdout()
	f := terminal(out)
	if f == nil {
		return writePage(out, plain.Page(text, 0))
	}
	width := cmp.Or(columns(out), plain.PageWidth)
	styled := plain.Page(text, width)
	pager, err := console.PagerCommand()
	if err != nil {
		return writePage(f, styled) // a terminal scrolls, too
	}
	// As git does: a page that fits is only printed, and styles stay styles.
	if os.Getenv("LESS") == "" {
		pager.Env = append(os.Environ(), "LESS=FRX")
	}
	pager.Stdin, pager.Stdout, pager.Stderr = strings.NewReader(styled), f, direct(cmd.ErrOrStderr())
	if err := pager.Run(); err != nil {
		return unwritten(fmt.Errorf("show the page with %s: %w", pager.Path, err))
	}
	return nil
}

func writePage(out io.Writer, text string) error {
	if _, err := io.WriteString(out, text); err != nil {
		return unwritten(fmt.Errorf("write the page: %w", err))
	}
	return nil
}
