// Package script is the script of a presentation: slides with a caption for the audience, notes for the
// presenter, and what happens in them. It is read here; who runs it is the screen.
package script

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
)

// A Script is slides in their order.
type Script struct {
	Title  string
	Slides []Slide
}

// A Slide is what is said at one time, and done.
type Slide struct {
	ID, Title string
	Caption   string // for the audience
	Notes     string // for the presenter
	Actions   []Action
}

// A Kind is what an action does.
type Kind uint8

// The kinds.
const (
	Run   Kind = iota // a cell, in place of what runs
	Wait              // until it has ended
	Pause             // for a time
	View              // what the numerals are of
	Pull              // a cable, where that can be done: on a simulated rig
	Plug              // it again
)

func (d Kind) String() string {
	return [...]string{"run", "wait", "pause", "view", "pull", "plug"}[d]
}

// An Action is one line of a slide.
type Action struct {
	Kind   Kind
	Cell   string
	Params []Param
	View   string
	For    time.Duration
}

// A Param is a parameter that a cell gets for the presentation.
type Param struct{ Name, Value string }

// A Moment is where a presentation is: what a user in another terminal sees of it.
type Moment struct {
	No      int       `json:"no"` // counts on: commands that report it run side by side
	Script  string    `json:"show"`
	Slide   int       `json:"scene"` // from 1; 0 before it has begun
	Of      int       `json:"of"`
	Title   string    `json:"title"`
	Caption string    `json:"caption"`
	Notes   string    `json:"notes"`
	Next    string    `json:"next"`
	Began   time.Time `json:"began"` // zero before it has
	Cell    string    `json:"cell"`
	Verdict string    `json:"verdict"`
	Auto    bool      `json:"auto"`
	Over    bool      `json:"over"`
	Rig     string    `json:"rig"`
	Alarm   string    `json:"alarm"` // of the hardware, that can't wait
	PID     int       `json:"pid"`   // of the railbench that gives it; 0 where unknown
}

// most bounds a script, which may be a file of another user.
const (
	mostBytes  = 1 << 20
	mostSlides = 99
)

// Parse reads a script: a title ("# TITLE"), and slides ("## TITLE {#id}") of prose, of notes
// (lines that begin with ">") and of acts (the lines of a fence ```show). name is the file's, for
// errors.
func Parse(name, text string) (s Script, err error) {
	if len(text) > mostBytes {
		return s, fmt.Errorf("%s: a script of %d bytes: at most %d", name, len(text), mostBytes)
	}
	p := parser{}
	no := 0
	for line := range strings.Lines(text) {
		no++
		if err := p.line(strings.TrimRight(line, "\r\n")); err != nil {
			return s, fmt.Errorf("%s:%d: %w", name, no, err)
		}
	}
	if p.fenced {
		return s, fmt.Errorf("%s: the last fence has no end", name)
	}
	p.end()
	if len(p.script.Slides) == 0 {
		return s, fmt.Errorf("%s has no scene: a line \"## TITLE {#id}\" begins one", name)
	}
	return p.script, nil
}

type parser struct {
	script         Script
	slide          *Slide
	caption, notes []string
	fenced         bool
}

func (p *parser) line(line string) error {
	word := strings.TrimSpace(line)
	switch {
	case p.fenced && word == "```":
		p.fenced = false
	case p.fenced:
		return p.action(word)
	case strings.HasPrefix(word, "```"):
		if word != "```show" || p.slide == nil {
			return fmt.Errorf("%q: a fence in a scene is ```show", word)
		}
		p.fenced = true
	case strings.HasPrefix(line, "## "):
		return p.begin(strings.TrimSpace(line[3:]))
	case strings.HasPrefix(line, "# "):
		p.script.Title = sanitize.Line(strings.TrimSpace(line[2:]))
	case p.slide == nil: // an introduction for a reader of the file
	case strings.HasPrefix(line, ">"):
		p.notes = append(p.notes, strings.TrimSpace(line[1:]))
	default:
		p.caption = append(p.caption, word)
	}
	return nil
}

