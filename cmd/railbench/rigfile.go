package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/railbench/railbench/steps/pairs"

	"github.com/pelletier/go-toml/v2"

	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/session"
)

// A rigFile says how the nodes are reached. What they have is not in it: that is found
// out each time. Two nodes are [here] and [peer]; any number of them, two or more, are
// [[node]] tables, and the link under test is chosen among those.
type rigFile struct {
	Name string `toml:"name" comment:"shown in the workbench"`
	// SSHConfig replaces ~/.ssh/config.
	SSHConfig string `toml:"ssh_config,omitempty" comment:"read in place of ~/.ssh/config"`
	// Etcd takes the place of the one that railbench runs itself.
	Etcd string `toml:"etcd,omitempty" comment:"an etcd that is there already and that every node reaches, http://HOST:PORT"`
	// Engine is how the nodes are reached: over SSH where it is empty.
	Engine string   `toml:"engine,omitempty" comment:"slurm: the nodes are those of the allocation that railbench is started in"`
	Here   nodeFile `toml:"here,omitempty" comment:"the node where the clients run"`
	Peer   nodeFile `toml:"peer,omitempty" comment:"the node where the servers run"`
	// Nodes take the place of Here and Peer.
	Nodes []nodeFile `toml:"node,omitempty" comment:"the nodes; the first two are the link under test until another is chosen"`
	// Rails choose and order the pairs; without them every pair that is found is used.
	Rails []railFile `toml:"rail,omitempty" comment:"the pairs of rails, in the order in which the cells use them"`
}

type nodeFile struct {
	Name  string `toml:"name"`
	SSH   string `toml:"ssh,omitempty" comment:"user@host[:port], or a name from ~/.ssh/config"`
	Local bool   `toml:"local,omitempty"`
}

// A railFile names a rail by its RDMA devices: at here and the peer, or, in a file of
// [[node]] tables, as NODE:DEVICE at both ends.
type railFile struct {
	Here string `toml:"here,omitempty"`
	Peer string `toml:"peer,omitempty"`
	A    string `toml:"a,omitempty"`
	B    string `toml:"b,omitempty"`
}

// nodes are those of either form, in order.
func (f rigFile) nodes() []nodeFile {
	if len(f.Nodes) > 0 {
		return f.Nodes
	}
	return []nodeFile{f.Here, f.Peer}
}

// choices are the rails that the file names, each with its link.
func (f rigFile) choices() ([]session.RailChoice, error) {
	var all []session.RailChoice
	for i, r := range f.Rails {
		if len(f.Nodes) == 0 {
			all = append(all, session.RailChoice{Link: steps.DefaultLink, Here: r.Here, Peer: r.Peer})
			continue
		}
		var at [2]int
		var dev [2]string
		for j, text := range []string{r.A, r.B} {
			name, device, ok := strings.Cut(text, ":")
			at[j] = slices.IndexFunc(f.Nodes, func(n nodeFile) bool { return n.Name == name })
			if dev[j] = device; !ok || device == "" || at[j] < 0 {
				return nil, fmt.Errorf("rail %d: %q is not NODE:DEVICE with the name of a [[node]]", i+1, text)
			}
		}
		if at[0] == at[1] {
			return nil, fmt.Errorf("rail %d leads from %s to itself", i+1, f.Nodes[at[0]].Name)
		}
		all = append(all, session.RailChoice{Link: steps.Link{Here: at[0], Peer: at[1]}, Here: dev[0], Peer: dev[1]})
	}
	return all, nil
}

// rigPath is where init writes the rig file and where it is looked for: ~/.config, or
// $XDG_CONFIG_HOME, on Linux.
func rigPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err == nil {
		err = isWhole(dir)
	}
	if err != nil {
		return "", fmt.Errorf("find the configuration folder: %w", err)
	}
	return filepath.Join(dir, "railbench", "rig.toml"), nil
}

// stateDir holds logs and the virtual rig: $XDG_STATE_HOME/railbench.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "railbench"), nil
	}
	home, err := os.UserHomeDir()
	if err == nil {
		err = isWhole(home)
	}
	if err != nil {
		return "", fmt.Errorf("find the state folder: %w", err)
	}
	return filepath.Join(home, ".local", "state", "railbench"), nil
}

// isWhole refuses a home that depends on the working folder, which may be anybody's.
func isWhole(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("$HOME makes it %s, below the working folder: set a whole path", dir)
	}
	return nil
}

// rigLimit is how long a rig file may be.
const rigLimit = 1 << 20

