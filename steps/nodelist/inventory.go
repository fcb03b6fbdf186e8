package nodelist

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
	"github.com/railbench/railbench/steps/sanitize"
	"github.com/railbench/railbench/steps/trust"
)

// A File is an inventory. Ansible runs it where it is a program, and loads the plug-in that it names.
type File struct {
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

// Read reads an inventory.
func Read(file string) (inv File, err error) {
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

// Request is what Ansible would run on this machine of the inventory.
func (f File) Request(book *trust.Book) trust.Request {
	if !f.runs {
		return trust.Request{}
	}
	all := strconv.Quote(f.path) + "\n" + strconv.Quote(f.text)
	return book.Local("the inventory", "inventory", all, func(out io.Writer) {
		sanitize.Fprintf(out, "# --- run by Ansible on this machine, in your name (%s)\n%s\n", f.path,
			sanitize.Several(strings.TrimRight(f.text, "\n")))
	})
}

// HasName reports whether a file's name is one of an Ansible inventory.
func HasName(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case "", ".ini", ".yml", ".yaml", ".json", ".sh", ".py":
		return true
	}
	return false
}

// inventoried is the inventory, as Ansible reads it.
func (l List) inventoried(ctx context.Context) (*nodeset.Inventory, error) {
	file, err := Read(l.Inventory)
	if err != nil {
		return nil, err
	}
	if err := l.Allow(file.Request(l.Trust), fmt.Errorf("inventory %s is a program or names a plug-in, which Ansible "+
		"runs on this machine, and you have not trusted it as it is now: railbench trust %[1]s shows it and asks",
		l.Inventory)); err != nil {
		return nil, err
	}
	path := file.path
	if file.runs {
		folder, err := file.copied(l.State)
		if err != nil {
			return nil, fmt.Errorf("inventory %s: %w", l.Inventory, err)
		}
		defer func() { _ = folder.Remove() }() // what is left of it is this user's own
		path = filepath.Join(folder.Path, filepath.Base(path))
	}
	printed, err := runner.AskAnsible(ctx, path, file.runs)
	if err != nil {
		return nil, fmt.Errorf("read the inventory %s: %w", l.Inventory, err)
	}
	return nodeset.ReadInventory(l.Inventory, []byte(printed))
}

// mostBeside bounds what a copied inventory still finds in its folder.
const mostBeside = 1000

// copied writes an inventory that runs something by its own name. What lay next to it, such as group_vars or
// what the program reads, is there as well.
func (f File) copied(state string) (*safefile.Folder, error) {
	folder, err := trust.PrivateFolder(state)
	if err != nil {
		return nil, err
	}
	from, name := filepath.Split(f.path)
	err = os.WriteFile(filepath.Join(folder.Path, name), []byte(f.text), f.mode.Perm()&0o100|0o600)
	if beside, readErr := os.ReadDir(from); err == nil && readErr == nil && len(beside) <= mostBeside {
		for _, e := range beside {
			if e.Name() != name && err == nil {
				err = os.Symlink(filepath.Join(from, e.Name()), filepath.Join(folder.Path, e.Name()))
			}
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy it: %w", err), folder.Remove())
	}
	return folder, nil
}
