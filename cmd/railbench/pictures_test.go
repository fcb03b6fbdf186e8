package main

import (
	"fmt"
	"html"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/tui/screen"
)

// README's picture is a frame of the golden screens, as SVG: text that stays sharp, that can be
// searched, and whose change is a diff. go test ./cmd/railbench -run Book -update makes them.
const picturePath = "../../assets/pictures"

// workbenchPicture is the picture: a cell that has run.
func workbenchPicture(whole *tape, p *player) {
	p.press("4", "home", "down")
	p.run(whole, "enter")
	p.board(whole, true)
}

// The pictures' terminal.
const (
	pictureColumns = 120
	pictureLines   = 36
)

// drawPictures are the SVG files, a dark and a light one.
func drawPictures(t *testing.T, whole *tape) map[string]string {
	t.Helper()
	files := map[string]string{}
	for shade, background := range map[string]screen.Background{"dark": screen.Dark, "light": screen.Light} {
		synctest.Test(t, func(t *testing.T) {
			p := play(t, whole, pictureColumns, pictureLines, func(o *screen.Options) { o.Terminal.Background = background })
			defer p.quit()
			workbenchPicture(whole, p)
			files["workbench-"+shade+".svg"] = svg(p.View().Content, background == screen.Dark)
		})
	}
	return files
}

// comparePictures holds the files to the frames, or writes them.
func comparePictures(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := picturePath + "/" + name
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if has, err := os.ReadFile(path); err != nil || string(has) != text {
			t.Errorf("%s is not the screen's (go test ./cmd/railbench -run Book -update draws it): %v", path, err)
		}
	}
}

// The size of a letter, in pixels.
const (
	letterWidth  = 8.4
	letterHeight = 18
)

// pen is how text is drawn from a place on.
type pen struct {
	fore, back           string // colours; empty for the terminal's own
	bold, italic, invert bool
}

// The colours of a terminal's ground and of its text.
func shades(dark bool) (ground, text string) {
	if dark {
		return "#0d1117", "#d7dde5"
	}
	return "#ffffff", "#1f2328"
}

// canvas begins a picture of so many lines.
func canvas(lines int, ground string) *strings.Builder {
	b := &strings.Builder{}
	width, height := letterWidth*float64(pictureColumns)+16, letterHeight*lines+16
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace, `+
		`'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">`+"\n", width, height)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", ground)
	return b
}

// svg draws a frame with its colours.
func svg(frame string, dark bool) string {
	ground, text := shades(dark)
	lines := strings.Split(frame, "\n")
	b := canvas(len(lines), ground)
	for row, line := range lines {
		drawLine(b, line, row, ground, text)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawLine draws one line, a piece for each change of its style: each has its own place, so
// that a font whose letters are of another width moves nothing.
func drawLine(b *strings.Builder, line string, row int, ground, text string) {
	var p pen
	column := 0
	for line != "" {
		if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
			end := strings.IndexByte(rest, 'm')
			p = p.with(rest[:end])
			line = rest[end+1:]
			continue
		}
		run, rest := line, ""
		if i := strings.IndexByte(line, '\x1b'); i >= 0 {
			run, rest = line[:i], line[i:]
		}
		drawRun(b, run, p, column, row, ground, text)
		column += ansi.StringWidth(run)
		line = rest
	}
}

func drawRun(b *strings.Builder, run string, p pen, column, row int, ground, text string) {
	fore, back := p.fore, p.back
	if fore == "" {
		fore = text
	}
	if p.invert {
		fore, back = ground, fore
	}
	width := letterWidth * float64(ansi.StringWidth(run))
	x, y := 8+letterWidth*float64(column), 8+letterHeight*row
	if back != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y, width, letterHeight, back)
	}
	if strings.TrimSpace(run) == "" {
		return
	}
	style := ""
	if p.bold {
		style += ` font-weight="bold"`
	}
	if p.italic {
		style += ` font-style="italic"`
	}
	fmt.Fprintf(b,
		`<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="%s"%s>%s</text>`+
			"\n",
		x, y+14, width, fore, style, html.EscapeString(run))
}

// with is the pen after an SGR sequence. Only what the screen uses is known.
func (p pen) with(sgr string) pen {
	codes := strings.Split(sgr, ";")
	for i := 0; i < len(codes); i++ {
		switch codes[i] {
		case "", "0":
			p = pen{}
		case "1":
			p.bold = true
		case "3":
			p.italic = true
		case "7":
			p.invert = true
		case "22":
			p.bold = false
		case "23":
			p.italic = false
		case "27":
			p.invert = false
		case "39":
			p.fore = ""
		case "49":
			p.back = ""
		case "38", "48":
			if i+4 >= len(codes) || codes[i+1] != "2" {
				return p
			}
			var rgb [3]int
			for j := range rgb {
				rgb[j], _ = strconv.Atoi(codes[i+2+j]) // the renderer writes numbers only
			}
			colour := fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2])
			if codes[i] == "38" {
				p.fore = colour
			} else {
				p.back = colour
			}
			i += 4
		}
	}
	return p
}