// readRig reads a rig file. An error names the line and the key.
func readRig(path string) (rigFile, error) {
	src, err := safefile.Read(path, rigLimit)
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == path {
		return rigFile{}, fmt.Errorf("--rig %s: no such file here; the built-in rigs are sim and %s%s", path,
			ringRig, steps.DidYouMean(path, []string{"sim", ringRig}))
	}
	if err != nil {
		return rigFile{}, fmt.Errorf("read the rig file: %w", err)
	}
	return parseRig(path, src)
}

func parseRig(path string, src []byte) (rigFile, error) {
	var f rigFile
	dec := toml.NewDecoder(bytes.NewReader(src))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return f, rigError(path, err)
	}
	if hasControl(f.Name) {
		return f, fmt.Errorf("%s:%d: name %q has a control character", path, lineOf(src, `name\s*=`, 1), f.Name)
	}
	if f.Etcd != "" {
		if err := etcd.Check(f.Etcd); err != nil {
			return f, fmt.Errorf("%s:%d: %w", path, lineOf(src, `etcd\s*=`, 1), err)
		}
	}
	if f.Engine != "" && f.Engine != slurmEngine {
		return f, fmt.Errorf("%s:%d: unknown engine %q: write slurm, or leave it out for SSH", path,
			lineOf(src, `engine\s*=`, 1), f.Engine)
	}
	if err := checkNodes(path, src, f); err != nil {
		return f, err
	}
	if err := checkRails(path, src, f); err != nil {
		return f, err
	}
	if _, err := f.choices(); err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// checkRails looks at whether each rail is told in the words of the file's form.
func checkRails(path string, src []byte, f rigFile) error {
	line := func(i int) int { return lineOf(src, `\[+\s*rail\s*\]`, i+1) }
	if most := pairs.MostRails * steps.MostNodes; len(f.Rails) > most {
		return fmt.Errorf("%s:%d: there are %d rails, and a rig has %d at most", path, line(most), len(f.Rails), most)
	}
	for i, r := range f.Rails {
		switch {
		case len(f.Nodes) == 0 && (r.Here == "" || r.Peer == ""):
			return fmt.Errorf("%s:%d: rail %d needs here and peer, the RDMA devices at its two ends", path, line(i), i+1)
		case len(f.Nodes) == 0 && r.A+r.B != "":
			return fmt.Errorf("%s:%d: rail %d: a and b go with [[node]] tables; [here] and [peer] have here and peer",
				path, line(i), i+1)
		case len(f.Nodes) > 0 && (r.A == "" || r.B == "" || r.Here+r.Peer != ""):
			return fmt.Errorf("%s:%d: rail %d needs a and b, NODE:DEVICE at its two ends", path, line(i), i+1)
		}
	}
	return nil
}

// checkNodes looks at the nodes of either form. At most one is local: two would be one
// machine under two names, whose rails lead nowhere. Names matter only among [[node]]s,
// where links and rails are told by them.
func checkNodes(path string, src []byte, f rigFile) error {
	several := len(f.Nodes) > 0
	switch {
	case several && (f.Here != nodeFile{} || f.Peer != nodeFile{}):
		return fmt.Errorf("%s:%d: the file has [[node]] tables, and [here] or [peer] too: keep one of both",
			path, lineOf(src, `\[\[\s*node`, 1))
	case several && (len(f.Nodes) < 2 || len(f.Nodes) > steps.MostNodes):
		return fmt.Errorf("%s:%d: a rig has from 2 to %d nodes, and the file %d",
			path, lineOf(src, `\[\[\s*node`, 1), steps.MostNodes, len(f.Nodes))
	}
	if f.Engine == slurmEngine {
		if err := checkSlurm(path, src, f); err != nil {
			return err
		}
	}
	local := 0
	for i, n := range f.nodes() {
		table, line := steps.Ends[min(i, 1)].String(), func() int { return lineOf(src, `\[\[\s*node`, i+1) }
		if several {
			table = fmt.Sprintf("node %d", i+1)
			if err := checkName(f.Nodes, i); err != nil {
				return fmt.Errorf("%s:%d: %w", path, line(), err)
			}
		} else {
			line = func() int { return lineOf(src, `(\[\s*)?`+table+`\s*[].=]`, 1) }
		}
		if n.Local {
			local++
		}
		switch {
		case n.SSH == "" && !n.Local && f.Engine != slurmEngine:
			return fmt.Errorf("%s:%d: [%s] needs ssh = \"user@host\", or local = true", path, line(), table)
		case n.SSH != "" && n.Local:
			return fmt.Errorf("%s:%d: [%s] has both ssh and local: remove one of them", path, line(), table)
		case hasControl(n.Name):
			return fmt.Errorf("%s:%d: %s.name %q has a control character", path, line(), table, n.Name)
		case local > 1 && !several:
			return fmt.Errorf("%s:%d: here.local and peer.local: both nodes are this machine, and a rig has two", path, line())
		case local > 1:
			return fmt.Errorf("%s:%d: two nodes are local: one of them is this machine", path, line())
		}
	}
	return nil
}

