package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/sim"
	"github.com/railbench/railbench/runner/undo"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/catalog"
	"github.com/railbench/railbench/steps/change"
	"github.com/railbench/railbench/steps/meter"
	"github.com/railbench/railbench/steps/notebook"
	"github.com/railbench/railbench/steps/session"
	"github.com/railbench/railbench/steps/trust"
	"github.com/railbench/railbench/tui"
	"github.com/railbench/railbench/tui/screen"
)

// theTutorial is read once for all seeds: it is the same for all, and no one changes it.
var theTutorial = sync.OnceValues(func() (steps.Tutorial, error) {
	t, _, err := tutorial()
	return t, err
})

// A simulated is one seed: a rig, a workbench on it, a user at its keys, and all that breaks. It runs in a
// bubble of testing/synctest, whose time is the time of the rig and of the screen: what happens when, and in
// which order, depends on the seed alone. The user presses a key only when all other goroutines wait.
type simulated struct {
	seed  uint64
	dir   string
	rnd   *rand.Rand
	rig   *sim.Rig
	trace strings.Builder
	found []string // what must not be

	began    time.Time
	networks [2]change.State // as they were
	running  [2][]string     // processes that are there by themselves
	hurt     map[string]time.Time
	breaks   []string // the faults of this seed
	tutorial steps.Tutorial
	changes  bool // what is asked may be answered with yes
	sample   bool // there are gauges
	sessions int

	late [2]time.Duration // how long each node takes to hear, and again to answer
	full bool             // there is no room for the session's file

	desk *simulatedDesk // nil while there is none
	told truths
}

// A simulatedDesk is a workbench that is open: until it is quit, or killed.
type simulatedDesk struct {
	bench   *openRig
	session *session.Session
	told    *simulatedSession
	store   *simulatedStore
	model   *tui.Model
	width   int
	height  int
	quit    bool
	ended   bool

	// What the screen's commands bring back comes in the order in which they were begun, where
	// it comes at one instant.
	issued int
	back   chan brought
}

type brought struct {
	no  int
	msg tea.Msg
}

// A simulatedSession hands over what a session says when it is looked for: all that came up to then, and not what a
// goroutine happens to find.
type simulatedSession struct {
	*session.Session
	events chan []steps.Event
	boards chan meter.Board
}

func (s *simulatedSession) Next(context.Context) ([]steps.Event, bool) {
	e, ok := <-s.events
	return e, ok
}

func (s *simulatedSession) Boards() <-chan meter.Board { return s.boards }

// poll looks what there is; it reports whether anything was.
func (s *simulatedSession) poll() (any bool) {
	at, cancel := context.WithCancel(context.Background())
	cancel() // what is not there yet is not waited for
	if len(s.events) == 0 {
		if events, _ := s.Session.Next(at); len(events) > 0 {
			s.events <- events
			any = true
		}
	}
	select {
	case b, ok := <-s.Session.Boards():
		if ok && len(s.boards) == 0 {
			s.boards <- b
			any = true
		}
	default:
	}
	return any
}

func newSimulated(seed uint64, dir string) *simulated {
	s := &simulated{
		seed: seed, dir: dir, rnd: rand.New(rand.NewPCG(seed, 0x5eed)),
		hurt: map[string]time.Time{}, began: time.Now(),
	}
	// Where the network is changed no fault changes it, too: whose fault would it be that it is
	// another than before?
	s.changes = s.rnd.IntN(3) > 0
	s.sample = s.rnd.IntN(2) > 0
	for _, f := range sim.Faults() {
		if !s.changes || !slices.Contains(networkFaults, f.Name) {
			s.breaks = append(s.breaks, f.Name)
		}
	}
	s.tutorial = s.some()
	// A few a seed, so that some come again: what flaps is a fault of its own.
	s.rnd.Shuffle(len(s.breaks), func(i, j int) { s.breaks[i], s.breaks[j] = s.breaks[j], s.breaks[i] })
	s.breaks = s.breaks[:1+s.rnd.IntN(4)]
	// One of them at most changes the network: two that take the same away give it back in the wrong order, which is
	// the rig's doing and no one's change.
	changing := 0
	s.breaks = slices.DeleteFunc(s.breaks, func(name string) bool {
		if slices.Contains(networkFaults, name) {
			changing++
		}
		return changing > 1 && slices.Contains(networkFaults, name)
	})
	return s
}