func (p *parser) begin(heading string) error {
	p.end()
	title, id, ok := strings.Cut(heading, " {#")
	id, closed := strings.CutSuffix(id, "}")
	if !ok || !closed || !steps.IsID(id) {
		return fmt.Errorf("%q: a scene is \"## TITLE {#id}\", its id small letters, digits and -", heading)
	}
	if slices.ContainsFunc(p.script.Slides, func(s Slide) bool { return s.ID == id }) {
		return fmt.Errorf("the scene %s is there twice", id)
	}
	if len(p.script.Slides) >= mostSlides {
		return fmt.Errorf("more than %d scenes", mostSlides)
	}
	p.slide = &Slide{ID: id, Title: sanitize.Line(title)}
	return nil
}

// end puts the slide that was read into the presentation.
func (p *parser) end() {
	if p.slide == nil {
		return
	}
	p.slide.Caption, p.slide.Notes = prose(p.caption), prose(p.notes)
	p.script.Slides = append(p.script.Slides, *p.slide)
	p.slide, p.caption, p.notes = nil, nil, nil
}

// prose is one paragraph of lines.
func prose(lines []string) string {
	return sanitize.Line(strings.Join(strings.Fields(strings.Join(lines, " ")), " "))
}

// runs reads the cell that is run, and its parameters.
func (a *Action) runs(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("run names a cell")
	}
	a.Cell = words[0]
	for _, word := range words[1:] {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("%q: a parameter is NAME=VALUE", word)
		}
		a.Params = append(a.Params, Param{name, value})
	}
	return nil
}

func (p *parser) action(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	deeds := []Kind{Run, Wait, Pause, View, Pull, Plug}
	i := slices.IndexFunc(deeds, func(d Kind) bool { return d.String() == words[0] })
	if i < 0 {
		return fmt.Errorf("%q is not an act: give one of run, wait, pause, view, pull, plug", words[0])
	}
	a, rest := Action{Kind: deeds[i]}, words[1:]
	switch a.Kind {
	case Run:
		if err := a.runs(rest); err != nil {
			return err
		}
	case Pause:
		if len(rest) != 1 {
			return fmt.Errorf("pause takes a time: pause 5s")
		}
		d, err := time.ParseDuration(rest[0])
		if err != nil || d <= 0 || d > time.Hour {
			return fmt.Errorf("pause %s: it is a time of up to an hour, like 5s", rest[0])
		}
		a.For = d
	case View:
		if len(rest) != 1 || !slices.Contains([]string{"halves", "cables", "rails", "results"}, rest[0]) {
			return fmt.Errorf("view takes one of halves, cables, rails, results")
		}
		a.View = rest[0]
	case Wait, Pull, Plug:
		if len(rest) != 0 {
			return fmt.Errorf("%s stands alone", a.Kind)
		}
	}
	p.slide.Actions = append(p.slide.Actions, a)
	return nil
}

// Check says what a presentation asks for that a tutorial doesn't have. check says what is wrong with a
// parameter of a cell.
func (s Script) Check(t steps.Tutorial, check func(cell, name, value string) error) error {
	for _, scene := range s.Slides {
		for _, a := range scene.Actions {
			if a.Kind != Run {
				continue
			}
			if _, ok := t.Cell(a.Cell); !ok {
				return fmt.Errorf("the scene %s runs a cell that isn't there: %s%s", scene.ID, a.Cell,
					steps.DidYouMean(a.Cell, t.IDs()))
			}
			for _, p := range a.Params {
				if err := check(a.Cell, p.Name, p.Value); err != nil {
					return fmt.Errorf("the scene %s: %w", scene.ID, err)
				}
			}
		}
	}
	return nil
}

// Following is what comes next: a slide's title, or that the presentation is over.
func (m Moment) Following() string {
	if m.Over {
		return "nothing: the presentation is over"
	}
	return m.Next
}

// Lines are a moment as plain text.
func (m Moment) Lines() []string {
	if m.Slide == 0 {
		lines := []string{m.Script, "not begun; first: " + m.Next}
		if m.Alarm != "" {
			lines = append(lines, "ALARM: "+sanitize.Line(m.Alarm))
		}
		return lines
	}
	lines := []string{fmt.Sprintf("%s, %d of %d: %s", m.Script, m.Slide, m.Of, m.Title)}
	for _, part := range []struct{ name, text string }{
		{"ALARM", m.Alarm},
		{"said", m.Caption},
		{"notes", m.Notes},
		{"cell", m.Cell},
		{"verdict", m.Verdict},
		{"next", m.Following()},
	} {
		if part.text != "" {
			lines = append(lines, part.name+": "+sanitize.Line(part.text))
		}
	}
	return lines
}