// checkName looks at the name of a [[node]]: links and rails are told by it.
func checkName(nodes []nodeFile, i int) error {
	name := nodes[i].Name
	switch {
	case name == "":
		return fmt.Errorf("[[node %d]] needs a name, which links and rails use", i+1)
	case strings.ContainsAny(name, ": ,"):
		return fmt.Errorf("name %q: a node's name has no colon, comma or blank: a link is NAME:NAME", name)
	case slices.ContainsFunc(nodes[:i], func(x nodeFile) bool { return x.Name == name }):
		return fmt.Errorf("two nodes have the name %q", name)
	}
	return nil
}

// hasControl finds what could pretend to be another line: a node's name stands in
// the comments of a dry run.
func hasControl(name string) bool { return strings.ContainsFunc(name, unicode.IsControl) }

// lineOf finds the nth line that begins with a pattern, for an error about what
// is missing there; the first line of the file where there is none.
func lineOf(src []byte, pattern string, n int) int {
	begins := regexp.MustCompile(`^\s*` + pattern)
	line := 1
	for text := range bytes.Lines(src) {
		if begins.Match(text) {
			if n--; n == 0 {
				return line
			}
		}
		line++
	}
	return 1
}

var rigKeys = []string{
	"name", "ssh_config", "etcd", "engine", "here", "peer", "rail",
	"here.name", "here.ssh", "here.local", "peer.name", "peer.ssh", "peer.local", "rail.here", "rail.peer",
	"node", "node.name", "node.ssh", "node.local", "rail.a", "rail.b",
}

// rigError says where the file is wrong in the form that editors jump to, FILE:LINE:COLUMN.
func rigError(path string, err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		row, _ := first.Position()
		key := cutKey(first.Key())
		return fmt.Errorf("%s:%d: unknown key %q%s", path, row, key, steps.DidYouMean(key, rigKeys))
	}
	if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := syntax.Position()
		key := cutKey(syntax.Key())
		if m := wrongType.FindStringSubmatch(syntax.Error()); m != nil && key != "" {
			return fmt.Errorf("%s:%d:%d: %s is %s here, and must be %s", path, row, column, key, article(m[1]), wanted(key))
		}
		at := ""
		if key != "" {
			at = " at key " + key
		}
		return fmt.Errorf("%s:%d:%d%s: %s", path, row, column, at, strings.TrimPrefix(syntax.Error(), "toml: "))
	}
	return fmt.Errorf("%s: %w", path, err)
}

// cutKey is a key as an error quotes it: a short file can have one of thousands of words.
func cutKey(words []string) string {
	const most = 8
	if len(words) > most {
		return strings.Join(words[:most], ".") + "…"
	}
	return strings.Join(words, ".")
}

// wrongType is how go-toml says that a value has another type than the field.
var wrongType = regexp.MustCompile(`cannot (?:decode|store) TOML (\w+) in`)

func article(word string) string {
	if strings.ContainsAny(word[:1], "aeiou") {
		return "an " + word
	}
	return "a " + word
}

// wanted is what a key takes.
func wanted(key string) string {
	switch {
	case key == "here" || key == "peer":
		return "a table: [" + key + "]"
	case key == "rail" || key == "node":
		return "tables, each beginning with [[" + key + "]]"
	case strings.HasSuffix(key, ".local"):
		return "true or false"
	default:
		return `a string: "…"`
	}
}

// writeRig writes a rig file whole or not at all, and never over another unless forced.
func writeRig(path string, f rigFile, force bool) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return usage(fmt.Errorf("%s exists: give --force to replace it, or -o FILE to write another", path))
	}
	body, err := toml.Marshal(f)
	if err != nil {
		return fmt.Errorf("write the rig file: %w", err)
	}
	err = os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		body = append([]byte("# railbench's rig file: how the nodes are reached.\n"), body...)
		err = safefile.Replace(path, body, 0o600)
	}
	if err == nil {
		return nil
	}
	return notWritten(fmt.Errorf("write the rig file: %w", err))
}