// some is a part of the tutorial: all of it is in every session's file, and would be most of
// what a seed costs.
func (s *simulated) some() steps.Tutorial {
	t, _ := theTutorial()
	choose := func(parts []steps.Part, n int) (some []steps.Part) {
		chosen := s.rnd.Perm(len(parts))[:n]
		slices.Sort(chosen)
		for _, i := range chosen {
			some = append(some, parts[i])
		}
		return some
	}
	t.Parts, t.Checklist = choose(t.Parts, 3), choose(t.Checklist, 1)
	return t
}

// networkFaults are those that change what a change of the network would, too.
var networkFaults = strings.Fields(`address-returned address-unsaved adapter-lost arp-flux autobond bond-left-over
	cable-unplugged default-route-on-rail dhcp-client duplicate-ip gid-drift host-route link-down link-local-missing manager-fights
	manager-mute mtu-mismatch mtu-unsaved p2p-ip-conflict profile-stray rail-ip-missing rail-ips-left-over rail-unmanaged
	roce-lag shaped two-managers`)

// live is the whole of it: a rig, what a user does with it, and what must hold afterwards.
func (s *simulated) live(do func(*simulated)) {
	defer func() {
		if p := recover(); p != nil && !isOver(p) {
			s.fail("panic: %v\n%s", p, debug.Stack())
		}
		s.end()
	}()
	rig, err := sim.New(sim.Options{Seed: s.seed, Speed: 1, Start: s.began})
	if err != nil {
		s.fail("%v", err)
		return
	}
	s.rig = rig
	s.networks, s.running = s.look()
	s.age()
	do(s)
	s.settleNodes()
}

// user plays the user of a seed. Most sessions are short, since most faults show at once and a short trace is
// soon understood; some are very long.
func (s *simulated) user() {
	s.open("")
	for range min(3+int(s.rnd.ExpFloat64()*6), 120) {
		s.step()
	}
	s.leave()
}

// errOver ends a seed whose failure makes all that follows meaningless.
var errOver = errors.New("over")

func isOver(p any) bool {
	err, ok := p.(error)
	return ok && errors.Is(err, errOver)
}

func (s *simulated) fail(format string, args ...any) {
	s.found = append(s.found, fmt.Sprintf(format, args...))
}

// end closes what is left, so that the bubble ends.
func (s *simulated) end() {
	if s.desk != nil {
		s.desk.end()
		s.desk = nil
	}
	if s.rig != nil {
		_ = s.rig.Close()
	}
	time.Sleep(time.Hour) // ticks that are under way
}

// say writes a line of the trace, with what is seen where there is a screen.
func (s *simulated) say(format string, args ...any) {
	fmt.Fprintf(&s.trace, "%-14s %s\n", time.Since(s.began), fmt.Sprintf(format, args...))
}

// newBench is what a session on the rig is made of; its nodes are new ones.
func (s *simulated) newBench() *openRig {
	b := &openRig{onState: func(int, runner.State, error) {}}
	b.options = session.Options{
		Rig: "sim", Simulated: true, Speed: 1, Tutorial: s.tutorial, Catalog: catalog.New(),
		Journal: &undo.Journal{Dir: filepath.Join(s.dir, "undo")}, Sample: s.sample,
		Trust: trust.New(filepath.Join(s.dir, "trusted"), s.tutorial),
	}
	for i, name := range simNames(s.rig) {
		node, err := s.rig.Node(name, sim.NodeOptions{
			Ask:     runner.NoAsker{},
			OnState: func(st runner.State, err error) { b.onState(i, st, err) },
		})
		if err != nil {
			panic(err)
		}
		b.add(orderlyNode{node, i, &s.late[i]}, "simulated")
	}
	return b
}

// An orderlyNode is a node whose connection may be slow. It begins its sampler after those of the nodes before it:
// samplers are begun at one instant by goroutines that the rig's clock doesn't know, and which comes first is chance.
type orderlyNode struct {
	*sim.Node
	no   int
	late *time.Duration // what it takes to hear, and again to answer
}

func (n orderlyNode) Run(ctx context.Context, s runner.Script, emit func(runner.Line)) (runner.Exit, error) {
	if s.Patient {
		time.Sleep(time.Duration(n.no + 1))
	}
	n.wait(ctx)
	exit, err := n.Node.Run(ctx, s, emit)
	n.wait(ctx)
	return exit, err
}

