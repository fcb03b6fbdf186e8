package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/sanitize"
)

// The notebook to read: prose, scripts, what they printed last and what it came to.
type (
	notebookView struct {
		Title     string     `json:"title"`
		Simulated bool       `json:"simulated"`
		Parts     []partView `json:"parts"`
	}
	partView struct {
		ID    string         `json:"id"`
		Title string         `json:"title"`
		Prose string         `json:"prose"`
		Cells []readCellView `json:"cells"`
	}
	readCellView struct {
		cellView
		Prose   string      `json:"prose"`
		Scripts []string    `json:"scripts"`
		Output  []string    `json:"output"`
		Tables  []tableView `json:"tables"`
		Tail    string      `json:"tail"`
	}
	tableView struct {
		Title   string     `json:"title"`
		Columns []string   `json:"columns"`
		Rows    [][]string `json:"rows"`
		Note    string     `json:"note"`
	}
)

const (
	mostOutput = 60   // lines of one cell's output
	mostProse  = 8000 // runes of one text
	mostRows   = 200
	// A hundred readers at once, or one who holds the key down, cost one reading.
	readEvery = time.Second
)

// reading is the notebook as it was last read.
type reading struct {
	mu   sync.Mutex
	text []byte
	at   time.Time
}

// serveNotebook gives the notebook as JSON.
func (p *Page) serveNotebook(w http.ResponseWriter, _ *http.Request) {
	p.reading.mu.Lock()
	if p.reading.text == nil || time.Since(p.reading.at) > readEvery {
		p.mu.Lock()
		book := p.book
		p.mu.Unlock()
		text, err := json.Marshal(p.notebookOf(book))
		if err != nil {
			text = []byte(`null`)
		}
		p.reading.text, p.reading.at = text, time.Now()
	}
	text := p.reading.text
	p.reading.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client is gone
}

func (p *Page) notebookOf(book steps.Notebook) notebookView {
	v := notebookView{
		Title: clean(book.Tutorial.Title), Simulated: p.o.Simulated || book.Rig.Simulated,
		Parts: []partView{},
	}
	for _, part := range book.Tutorial.Parts {
		v.Parts = append(v.Parts, partOf(book, part, true))
	}
	for _, part := range book.Tutorial.Checklist {
		// Of the checklist stands what ran: the rest is for who looks for a fault.
		if one := partOf(book, part, false); len(one.Cells) > 0 {
			v.Parts = append(v.Parts, one)
		}
	}
	return v
}

func partOf(book steps.Notebook, part steps.Part, whole bool) partView {
	v := partView{ID: clean(part.ID), Title: clean(part.Title), Prose: prose(part.Prose), Cells: []readCellView{}}
	for _, c := range part.Cells {
		s, ran := book.Cells[c.ID]
		if !ran && !whole {
			continue
		}
		one := readCellView{
			cellView: cellOf(book, c.ID), Prose: prose(c.Prose), Tail: prose(c.Tail),
			Scripts: []string{}, Output: []string{}, Tables: []tableView{},
		}
		lessons, _ := c.Lessons() // what only railbench needs is not the reader's
		for _, l := range lessons {
			text := l.Script
			if len(lessons) > 1 || len(l.Names) > 1 {
				text = "# " + strings.Join(l.Names, ", ") + "\n" + text
			}
			one.Scripts = append(one.Scripts, sanitize.Text(short(text, mostProse)))
		}
		one.Output = printed(c, s)
		for _, t := range s.Verdict.Tables {
			one.Tables = append(one.Tables, tableOf(t))
		}
		v.Cells = append(v.Cells, one)
	}
	return v
}

// printed are a cell's last lines, those of a node together and under its name: never mixed.
func printed(c steps.Cell, s steps.CellState) []string {
	out := s.Output.ByNode(c.Places(s.Rig))
	lines, from := []string{}, ""
	for _, l := range out.Lines(max(0, out.Len()-mostOutput), mostOutput) {
		if l.From != from && l.From != "" && c.OnSeveral() {
			lines = append(lines, "── "+clean(l.From))
		}
		from = l.From
		lines = append(lines, clean(l.Text))
	}
	return lines
}

// prose is Markdown without what Markdown hides.
func prose(s string) string {
	return sanitize.Text(short(strings.TrimSpace(hidden.Regexp().ReplaceAllString(s, "")), mostProse))
}

var hidden = lazyregexp.New(`(?s)<!--.*?-->`)

func tableOf(t steps.Table) tableView {
	v := tableView{Title: clean(t.Title), Note: clean(t.Note), Rows: [][]string{}}
	for _, c := range t.Columns {
		v.Columns = append(v.Columns, clean(c.Name))
	}
	for _, r := range t.Rows[:min(len(t.Rows), mostRows)] {
		row := make([]string, 0, len(r))
		for _, value := range r {
			row = append(row, clean(value))
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}
