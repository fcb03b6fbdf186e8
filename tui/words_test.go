package tui

import (
	"testing"

	"github.com/railbench/railbench/tui/screen"
)

// K shows the entries of the glossary whose words the selected text has, as words and not as parts of others.
func TestWordsOfAText(t *testing.T) {
	s := start(t, 100, 40)
	s.Opts.Docs = func() []screen.Doc {
		return []screen.Doc{{Name: "glossary", Text: "" +
			"# Glossary\n\nThe **cell** is first.\n\n**rail**: a path\nof two ends.\n\n" +
			"**GID**: an address.\n\n**band, range**: what is expected.\n\n**etcd**: a store.\n"}}
	}
	s.Book.Tutorial.Parts[3].Cells[0].Prose = "Each of the rails has a gid. Bandwidth is no word."
	s.press("4", "home", "j", "K")
	s.sees("Words of this text", "a path", "an address")
	s.seesNot("what is expected", "a store", "is first")
	s.press("esc")
	if s.Layers.Top() != screen.Notebook {
		t.Error("esc does not lead back")
	}
	s.Book.Tutorial.Parts[3].Cells[0].Prose, s.Book.Tutorial.Parts[3].Cells[0].Title = "Nothing.", "Nothing"
	s.press("K")
	s.sees("the glossary has none of these words")
}