// wait is what a slow connection takes, by the rig's clock.
func (n orderlyNode) wait(ctx context.Context) {
	if *n.late > 0 {
		n.Clock().Await(ctx, *n.late)
	}
}

// open opens a workbench, on a session that is there or on a new one.
func (s *simulated) open(path string) {
	b := s.newBench()
	d := &simulatedDesk{bench: b, width: 80, height: 24, back: make(chan brought, 1<<14)}
	asker := session.NewAsker()
	b.options.Asker, b.options.Confirm = asker, &s.told.asked
	s.told.asked.next = asker
	begin := func() (session.Store, error) {
		store, err := b.store(path)
		if err != nil {
			return nil, err
		}
		d.store = &simulatedStore{Store: store, truths: &s.told, full: &s.full}
		return d.store, nil
	}
	if path == "" {
		s.sessions++
		path = filepath.Join(s.dir, fmt.Sprintf("session-%d%s", s.sessions, notebook.Extension))
		b.options.Saving.Begin = begin
	} else {
		var said strings.Builder
		store, err := b.keep(path, &said)
		s.say("opened %s: %s", filepath.Base(path), strings.ReplaceAll(said.String(), s.dir, "~"))
		if err != nil {
			s.fail("the session can't be opened again: %v", err)
			panic(errOver)
		}
		b.options.Tutorial = store.Book().Tutorial
		d.store = &simulatedStore{Store: store, truths: &s.told, full: &s.full}
		b.options.Saving.Store = d.store
		b.options.Sample = s.sample
	}
	d.session = session.New(b.options)
	b.onState = d.session.State
	s.desk = d
	d.session.Open()
	d.told = &simulatedSession{d.session, make(chan []steps.Event, 1), make(chan meter.Board, 1)}
	opts := b.screen(d.session)
	opts.Terminal.Background, opts.Terminal.NoColor, opts.Terminal.ASCII = screen.Dark, false, false
	if d.store != nil {
		book := d.store.Book()
		opts.Book = &book
	}
	d.model = tui.New(d.told, opts)
	s.do(d.model.Init())
	s.send(tea.WindowSizeMsg{Width: d.width, Height: d.height})
}

// do begins a command next to the screen, as Bubble Tea does.
func (s *simulated) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	d := s.desk
	d.issued++
	no := d.issued
	go func() {
		if msg := cmd(); msg != nil {
			d.back <- brought{no, msg}
		}
	}()
}

// send gives the screen a message, and what comes of it at this instant.
func (s *simulated) send(msg tea.Msg) {
	s.update(msg)
	s.settle()
}

func (s *simulated) update(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.BatchMsg:
		for _, cmd := range msg {
			s.do(cmd)
		}
	case tea.QuitMsg:
		s.desk.quit = true
	default:
		_, cmd := s.desk.model.Update(msg)
		s.do(cmd)
	}
}

// settle returns when nothing more happens at this instant.
func (s *simulated) settle() {
	for rounds := 0; ; rounds++ {
		synctest.Wait()
		var came []brought
		for len(s.desk.back) > 0 {
			came = append(came, <-s.desk.back)
		}
		if len(came) == 0 && !s.desk.told.poll() {
			return
		}
		if rounds > 10_000 {
			s.fail("the screen never rests: %v", came)
			panic(errOver)
		}
		slices.SortFunc(came, func(a, b brought) int { return cmp.Compare(a.no, b.no) })
		for _, m := range came {
			s.update(m.msg)
		}
	}
}

// pass lets time go by, while the screen hears what happens.
func (s *simulated) pass(d time.Duration) {
	over, look := time.NewTimer(d), time.NewTicker(lookEvery)
	defer over.Stop()
	defer look.Stop()
	for {
		s.settle()
		select {
		case m := <-s.desk.back:
			s.desk.back <- m // in its place among those that come with it
		case <-look.C:
		case <-over.C:
			s.settle()
			return
		}
	}
}

// lookEvery is how often a user looks whether the session reports something.
const lookEvery = 100 * time.Millisecond

// noise is what is another each time, in what is seen: the names of runs and of guards.
var noise = regexp.MustCompile(`rb-[a-z2-7]{10}|[a-z2-7]{12}-(here|peer)`)

