// Package launch is how a program is started on all nodes of a rig at once, as a collective
// needs it: by the user's own mpirun or srun. A launcher is data (assets/launchers, and files of
// the user's); here its command line is made of typed fields, and what it started is looked for
// on every node once the run is over. What the program then says is its family's to judge.
package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/lazyregexp"
)

// MarkVariable is in the environment of everything that a launcher starts, on each node, with the
// run's name as its value.
const MarkVariable = "RAILBENCH_LAUNCH"

// A Launcher is how a program is started on several nodes: what a file of launchers says.
type Launcher struct {
	Name string `toml:"-"` // of its file
	// Does says what it is, in a few words.
	Does    string `toml:"does"`
	Program string `toml:"program"`
	Package string `toml:"package"` // that brings the program; may be empty
	// Nodes is how a node is named to it: "address", as railbench reaches it, or "name".
	Nodes string `toml:"nodes"`
	// Host is how a host is written in {hosts}, and Separator what stands between two.
	Host      string `toml:"host"`
	Separator string `toml:"separator"`
	// Arguments are words with {hosts}, {nodes}, {ranks}, {per_node} and {mark} in them.
	Arguments []string `toml:"arguments"`
	// Environment is the launcher's own.
	Environment map[string]string `toml:"environment"`
}

// A Request is what is to be started, and where.
type Request struct {
	Hosts   []string // names or addresses, a node each
	PerNode int      // processes on each
	Mark    string   // the run's name
}

// Bounds of what a file may say.
const (
	maxFile  = 64 << 10 // bytes
	maxWords = 100
)

var (
	// hostForm is what a host may be called: neither an option, nor two hosts.
	hostForm = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)
	markForm = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,63}$`)
	nameForm = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	holes    = lazyregexp.New(`\{[^{}]*\}`)
)

// Read reads a launcher's file; name is the file's, without its ending. The error names the file
// and what is wrong with it.
func Read(name string, text []byte) (Launcher, error) {
	l := Launcher{Name: name, Nodes: "address", Host: "{host}", Separator: ","}
	if len(text) > maxFile {
		return l, fmt.Errorf("the launcher %s: its file has more than %d bytes", name, maxFile)
	}
	d := toml.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&l)
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		err = fmt.Errorf("line %d: %s is not a field of a launcher", row, strings.Join(strict.Errors[0].Key(), "."))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := wrong.Position()
		err = fmt.Errorf("line %d, column %d: %s", row, column, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return l, fmt.Errorf("the launcher %s: %w", name, err)
	}
	return l, nil
}

// check says what is wrong with a launcher.
func (l Launcher) check() error {
	switch {
	case !steps.IsID(l.Name):
		return errors.New("its name takes small letters, digits and -")
	case !steps.IsCommand(path.Base(l.Program)) || strings.HasPrefix(path.Base(l.Program), "-"):
		return fmt.Errorf("program is %q, and has to be a command or a path of one", l.Program)
	case l.Nodes != "address" && l.Nodes != "name":
		return fmt.Errorf("nodes is %q: address or name", l.Nodes)
	case !strings.Contains(l.Host, "{host}"):
		return errors.New("host has no {host} in it")
	case !slices.ContainsFunc(l.Arguments, func(w string) bool { return strings.Contains(w, "{hosts}") }):
		return errors.New("no argument has {hosts}: so it would not know where to start")
	case len(l.Arguments) > maxWords || len(l.Environment) > maxWords:
		return fmt.Errorf("it has more than %d words", maxWords)
	}
	return l.checkTexts()
}

// checkTexts says what is wrong with the words of a launcher's command line.
func (l Launcher) checkTexts() error {
	known := map[string][]string{
		"host": {"{host}", "{per_node}"}, "arguments": {"{hosts}", "{nodes}", "{ranks}", "{per_node}", "{mark}"},
	}
	texts := map[string][]string{"host": {l.Host, l.Separator}, "arguments": append(slices.Clone(l.Arguments), l.Program)}
	for name, value := range l.Environment {
		if !nameForm.Regexp().MatchString(name) {
			return fmt.Errorf("%q is not a variable", name)
		}
		texts["arguments"] = append(texts["arguments"], value)
	}
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		for _, text := range texts[field] {
			if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || runner.Hidden(r) }) {
				return fmt.Errorf("%q has an invisible character", text)
			}
			for _, hole := range holes.Regexp().FindAllString(text, -1) {
				if !slices.Contains(known[field], hole) {
					return fmt.Errorf("%s is unknown in %s: %s", hole, field, strings.Join(known[field], ", "))
				}
			}
		}
	}
	return nil
}

// Words are the launcher's command line, up to the program that it shall start, which carries the
// run's mark everywhere. Nothing of it is shell: each word goes to the launcher as it stands. The
// error names a host or a number that can't be one.
func (l Launcher) Words(r Request) ([]string, error) {
	if len(r.Hosts) == 0 || r.PerNode <= 0 {
		return nil, fmt.Errorf("%d nodes with %d processes each are nothing to start", len(r.Hosts), r.PerNode)
	}
	if !markForm.Regexp().MatchString(r.Mark) {
		return nil, fmt.Errorf("%q is not a run's name", r.Mark)
	}
	perNode := strconv.Itoa(r.PerNode)
	var hosts []string
	for _, host := range r.Hosts {
		if !hostForm.Regexp().MatchString(host) {
			return nil, fmt.Errorf("%q is not a host that %s could be given: set LAUNCH_HOSTS", host, l.Program)
		}
		if slices.Contains(r.Hosts[:len(hosts)], host) {
			return nil, fmt.Errorf("two nodes are called %s: set LAUNCH_HOSTS", host)
		}
		hosts = append(hosts, strings.NewReplacer("{host}", host, "{per_node}", perNode).Replace(l.Host))
	}
	mark := MarkVariable + "=" + r.Mark
	fill := strings.NewReplacer("{hosts}", strings.Join(hosts, l.Separator), "{nodes}", strconv.Itoa(len(hosts)),
		"{ranks}", strconv.Itoa(len(hosts)*r.PerNode), "{per_node}", perNode, "{mark}", mark)
	words := []string{"env", mark}
	for _, name := range slices.Sorted(maps.Keys(l.Environment)) {
		words = append(words, name+"="+l.Environment[name])
	}
	words = append(words, l.Program)
	for _, w := range l.Arguments {
		words = append(words, fill.Replace(w))
	}
	return append(words, "env", mark), nil
}

// Launchers are those that are known, by name.
type Launchers map[string]Launcher

// Load reads all files NAME.toml of a folder. One that is wrong is an error, and left out.
func Load(folder fs.FS) (Launchers, error) {
	all := Launchers{}
	names, err := fs.Glob(folder, "*.toml")
	var wrong []error
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("read the launcher %s: %w", name, err))
			continue
		}
		l, err := Read(strings.TrimSuffix(name, ".toml"), text)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all[l.Name] = l
	}
	return all, errors.Join(append(wrong, err)...)
}

// Names are the launchers', sorted.
func (all Launchers) Names() []string { return slices.Sorted(maps.Keys(all)) }
