package tui

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/tui/screen"
)

// TestLook puts the screen over a played session into the terminal, to be looked
// at: RAILBENCH_LOOK=1 go test -run TestLook ./tui. "question" asks one, too.
func TestLook(t *testing.T) {
	look := os.Getenv("RAILBENCH_LOOK")
	if look == "" {
		t.Skip("RAILBENCH_LOOK is not set: nobody is looking")
	}
	f := newFake()
	queue := make(chan string, 64)
	run := steps.RunID(0)
	busy := make(chan bool, 1)
	f.onRun = func(ids []string) {
		for _, id := range ids {
			f.events <- []steps.Event{steps.CellQueued{Cell: id}}
			queue <- id
		}
	}
	go func() {
		f.events <- connected()
		if look == "question" {
			q := steps.Question{Answer: func(string, bool) {}}
			h := fresh(&q.HostKey)
			h.Node, h.Address, h.File = "spark-01", "192.168.100.10:22", "~/.ssh/known_hosts"
			h.KeyType, h.Fingerprint = "ssh-ed25519", "SHA256:2zVYjd0v0uRl8mFhXg0f9m3bq4Wc1p5t6n7e8rAbCdE"
			f.questions <- q
			p := steps.Question{Answer: func(string, bool) {}}
			s := fresh(&p.Secret)
			s.Node, s.What, s.For, s.Again = "spark-01", "sudo password", "nvidia", true
			f.questions <- p
		}
		for id := range queue {
			run++
			busy <- true
			f.events <- []steps.Event{steps.CellStarted{Run: run, Cell: id, At: time.Now()}}
			for range 30 {
				f.events <- []steps.Event{steps.CellPrinted{
					Run: run, Cell: id,
					Lines: lines(1+rand.IntN(9), "65536   5000         11032.64         11032.34            0.176518"),
				}}
				time.Sleep(100 * time.Millisecond)
			}
			<-busy
			e := passed(run, id)
			e.Verdict.Grade = steps.Grade(1 + int(run)%4)
			f.events <- []steps.Event{e}
		}
	}()
	go func() {
		for i := 0; ; i++ {
			b := sampleBoard(4, 4*math.Sin(float64(i)/10))
			select {
			case <-f.boards:
			default:
			}
			f.boards <- b
			time.Sleep(100 * time.Millisecond)
		}
	}()
	m := New(f, screen.Options{
		Tutorial: sampleTutorial(),
		Rig:      screen.Rig{Simulated: true, Hint: "Your own rig: railbench --peer USER@HOST, or railbench init."},
		Terminal: screen.Terminal{SyncOutput: true, NoColor: os.Getenv("NO_COLOR") != ""},
	})
	if _, err := tea.NewProgram(m).Run(); err != nil {
		t.Fatal(err)
	}
}

// References are links where the terminal has them, with their address next to them; elsewhere there is nothing but
// the text.
func TestReferencesAreLinks(t *testing.T) {
	tutorial := sampleTutorial()
	tutorial.Parts[0].Prose = "See [the sources](https://example.org/a-b) and <https://example.org/c>.\n"
	for _, known := range []bool{true, false} {
		s := newScreen(t, tutorial, 100, 30)
		s.Opts.Terminal.Links = known
		s.restyle()
		s.press("1", "home")
		s.sees("the sources <https://example.org/a-b> and https://example.org/c.")
		for _, address := range []string{"https://example.org/a-b", "https://example.org/c"} {
			if got := strings.Contains(s.View().Content, "\x1b]8;;"+address); got != known {
				t.Errorf("links known %t: %s is a link: %t", known, address, got)
			}
		}
	}
}
