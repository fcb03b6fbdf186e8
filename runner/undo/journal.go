package undo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/safefile"
)

// A Journal is the folder in which the rollback scripts of changes are kept on this machine: one file for
// each change, written before anything is changed and removed when everything is rolled back.
type Journal struct{ Dir string }

// An Entry is one change over the nodes of a rig.
type Entry struct {
	ID  string `json:"id"`
	Rig string `json:"rig"`
	// Reach are the flags by which railbench finds the rig again; entries of old versions
	// have none.
	Reach []string  `json:"reach,omitempty"`
	Cell  string    `json:"cell"` // the cell that made it
	At    time.Time `json:"at"`
	// Kept says that it was confirmed on every node. A change that was not goes
	// back by itself.
	Kept  bool    `json:"kept"`
	Nodes []Place `json:"nodes"`
	// Until is when the nodes go back by themselves, for who has made the change and runs still.
	Until time.Time `json:"-"`
}

// A Place is what was changed on one node.
type Place struct {
	Name  string `json:"name"`
	Where string `json:"where"` // how it was reached
	// Boot names the node's boot: after another one nothing is left to undo.
	Boot string `json:"boot"`
	// Guard is the change's id on the node.
	Guard string `json:"guard"`
	// Back is the script that puts the node back.
	Back string `json:"back"`
	// Set are the interfaces of the change.
	Set []string `json:"set"`
	// Before is the captured state, as the caller that made the entry wrote it.
	Before json.RawMessage `json:"before"`
}

// Write keeps an entry, in place of an older one of the same id. It is on the
// disk when Write returns.
func (j Journal) Write(e Entry) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the undo journal: %w", err)
		}
	}()
	if err := os.MkdirAll(j.Dir, 0o700); err != nil {
		return err
	}
	if err := safefile.Keeps(j.Dir); err != nil {
		return err
	}
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	if err := safefile.Replace(j.file(e.ID), append(b, '\n'), 0o600); err != nil {
		return err
	}
	return syncDir(j.Dir)
}

// Remove forgets an entry; one that is gone already is not an error.
func (j Journal) Remove(id string) error {
	if err := os.Remove(j.file(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the undo journal: %w", err)
	}
	return nil
}

// Entries lists the changes, oldest first. A file that cannot be read is in the
// error, and the others are listed all the same.
func (j Journal) Entries() ([]Entry, error) {
	files, err := os.ReadDir(j.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the undo journal: %w", err)
	}
	// What is in them runs as root on the nodes.
	if err := safefile.Keeps(j.Dir); err != nil {
		return nil, fmt.Errorf("read the undo journal: %w", err)
	}
	var all []Entry
	var errs []error
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), suffix) || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		var e Entry
		b, err := safefile.ReadOwn(filepath.Join(j.Dir, f.Name()), entryLimit)
		if err == nil {
			err = json.Unmarshal(b, &e)
		}
		// Remove goes by the id: an entry in another's file could never be forgotten.
		if err == nil && (e.ID == "" || j.file(e.ID) != filepath.Join(j.Dir, f.Name())) {
			err = errors.New("it is not an entry of the undo journal")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read the undo journal: %s: %w", filepath.Join(j.Dir, f.Name()), err))
			continue
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.At.Compare(b.At) })
	return all, errors.Join(errs...)
}

const suffix = ".json"

// entryLimit is more than the rollback script of a node with a thousand interfaces takes.
const entryLimit = 16 << 20

func (j Journal) file(id string) string { return filepath.Join(j.Dir, filepath.Base(id)+suffix) }

// syncDir makes a rename durable, or returns why it can't: without the rollback script nothing is changed.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// String is a change in one line.
func (c Entry) String() string {
	var where []string
	for _, p := range c.Nodes {
		where = append(where, fmt.Sprintf("%s (%s)", p.Name, strings.Join(p.Set, " ")))
	}
	state := "kept"
	if !c.Kept {
		state = "not confirmed: rolled back automatically"
	}
	return fmt.Sprintf("%s  %s  %s, %s", c.At.Local().Format(time.DateTime), c.Cell, strings.Join(where, " and "), state)
}
