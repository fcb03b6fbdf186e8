package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/railbench/railbench/runner"
	"github.com/railbench/railbench/runner/nodeset"
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/trust"
)

// An inventoryFile is a file of Ansible's. Ansible runs it where it is a program, and loads the plug-in that it names.
type inventoryFile struct {
	path, text string // the whole path
	mode       fs.FileMode
	runs       bool
}

// inventoryLimit is how long an inventory may be, in bytes.
const inventoryLimit = 4 << 20

// namesPlugin is how a YAML or JSON file asks for a plug-in. Whatever this misses runs no plug-in: Ansible is given its
// INI and YAML readers alone then.
var namesPlugin = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[\s{,"'-]*plugin["']?\s*:`)
})

func readInventory(file string) (inv inventoryFile, err error) {
	if inv.path, err = filepath.Abs(file); err != nil {
		return inv, fmt.Errorf("--inventory: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return inv, fmt.Errorf("read the inventory: %w", err)
	}
	if info.IsDir() {
		return inv, fmt.Errorf("%s is a folder: give one of its files", file)
	}
	src, err := safefile.Read(file, inventoryLimit)
	if err != nil {
		return inv, fmt.Errorf("read the inventory: %w", err)
	}
	inv.text, inv.mode = string(src), info.Mode()
	inv.runs = info.Mode()&0o111 != 0 || strings.HasPrefix(inv.text, "#!") || namesPlugin().MatchString(inv.text)
	return inv, nil
}

// trusted is what is trusted of it: all that it says, and where.
func (i inventoryFile) trusted() string { return strconv.Quote(i.path) + "\n" + strconv.Quote(i.text) }

// trustInventory refuses an inventory from which Ansible would run something that this user has not trusted, or
// trusts it where the user says so.
func trustInventory(book *trust.Book, file string, inv inventoryFile, trusted bool) error {
	switch {
	case !inv.runs, book.TrustedProgram("inventory", inv.trusted()):
		return nil
	case trusted:
		if err := book.TrustProgram("inventory", inv.trusted()); err != nil {
			return unwritten(err)
		}
		return nil
	}
	return fmt.Errorf("inventory %s is a program or names a plug-in, which Ansible runs on this machine, and you have "+
		"not trusted it as it is now: railbench trust %[1]s shows it and asks", file)
}

// trustsInventory is railbench trust for an inventory.
func trustsInventory(path string) (trusting, error) {
	inv, err := readInventory(path)
	if err != nil {
		return trusting{}, usage(err)
	}
	book := newTrust(steps.Tutorial{})
	if !inv.runs || book.TrustedProgram("inventory", inv.trusted()) {
		return trusting{}, nil
	}
	return trusting{
		what: "the inventory", where: "on this machine",
		show: func(out io.Writer) {
			sanitize.Fprintf(out, "# --- run by Ansible on this machine, in your name (%s)\n%s\n", inv.path,
				sanitize.Several(strings.TrimRight(inv.text, "\n")))
		},
		trust: func() error { return book.TrustProgram("inventory", inv.trusted()) },
	}, nil
}

// isInventory reports whether a file's name is one of an Ansible inventory.
func isInventory(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case "", ".ini", ".yml", ".yaml", ".json", ".sh", ".py":
		return true
	}
	return false
}

// inventoried is the inventory of the flags, as Ansible reads it.
func (f rigFlags) inventoried(ctx context.Context) (*nodeset.Inventory, error) {
	file, err := readInventory(f.inventory)
	if err != nil {
		return nil, err
	}
	if err := trustInventory(newTrust(steps.Tutorial{}), f.inventory, file, f.trust); err != nil {
		return nil, err
	}
	path := file.path
	if file.runs {
		folder, err := copyInventory(file)
		if err != nil {
			return nil, fmt.Errorf("inventory %s: %w", f.inventory, err)
		}
		defer func() { _ = folder.Remove() }() // what is left of it is this user's own
		path = filepath.Join(folder.Path, filepath.Base(path))
	}
	printed, err := runner.AskAnsible(ctx, path, file.runs)
	if err != nil {
		return nil, fmt.Errorf("read the inventory %s: %w", f.inventory, err)
	}
	return nodeset.ReadInventory(f.inventory, []byte(printed))
}

// grouped are the nodes of a list with groups, as ClusterShell reads it.
func (f rigFlags) grouped(ctx context.Context) ([]nodeset.Node, error) {
	if nodeset.NamesAllocation(f.nodeList) {
		return nil, errors.New(`"slurm" and ClusterShell's groups can't be in one list: write the names`)
	}
	names, err := runner.AskClusterShell(ctx, f.nodeList)
	if err != nil || strings.TrimSpace(names) == "" {
		return nil, err
	}
	nodes, err := nodeset.Finder{}.Nodes(names)
	for i := range nodes {
		nodes[i].From = "nodeset -e"
	}
	return nodes, err
}