// see draws the screen and holds it to what holds for all of them.
func (s *simulated) see() {
	d := s.desk
	// What came at one instant is drawn at once or with the next frame, by how many events a
	// fetch brought: here all of it is.
	d.model.Update(tea.WindowSizeMsg{Width: d.width, Height: d.height})
	text := d.model.View().Content
	lines := strings.Split(text, "\n")
	tooSmall := d.width < 60 || d.height < 20 // a screen that is too small has fewer lines
	if len(lines) > d.height || len(lines) < d.height && !tooSmall {
		s.fail("%d lines on a screen of %dx%d", len(lines), d.width, d.height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > d.width {
			s.fail("line %d is %d wide on a screen of %dx%d: %q", i+1, w, d.width, d.height, ansi.Strip(l))
		}
	}
	sum := sha256.Sum256([]byte(noise.ReplaceAllStringFunc(text,
		func(m string) string { return strings.Repeat("~", len(m)) })))
	s.say("  %dx%d %x %s", d.width, d.height, sum[:6], s.told.line())
	if *seedScreens {
		s.trace.WriteString(ansi.Strip(text) + "\n")
	}
}

// press sends keys.
func (s *simulated) press(names ...string) {
	s.say("keys %q", names)
	for _, name := range names {
		s.send(anyKey(name))
		if s.desk.quit {
			break
		}
	}
	s.see()
}

// anyKey is keyOf for what else a keyboard has.
func anyKey(name string) tea.KeyPressMsg {
	more := map[string]tea.Key{
		"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "pgup": {Code: tea.KeyPgUp},
		"backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete},
		"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "shift+enter": {Code: tea.KeyEnter, Mod: tea.ModShift},
	}
	if k, ok := more[name]; ok {
		return tea.KeyPressMsg(k)
	}
	return keyOf(name)
}

// step is one thing that a user does, or that happens.
func (s *simulated) step() {
	type act struct {
		weight int
		do     func()
	}
	acts := []act{
		{12, s.wander},
		{12, s.runSomething},
		{8, s.tempt},
		{18, s.wait},
		{10, s.breakSomething},
		{8, s.repairSomething},
		{6, func() { s.press(pick(s.rnd, "i", "ctrl+c")); s.press(pick(s.rnd, "i", "ctrl+c", "esc")) }},
		{5, s.resize},
		{4, s.edit},
		{4, s.fillForm},
		{4, s.palette},
		{3, s.lookFor},
		{3, s.checklist},
		{3, s.leaveAndReturn},
		{3, s.kill},
		{2, s.paste},
		{2, s.reboot},
		{3, s.delay},
		{2, s.fillDisk},
		{2, s.fillNode},
		{2, s.shiftClock},
	}
	if s.told.asked.pending() > 0 {
		acts = append(acts, act{40, s.answer})
	}
	whole := 0
	for _, a := range acts {
		whole += a.weight
	}
	n := s.rnd.IntN(whole)
	for _, a := range acts {
		if n -= a.weight; n < 0 {
			a.do()
			break
		}
	}
	if s.desk.quit { // a key did it
		s.say("it was quit")
		s.close()
		s.open(s.lastSession())
	}
	// A moment, which is not a round number: what others wait for is.
	s.pass(time.Duration(1+s.rnd.IntN(400_000_000)) + 1)
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// keys are those that do something somewhere, and some that don't.
var keys = strings.Fields(`enter enter space shift+enter tab tab shift+tab up down down down j k h l 1 2 3 4 5 6 7 8 9 home end G
	pgup pgdown o O / n N esc esc esc y Y e S * H M g g ctrl+g 0 E a b d d x c v V z t m s A P F R i w L C p T f : ctrl+p ctrl+s
	D ? ctrl+c q B left right backspace delete ctrl+u ctrl+d ctrl+r [ ] | ~ é 漢`)

// wander presses keys without a thought.
func (s *simulated) wander() {
	var names []string
	for range 1 + s.rnd.IntN(8) {
		k := pick(s.rnd, keys...)
		if !s.changes && (k == "y" || k == "Y") {
			k = "n"
		}
		names = append(names, k)
	}
	s.press(names...)
}

// runSomething goes to a cell and runs it, or several.
func (s *simulated) runSomething() {
	names := []string{"esc", "esc", fmt.Sprint(1 + s.rnd.IntN(len(s.tutorial.Parts))), "home"}
	for range 1 + s.rnd.IntN(4) {
		names = append(names, "down")
	}
	s.press(append(names, pick(s.rnd, "enter", "enter", "enter", "space", "space", "P", "P", "F", "R", "A"))...)
}

// tempt runs a cell that has to see a fault, on a rig with that one alone.
func (s *simulated) tempt() {
	type pair struct {
		fault, cell string
		part, item  int
	}
	var all []pair
	for _, name := range s.breaks {
		for i, p := range s.tutorial.Parts {
			for j, c := range p.Cells {
				if mustSee(name, c.ID) {
					all = append(all, pair{name, c.ID, i + 1, j + 1})
				}
			}
		}
	}
	if len(all) == 0 {
		return
	}
	s.repairAll()
	p := pick(s.rnd, all...)
	s.inject(p.fault)
	keys := []string{"esc", "esc", "esc", fmt.Sprint(p.part), "home"}
	for range p.item {
		keys = append(keys, "down")
	}
	s.press(append(keys, "enter")...)
	s.pass(time.Duration(s.rnd.IntN(int(90*time.Second))) + 1)
	s.see()
}

// wait lets time go by: from a moment to minutes, each as likely.
func (s *simulated) wait() {
	d := time.Duration(math.Exp(s.rnd.Float64()*math.Log(120_000))*float64(time.Millisecond)) +
		time.Duration(s.rnd.IntN(1000))
	s.say("wait %s", d)
	s.pass(d)
	s.see()
}

func (s *simulated) breakSomething() {
	name := pick(s.rnd, s.breaks...)
	if s.rnd.IntN(5) == 0 {
		name += "@" + pick(s.rnd, s.rig.Nodes()...)
	}
	s.inject(name)
	s.see()
}

func (s *simulated) inject(name string) {
	// A forgotten server has its port before the test's own, or not at all.
	if bare, _, _ := strings.Cut(name, "@"); (bare == "port-busy" || bare == "iperf-stuck" || bare == "stream-busy") &&
		s.told.busy() {
		return
	}
	s.say("break %s", name)
	if err := s.rig.Inject(name); err != nil {
		s.fail("%v", err)
	}
	if _, ok := s.hurt[name]; !ok {
		s.hurt[name] = time.Now()
	}
	s.told.faults(s.hurt)
	s.settle()
}

func (s *simulated) repairSomething() {
	all := slices.Sorted(maps.Keys(s.hurt))
	if len(all) == 0 {
		return
	}
	s.repair(pick(s.rnd, all...))
	s.settle()
	s.see()
}

func (s *simulated) repair(name string) {
	s.say("repair %s", name)
	if name == diskFull {
		s.fillNodes(false)
	}
	if err := s.rig.Clear(name); err != nil {
		s.fail("%v", err)
	}
	// One of the node's own repairs that of the name alone, too.
	bare, _, _ := strings.Cut(name, "@")
	for other := range s.hurt {
		if of, _, _ := strings.Cut(other, "@"); of == bare {
			delete(s.hurt, other)
			if err := s.rig.Clear(other); err != nil {
				s.fail("%v", err)
			}
		}
	}
	s.told.faults(s.hurt)
}

// resize makes the terminal another one, as small as can be or as large as a wall.
func (s *simulated) resize() {
	d := s.desk
	d.width, d.height = 1+s.rnd.IntN(220), 1+s.rnd.IntN(70)
	if s.rnd.IntN(2) == 0 {
		d.width, d.height = 60+s.rnd.IntN(60), 18+s.rnd.IntN(20)
	}
	s.say("resize %dx%d", d.width, d.height)
	s.send(tea.WindowSizeMsg{Width: d.width, Height: d.height})
	s.see()
}

// letters are the keys of a text.
func letters(text string) (names []string) {
	for _, r := range text {
		switch r {
		case ' ':
			names = append(names, "space")
		case '\n':
			names = append(names, "enter")
		default:
			names = append(names, string(r))
		}
	}
	return names
}

func (s *simulated) edit() {
	script := pick(s.rnd, "sleep 3\n", "echo hello\n", "exit 3\n", "ip -br addr\n", "sleep 20 &\n",
		"while :; do sleep 1; done\n", "echo \"unclosed\n")
	names := append([]string{"esc", "esc", pick(s.rnd, "E", "b", "a")}, letters(script)...)
	s.press(append(names, pick(s.rnd, "ctrl+s", "esc", "ctrl+c"), pick(s.rnd, "esc", "enter", "space"))...)
}

func (s *simulated) fillForm() {
	names := []string{"esc", "esc", "p"}
	for range s.rnd.IntN(4) {
		names = append(names, "down")
	}
	names = append(names, "ctrl+u")
	names = append(names, letters(pick(s.rnd, "1", "7", "65536", "-3", "x", "8M", "", "1e9"))...)
	s.press(append(names, pick(s.rnd, "enter", "enter", "esc", "ctrl+r", "ctrl+g"), "esc")...)
}

func (s *simulated) palette() {
	names := append([]string{"ctrl+p"},
		letters(pick(s.rnd, "mtu", "bond", "ping", "gauges", "run all", "quit", "zzz", "e", "interrupt", "undo"))...)
	s.press(append(names, pick(s.rnd, "enter", "enter", "esc", "down"), pick(s.rnd, "esc", "enter"))...)
}

func (s *simulated) lookFor() {
	names := append([]string{"esc", "/"}, letters(pick(s.rnd, "rail", "Gb/s", "PASS", "spark", "q", "["))...)
	s.press(append(names, "enter", "n", "n", "N", pick(s.rnd, "esc", "O", "enter"))...)
}

func (s *simulated) checklist() {
	s.press("esc", "esc", "C", pick(s.rnd, "A", "enter", "down", "end"), pick(s.rnd, "down", "enter", "f", "n"),
		pick(s.rnd, "f", "esc", "enter"))
}

func (s *simulated) paste() {
	s.say("paste")
	s.send(tea.PasteMsg{Content: pick(s.rnd, "one\ntwo\n", "\x1b[31mred\x00", strings.Repeat("long ", 300), "漢字\u202e")})
	s.see()
}

// answer is what a user makes of a question about a change.
func (s *simulated) answer() {
	switch {
	case s.rnd.IntN(4) == 0:
		s.wait()
	case s.changes && s.rnd.IntN(3) > 0:
		s.press("y")
	default:
		s.press(pick(s.rnd, "n", "esc", "down", "s", "ctrl+c"))
	}
}

func (s *simulated) lastSession() string {
	if d := s.desk; d.store != nil {
		return d.store.Store.Path()
	}
	return ""
}

// leaveAndReturn quits and opens the session again.
func (s *simulated) leaveAndReturn() {
	s.leave()
	path := s.lastSession()
	time.Sleep(time.Duration(1 + s.rnd.IntN(int(20*time.Second))))
	s.open(path)
	s.see()
}

// leave quits, from wherever one is, and holds the program to it.
func (s *simulated) leave() {
	s.say("leave")
	for range 12 {
		if s.desk.quit {
			break
		}
		s.send(keyOf("ctrl+c"))
		s.pass(time.Duration(100_000_003))
	}
	if !s.desk.quit {
		s.fail("ctrl+c does not quit, twelve times:\n%s", ansi.Strip(s.desk.model.View().Content))
	}
	s.close()
}

// end closes the session, and with it what the screen waits for; it may be called again.
func (d *simulatedDesk) end() {
	_ = d.session.Close()
	if d.told != nil && !d.ended {
		close(d.told.events)
		close(d.told.boards)
	}
	d.ended = true
}

// close is what the program does once its screen is gone.
func (s *simulated) close() {
	d := s.desk
	began := time.Now()
	d.end() // a node that does not answer is an error
	s.say("closed after %s", time.Since(began))
	// A session that waited in vain for room reports that.
	held := d.store != nil && len(d.store.held) > 0
	if _, err := d.session.Saved(); err != nil && !held || err == nil && held {
		s.fail("not saved: %v, while %t that there is something left to save", err, held)
	}
	s.full = false
	if d.store != nil {
		s.sound(d.store.Store.Path(), d.store.Book())
	}
}

// sound holds a saved session to what the screen had.
func (s *simulated) sound(path string, book steps.Notebook) {
	saved, err := notebook.Peek(path)
	if err != nil {
		s.fail("the session can't be read again: %v", err)
		return
	}
	if d := differing(book, saved.Book); d != "" {
		s.fail("the session that was saved is another: %s", d)
	}
	if s.rnd.IntN(4) > 0 {
		return
	}
	first, err := saved.Encode(s.began)
	if err != nil {
		s.fail("it can't be written: %v", err)
		return
	}
	again, err := notebook.Decode(first)
	if err != nil {
		s.fail("what is written can't be read: %v", err)
		return
	}
	if second, err := again.Encode(s.began); err != nil || string(second) != string(first) {
		s.fail("written, read and written it is another notebook (%v)", err)
	}
}

// differing says where two notebooks differ in what was run, and came of it.
func differing(a, b steps.Notebook) string {
	for _, c := range a.Tutorial.Cells() {
		if c.Note() {
			continue // one that was a script before is a note in the file, which has no output
		}
		x, y := a.Cells[c.ID], b.Cells[c.ID]
		if x.Run != y.Run || x.Running != y.Running || x.Verdict.Grade != y.Verdict.Grade ||
			x.Verdict.Reason != y.Verdict.Reason ||
			x.Output.Len() != y.Output.Len() {
			return fmt.Sprintf("%s: run %d %s %q, %d lines; and run %d %s %q, %d lines", c.ID,
				x.Run, x.Verdict.Grade, x.Verdict.Reason, x.Output.Len(), y.Run, y.Verdict.Grade, y.Verdict.Reason, y.Output.Len())
		}
	}
	ids := func(t steps.Tutorial) (all []string) {
		for _, c := range t.Cells() {
			all = append(all, c.ID)
		}
		return all
	}
	if x, y := ids(a.Tutorial), ids(b.Tutorial); !slices.Equal(x, y) {
		return fmt.Sprintf("the cells %q, and %q", x, y)
	}
	return ""
}

// kill ends the program without a word: its connections are cut, and what it had written of
// the session is opened again.
func (s *simulated) kill() {
	d := s.desk
	path := ""
	s.say("kill")
	var ended []string
	if d.store != nil {
		s.sessions++
		path = filepath.Join(s.dir, fmt.Sprintf("session-%d%s", s.sessions, notebook.Extension))
		for _, file := range []func(string) string{func(p string) string { return p }, notebook.JournalPath} {
			content, err := os.ReadFile(file(d.store.Store.Path()))
			if err == nil {
				err = os.WriteFile(file(path), content, 0o600)
			}
			if err != nil {
				s.fail("%v", err)
			}
		}
		book := d.store.Book()
		for id, c := range book.Cells {
			// What was cut out of the notebook is nowhere but in memory.
			if cell, there := book.Tutorial.Cell(id); there && !cell.Note() && !c.Running {
				ended = append(ended, fmt.Sprintf("%s %d %s %s", id, c.Run, c.Verdict.Grade, c.Verdict.Reason))
			}
		}
	}
	for _, n := range d.bench.options.Nodes {
		n.Close()
		synctest.Wait() // what the session makes of it comes before the next is cut
	}
	d.end()
	s.told.cut()
	time.Sleep(time.Duration(1 + s.rnd.IntN(int(5*time.Second))))
	s.open(path)
	if path != "" {
		book := s.desk.store.Book()
		for _, was := range ended {
			id, _, _ := strings.Cut(was, " ")
			c := book.Cells[id]
			if now := fmt.Sprintf("%s %d %s %s", id, c.Run, c.Verdict.Grade, c.Verdict.Reason); now != was {
				s.fail("after a kill, what was %q is %q", was, now)
			}
		}
	}
	s.see()
}

// age gives the nodes of some seeds counters that begin again soon.
func (s *simulated) age() {
	if s.rnd.IntN(4) > 0 {
		return
	}
	for _, n := range s.rig.Nodes() {
		if err := s.rig.NearEnd(n, uint64(1e9+s.rnd.Float64()*3e11)); err != nil {
			s.fail("%v", err)
		}
	}
}

// repairAll leaves nothing of what was broken.
func (s *simulated) repairAll() {
	for _, name := range slices.Sorted(maps.Keys(s.hurt)) {
		if _, still := s.hurt[name]; still {
			s.repair(name)
		}
	}
}

// reboot takes a node away, for some time, and starts it again. What its faults would be after that is not a table's:
// they are repaired before.
func (s *simulated) reboot() {
	s.repairAll()
	node := pick(s.rnd, s.rig.Nodes()...)
	away := time.Duration(math.Exp(s.rnd.Float64()*math.Log(180)) * float64(time.Second))
	s.say("reboot %s for %s", node, away)
	s.inject("peer-dead@" + node)
	s.told.rebooted()
	s.pass(away)
	s.see()
	if err := s.rig.Reboot(node); err != nil {
		s.fail("%v", err)
	}
	s.repair("peer-dead@" + node)
	s.settle()
	s.see()
}

// delay makes the way to a node slow, from a moment to half a minute, or fast again.
func (s *simulated) delay() {
	i := s.rnd.IntN(len(s.late))
	if s.late[i] == 0 {
		s.late[i] = time.Duration(math.Exp(s.rnd.Float64()*math.Log(30_000)) * float64(time.Millisecond))
	} else {
		s.late[i] = 0
	}
	s.say("spark-%02d answers after twice %s", i+1, s.late[i])
}

// fillDisk takes the room for the session's file, or makes some.
func (s *simulated) fillDisk() {
	s.full = !s.full
	s.say("no room here: %t", s.full)
}

// diskFull is the fault of nodes without room.
const diskFull = "disk-full"

// fillNode fills the nodes' disks, /tmp and all else.
func (s *simulated) fillNode() {
	if _, is := s.hurt[diskFull]; is {
		s.repair(diskFull)
		return
	}
	s.inject(diskFull)
	s.fillNodes(true)
	s.see()
}

func (s *simulated) fillNodes(full bool) {
	for _, n := range s.rig.Nodes() {
		if err := s.rig.Fill(n, full); err != nil {
			s.fail("%v", err)
		}
	}
}

// shiftClock sets a node's clock, by seconds or by days, forward or back.
func (s *simulated) shiftClock() {
	if slices.Contains(s.breaks, "clock-off") {
		return // whose day could be made up for
	}
	node := pick(s.rnd, s.rig.Nodes()...)
	by := time.Duration(math.Exp(s.rnd.Float64()*math.Log(1e6))*float64(time.Second)) * time.Duration(1-2*s.rnd.IntN(2))
	s.say("the clock of %s goes by %s", node, by)
	if err := s.rig.ShiftClock(node, by); err != nil {
		s.fail("%v", err)
	}
}

// settleNodes repairs the rig, lets all that goes back by itself go back, and compares the
// nodes with how they were.
func (s *simulated) settleNodes() {
	s.repairAll()
	s.late = [2]time.Duration{}
	time.Sleep(10 * time.Minute) // a change goes back after two, a supervisor after less
	kept := s.told.asked.kept
	s.found = append(s.found, s.told.lies...)
	networks, running := s.look()
	for e := range networks {
		for _, p := range running[e] {
			if !slices.Contains(s.running[e], p) {
				s.fail("an orphan on %s: %s", steps.End(e), p)
			}
		}
	}
	compare := func(when string, now [2]change.State) {
		for e := range now {
			if diff := change.Differences(s.networks[e], now[e], func(string) bool { return true }); diff != nil {
				s.fail("%s, the network of %s is another than at the start: %q", when, steps.End(e), diff)
			}
		}
	}
	if len(kept) == 0 {
		compare("nobody has kept a change", networks)
	}
	b := s.newBench()
	defer b.closeNodes()
	left, err := b.options.Journal.Entries()
	if err != nil {
		s.fail("the journal of changes: %v", err)
	}
	if len(left) == 0 {
		return
	}
	if err := session.Undo(context.Background(), b.options, left, func(string, ...any) {}); err != nil {
		s.fail("what is in the journal can't be taken back: %v", err)
		return
	}
	networks, _ = s.look()
	compare("everything was taken back", networks)
}

func (b *openRig) closeNodes() {
	for _, n := range b.options.Nodes {
		n.Close()
	}
}

// look is how the nodes' networks are, and what runs on them.
func (s *simulated) look() (networks [2]change.State, running [2][]string) {
	b := s.newBench()
	defer b.closeNodes()
	for e := range networks {
		text := func(name, script string) string {
			out, err := runner.Text(context.Background(), b.options.Nodes[e],
				runner.Script{Name: name, Body: script, Limit: time.Minute})
			if err != nil {
				s.fail("%s on %s: %v", name, steps.End(e), err)
			}
			return out
		}
		var err error
		if networks[e], err = change.Parse(text("look", change.Capture)); err != nil {
			s.fail("%v", err)
		}
		for l := range strings.Lines(text("ps", "ps -e\n")) {
			if f := strings.Fields(l); len(f) > 3 {
				running[e] = append(running[e], strings.Join(f[3:], " "))
			}
		}
	}
	return networks, running
}
