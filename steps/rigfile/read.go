package rigfile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"github.com/railbench/railbench/runner/etcd"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/pairs"
)

// Slurm is how a rig file and --nodes say that the nodes are those of an allocation of Slurm's.
const Slurm = nodeset.Allocation

// limit is how long a rig file may be.
const limit = 1 << 20

// Read reads a rig file. An error names the line and the key.
func Read(path string) (File, error) {
	src, err := safefile.Read(path, limit)
	if err != nil {
		return File{}, fmt.Errorf("read the rig file: %w", err)
	}
	return Parse(path, src)
}

// Parse reads the text of a rig file.
func Parse(path string, src []byte) (File, error) {
	var f File
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
	if f.Engine != "" && f.Engine != Slurm {
		return f, fmt.Errorf("%s:%d: unknown engine %q: write slurm, or leave it out for SSH", path,
			lineOf(src, `engine\s*=`, 1), f.Engine)
	}
	if err := checkNodes(path, src, f); err != nil {
		return f, err
	}
	if err := checkRails(path, src, f); err != nil {
		return f, err
	}
	if _, err := f.RailChoices(); err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// checkRails checks whether each rail uses the keys of the file's form.
func checkRails(path string, src []byte, f File) error {
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

// checkNodes checks the nodes of either form. At most one is local: two would be one machine under two names,
// whose rails lead nowhere. Names matter only among [[node]]s, where links and rails use them.
func checkNodes(path string, src []byte, f File) error {
	several := len(f.Nodes) > 0
	if several {
		if err := f.checkForm(); err != nil {
			return fmt.Errorf("%s:%d: %w", path, lineOf(src, `\[\[\s*node`, 1), err)
		}
	}
	if f.Engine == Slurm {
		if err := checkSlurm(path, src, f); err != nil {
			return err
		}
	}
	local := 0
	for i, n := range f.All() {
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
		if err := n.check(table, f.Engine); err != nil {
			return fmt.Errorf("%s:%d: %w", path, line(), err)
		}
		switch {
		case local > 1 && !several:
			return fmt.Errorf("%s:%d: here.local and peer.local: both nodes are this machine, and a rig has two", path, line())
		case local > 1:
			return fmt.Errorf("%s:%d: two nodes are local: one of them is this machine", path, line())
		}
	}
	return nil
}

// checkForm checks a file with [[node]] tables.
func (f File) checkForm() error {
	switch {
	case f.Here != Node{} || f.Peer != Node{}:
		return errors.New("the file has [[node]] tables, and [here] or [peer] too: keep one of both")
	case len(f.Nodes) < 2 || len(f.Nodes) > steps.MostNodes:
		return fmt.Errorf("a rig has from 2 to %d nodes, and the file %d", steps.MostNodes, len(f.Nodes))
	}
	return nil
}

// check checks one node, whose table has a name.
func (n Node) check(table, engine string) error {
	switch {
	case n.SSH == "" && !n.Local && engine != Slurm:
		return fmt.Errorf("[%s] needs ssh = \"user@host\", or local = true", table)
	case n.SSH != "" && n.Local:
		return fmt.Errorf("[%s] has both ssh and local: remove one of them", table)
	case hasControl(n.Name):
		return fmt.Errorf("%s.name %q has a control character", table, n.Name)
	}
	return nil
}

// checkName checks the name of a [[node]]: links and rails use it.
func checkName(nodes []Node, i int) error {
	name := nodes[i].Name
	switch {
	case name == "":
		return fmt.Errorf("[[node %d]] needs a name, which links and rails use", i+1)
	case strings.ContainsAny(name, ": ,"):
		return fmt.Errorf("name %q: a node's name has no colon, comma or blank: a link is NAME:NAME", name)
	case slices.ContainsFunc(nodes[:i], func(x Node) bool { return x.Name == name }):
		return fmt.Errorf("two nodes have the name %q", name)
	}
	return nil
}

// checkSlurm looks at the nodes of a rig file whose engine is Slurm: they have names and nothing more.
func checkSlurm(path string, src []byte, f File) error {
	for i, n := range f.Nodes {
		line := func() int { return lineOf(src, `\[\[\s*node`, i+1) }
		if n.SSH != "" || n.Local {
			return fmt.Errorf("%s:%d: [node %d] has ssh or local, and the file's engine is Slurm, which knows nodes by their "+
				"names",
				path, line(), i+1)
		}
		if err := nodeset.Check("node", n.Name); err != nil {
			return fmt.Errorf("%s:%d: %w", path, line(), err)
		}
	}
	if len(f.Nodes) == 0 {
		return fmt.Errorf("%s:%d: engine = \"slurm\" goes with [[node]] tables, each with Slurm's name of a node",
			path, lineOf(src, `engine\s*=`, 1))
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
