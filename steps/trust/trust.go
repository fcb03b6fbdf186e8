// Package trust says whose scripts may run. What railbench brings itself may, and so may what its user has written;
// what came in another user's file is shown, and runs once the user has said so of exactly that content.
//
// It knows cells and a folder of hashes. Who asks the user, and how, is not known here.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
)

// keep is how many hashes the folder holds: the oldest go.
const keep = 5000

// A Book knows what may run. It is safe for use by several goroutines.
type Book struct {
	dir      string         // empty where nothing lasts
	tutorial steps.Tutorial // whose cells are in trusted once anybody has asked

	mu      sync.Mutex
	trusted map[string]bool // of railbench's own cells, and of what was trusted here
	// foreign are the hashes of what was met and is not trusted: it does not become the
	// user's own because he has removed it and brings it back.
	foreign map[string]bool
}

// New is a book with the cells of a tutorial, which need no trust, and the folder of what
// was trusted before. Without a folder what is trusted lasts as long as the book.
func New(dir string, t steps.Tutorial) *Book {
	return &Book{dir: dir, tutorial: t, foreign: map[string]bool{}}
}

// begin makes the hashes of railbench's own cells, which takes a millisecond that not
// every start has to wait for; mu is held.
func (b *Book) begin() {
	if b.trusted != nil {
		return
	}
	b.trusted = map[string]bool{}
	for _, c := range cells(b.tutorial) {
		b.trusted[Hash(c)] = true
	}
	for _, c := range values(b.tutorial) {
		b.trusted[Hash(c)] = true
	}
}

func cells(t steps.Tutorial) (all []steps.Cell) {
	for _, p := range slices.Concat(t.Parts, t.Checklist) {
		all = append(all, p.Cells...)
	}
	return all
}

// values are the defaults of the parameters that a tutorial declares, each as a program: a
// script may call what a variable holds, or remove it, so its hash alone says too little.
func values(t steps.Tutorial) (all []steps.Cell) {
	for _, p := range t.Params() {
		all = append(all, program(p.Name, p.Default))
	}
	return all
}

// Hash is of everything in a cell that decides what runs, where and as whom, and how it is
// judged. What is only read (title, prose) is not in it.
func Hash(c steps.Cell) string {
	c.Part, c.Title, c.Prose, c.Tail = "", "", "", ""
	c.Edited, c.Scratch = false, false
	b, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("a cell is not JSON: %v", err)) // it is made of texts and numbers
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Foreign are the cells of a tutorial that may not run, in its order, and before them the parameters whose defaults
// no one has trusted: see Parameter.
func (b *Book) Foreign(t steps.Tutorial) (all []steps.Cell) {
	for _, c := range slices.Concat(values(t), cells(t)) {
		if !b.Trusted(c) {
			all = append(all, c)
		}
	}
	return all
}

// Trusted reports whether a cell may run. A note has nothing that could.
func (b *Book) Trusted(c steps.Cell) bool {
	if c.Note() {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	hash := Hash(c)
	ok := b.has(hash)
	if !ok {
		b.foreign[hash] = true
	}
	return ok
}

// has asks the folder, too; mu is held.
func (b *Book) has(hash string) bool {
	b.begin()
	if b.trusted[hash] {
		return true
	}
	if b.dir == "" || safefile.Keeps(b.dir) != nil {
		return false
	}
	f, err := safefile.Open(filepath.Join(b.dir, hash), os.O_RDONLY, 0)
	if err != nil {
		return false // what can't be read was not said
	}
	f.Close()
	b.trusted[hash] = true
	return true
}

// Trust lets cells run from now on. The error says that this will not last; until the end
// of the program it does.
func (b *Book) Trust(all ...steps.Cell) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, c := range all {
		hash := Hash(c)
		if c.Note() || b.has(hash) {
			continue
		}
		b.trusted[hash] = true
		if err := b.write(hash, c.ID); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (b *Book) write(hash, what string) error {
	if b.dir == "" {
		return nil
	}
	err := os.MkdirAll(b.dir, 0o700)
	if err == nil {
		err = safefile.Keeps(b.dir)
	}
	if err == nil {
		err = safefile.Replace(filepath.Join(b.dir, hash), []byte(what+" "+time.Now().UTC().Format(time.RFC3339)+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep what was trusted: %w", err)
	}
	b.prune()
	return nil
}

// prune removes the oldest hashes: what they were of is asked again.
func (b *Book) prune() {
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) <= keep {
		return
	}
	age := func(e fs.DirEntry) time.Time {
		info, err := e.Info()
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortFunc(entries, func(x, y fs.DirEntry) int { return age(x).Compare(age(y)) })
	for _, e := range entries[:len(entries)-keep] {
		_ = os.Remove(filepath.Join(b.dir, e.Name())) // the next one tries again
	}
}

// program is a value that is run, as a cell that does nothing else.
func program(name, value string) steps.Cell {
	return steps.Cell{ID: parameter + name, Roles: []steps.Role{{Script: value}}}
}

// parameter begins the id of a value: no cell's has a blank.
const parameter = "parameter "

// Parameter reports whether what is asked about is not a cell, but a parameter's value, and names it.
func Parameter(c steps.Cell) (name, value string, ok bool) {
	name, ok = strings.CutPrefix(c.ID, parameter)
	if !ok || len(c.Roles) != 1 {
		return "", "", false
	}
	return name, c.Roles[0].Script, true
}

// TrustedProgram reports whether a parameter's value, which is run, may be.
func (b *Book) TrustedProgram(name, value string) bool { return b.Trusted(program(name, value)) }

// TrustProgram lets a parameter's value be run, because the user has given it.
func (b *Book) TrustProgram(name, value string) error { return b.Trust(program(name, value)) }

// Edited takes over what the user made of a part: what he wrote may run. A cell that was
// not trusted before is not by a change of it: he may not have seen the rest.
func (b *Book) Edited(before, after []steps.Cell) error {
	var written []steps.Cell
	for _, c := range after {
		i := slices.IndexFunc(before, func(x steps.Cell) bool { return x.ID == c.ID })
		switch {
		case b.met(c):
		case i >= 0 && !b.Trusted(before[i]):
			b.Trusted(c) // it is met now, and stays what it was
		default:
			written = append(written, c)
		}
	}
	return b.Trust(written...)
}

// met reports whether a cell came from elsewhere and was not trusted since.
func (b *Book) met(c steps.Cell) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin()
	hash := Hash(c)
	return b.foreign[hash] && !b.trusted[hash]
}
