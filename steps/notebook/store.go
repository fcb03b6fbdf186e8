package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
	"github.com/railbench/railbench/steps/meter"
)

// Extension is what a session's file ends in.
const Extension = ".ipynb"

// JournalPath is where the events since the last save stand.
func JournalPath(path string) string { return path + ".journal" }

// journalLimit is how large a journal gets before the session is saved in between.
const journalLimit = 8 << 20

// retrySave is the least time between two attempts where a save failed.
const retrySave = 2 * time.Second

// Options are what a saved session is of.
type Options struct {
	Railbench string // the version
	Rig       string
	Simulated bool
	Now       func() time.Time // time.Now where nil
}

// A Store keeps one session on disk: the file, saved whenever a cell has ended, and a journal of every event
// since. What Record was given is there after a kill -9. It is safe for use by several goroutines.
type Store struct {
	// Left are the cells that ran or waited when the session was cut off.
	Left []string

	path string
	o    Options

	mu      sync.Mutex
	doc     *Document
	journal *os.File
	size    int64 // of the journal
	head    int64 // of its first line
	behind  bool  // the journal lacks something: only a save helps
	tried   time.Time
	limit   int64       // see journalLimit
	saved   os.FileInfo // the file as this store wrote it
	err     error
	moved   error // another program has the file

	replace func(path string, content []byte) error
	write   func(f *os.File, b []byte) (int, error)
}

// Open takes up the session in a file, or begins one. It fails where another
// railbench has it open, and where the file is none that can be continued: that one
// stays as it is, byte for byte, and what can be read of a damaged one is put into a
// new file.
func Open(path string, t steps.Tutorial, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	// Jupyter opens nothing else, and the journal's name is made of it.
	if filepath.Ext(path) != Extension {
		return nil, fmt.Errorf("session %s: its name has to end in %s", path, Extension)
	}
	if err := writable(path); err != nil {
		return nil, fmt.Errorf("session %s: %w: give another file", path, err)
	}
	s := &Store{path: path, o: o, limit: journalLimit, replace: replace, write: (*os.File).Write}
	_, err := os.Lstat(JournalPath(path))
	fresh := errors.Is(err, fs.ErrNotExist)
	f, left, err := lock(JournalPath(path))
	if used, ok := errors.AsType[*inUse](err); ok {
		return nil, fmt.Errorf("session %s: %w", path, used)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session %s: its folder %s does not exist: create it, or name another file", path,
			filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: its journal: %w", path, err)
	}
	s.journal = f
	if err := s.begin(t, left); err != nil {
		// A file that was refused leaves no trace of the try.
		if fresh {
			os.Remove(f.Name())
		}
		f.Close()
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	return s, nil
}

// begin reads the file and what the journal has beyond it, and writes both again. Until then nothing on the
// disk has changed: a session that can't be continued stays as it is.
func (s *Store) begin(t steps.Tutorial, journal []byte) error {
	doc, err := load(s.path, journal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		doc = New(s.o.Railbench, t, s.o.Now())
		doc.Book.Rig.Name, doc.Book.Rig.Simulated = s.o.Rig, s.o.Simulated
		doc.replay(journal)
	case err != nil:
		return err
	}
	if err := s.fits(doc); err != nil {
		return err
	}
	s.doc, s.Left = doc, doc.settle()
	doc.adopt(t)
	doc.Railbench = s.o.Railbench
	// The file is as it was read: only later changes are foreign.
	if s.saved, err = os.Lstat(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Before anything runs: a file that can't be written is reported now, and not after an hour of measuring.
	if err := s.save(); err != nil {
		return err
	}
	return s.writeOwner()
}

// fits refuses to mix rigs: what one of them measured would stand under the other's
// name.
func (s *Store) fits(d *Document) error {
	// Nothing was measured yet: it may be of any rig.
	if len(d.Book.Cells) == 0 {
		d.Book.Rig = steps.Rig{Name: s.o.Rig, Simulated: s.o.Simulated}
	}
	return s.o.Fits(d)
}

// Fits says why a session can't go on on the rig; one in which nothing ran goes on on any.
func (o Options) Fits(d *Document) error {
	r := d.Book.Rig
	if len(d.Book.Cells) > 0 && (r.Simulated != o.Simulated || r.Name != o.Rig) {
		return fmt.Errorf("it is of %s, and this is %s: give another file",
			rigName(r.Name, r.Simulated), rigName(o.Rig, o.Simulated))
	}
	return nil
}

func rigName(name string, sim bool) string {
	if sim {
		return "the simulated rig"
	}
	return "the rig " + name
}

// load reads a file and folds the journal's events into it.
func load(path string, journal []byte) (*Document, error) {
	// Its events may mean something else: nothing of it is folded in.
	if o, ok := owner(journal); ok && o.Format > format {
		return nil, fmt.Errorf("its journal is of a newer railbench (%s): take that one", o.Railbench)
	}
	f, err := openSession(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := decode(f, ofSession)
	if damaged, ok := errors.AsType[*Damaged](err); ok {
		return nil, rescue(path, damaged, journal)
	}
	if err != nil {
		return nil, fmt.Errorf("%w. The file is as it was", err)
	}
	doc.replay(journal)
	if err := ofSession.shown(doc); err != nil {
		return nil, fmt.Errorf("%w. The file is as it was", err)
	}
	return doc, nil
}

// rescue writes what was found in a damaged file into a new one, and says so.
func rescue(path string, d *Damaged, journal []byte) error {
	d.Found.replay(journal)
	// What ran when it was damaged is over.
	d.Found.settle()
	content, err := d.Found.Encode(d.Found.Created)
	name := ""
	if err == nil {
		name, err = writeNew(path, "recovered", content)
	}
	if err != nil {
		return fmt.Errorf("%w. The file is as it was; what was found could not be written: %w", d, err)
	}
	return fmt.Errorf("%w. The file is as it was; what was found is in %s", d, name)
}

// Read reads a session that another program may have open. It changes nothing; what
// can be read of a damaged file is put into a new one.
func Read(path string) (*Document, error) {
	// The journal first: were it read after the file, what a save moved from one to
	// the other in between would be in neither.
	journal, err := readJournal(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session %s: its journal: %w", path, err)
	}
	// Before the file is read: its owner may end in between, and has saved it then.
	open := held(JournalPath(path))
	d, err := load(path, journal)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	if !open {
		d.settle() // the program that ran there has ended
	}
	return d, nil
}

// Peek reads a session and writes nothing at all, whatever is wrong with it.
func Peek(path string) (*Document, error) {
	journal, err := readJournal(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("session %s: its journal: %w", path, err)
	}
	f, err := openSession(path)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	defer f.Close()
	d, err := decode(f, ofSession)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	d.replay(journal)
	if err := ofSession.shown(d); err != nil {
		return nil, fmt.Errorf("session %s: %w", path, err)
	}
	return d, nil
}

func readJournal(path string) ([]byte, error) {
	f, err := safefile.Beside(JournalPath(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return safefile.ReadAll(f, JournalPath(path), recordLimit)
}

// CutOff reads a session whose railbench ended without saving it. ok is false if that is unknown: it is open,
// or it can't be read.
func CutOff(path string) (d *Document, ok bool) {
	f, journal, err := lock(JournalPath(path))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	d, err = load(path, journal)
	return d, err == nil
}

// Book is the session as it stands.
func (s *Store) Book() steps.Notebook {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.Book
}

// Path is where the session is saved.
func (s *Store) Path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// Runs is the highest run so far.
func (s *Store) Runs() steps.RunID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doc.Runs()
}

// Sample keeps what the gauges show while a cell runs.
func (s *Store) Sample(b meter.Board) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doc.Sample(b, s.o.Now())
}

// Move keeps the session in another file from here on, which must not be there: its own could not be written.
func (s *Store) Move(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	to, err := Open(path, s.doc.Book.Tutorial, s.o)
	if err != nil {
		return err
	}
	to.doc = s.doc
	if err := to.save(); err != nil {
		return errors.Join(fmt.Errorf("session %s: %w", path, err), to.journal.Close())
	}
	left := s.journal
	s.path, s.journal, s.size, s.head, s.saved = to.path, to.journal, to.size, to.head, to.saved
	s.behind, s.err, s.moved = false, nil, nil
	_ = os.Remove(left.Name()) // the other file has all of it
	_ = left.Close()
	return nil
}

// A keptError is about another file than the one that the session is kept in.
type keptError struct{ error }

// Kept reports that nothing is lost.
func (keptError) Kept() bool { return true }

// Record keeps events: in the journal at once, and in the file when a cell has ended
// or was cleared. Call it before anybody sees them. The error stands as long as
// something is not kept, and says so: the session goes on, and the next call tries
// again.
func (s *Store) Record(events []steps.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines bytes.Buffer
	due := false
	for _, e := range events {
		// Also of an event that isn't kept: the numbers are those of what happened.
		s.doc.seq++
		if w, ok := s.doc.wireEvent(s.doc.seq, e); ok && !s.behind {
			b, err := unescaped(w)
			if err != nil {
				s.behind, s.err = true, fmt.Errorf("session %s: journal: %w", s.path, err)
			}
			lines.Write(b)
			lines.WriteByte('\n')
		}
		s.doc.Apply(e)
		switch e.(type) {
		case steps.CellEnded, steps.CellCleared:
			due = true
		}
	}
	if !s.behind && s.size+int64(lines.Len()) > recordLimit {
		// One that is longer is not read again; the file could not be saved for long.
		s.behind, s.err = true, fmt.Errorf("session %s: its journal is full, and what happens now is in memory only", s.path)
	}
	if !s.behind {
		n, err := s.write(s.journal, lines.Bytes())
		s.size += int64(n)
		if err != nil {
			// Half a line may be there now: nothing is added behind it.
			s.behind, s.err = true, fmt.Errorf("session %s: its journal can't be written,"+
				" and what happens now is in memory only: %w", s.path, err)
		}
	}
	// Without the journal only the file keeps what happens: it is written more often.
	if s.behind {
		due = due || s.o.Now().Sub(s.tried) >= retrySave
	}
	// A cell may print for hours: the journal is folded in meanwhile.
	if due || s.size > s.limit {
		if err := s.save(); err != nil {
			s.err = fmt.Errorf("session %s: %w", s.path, err)
		} else {
			s.err = nil
		}
	}
	if s.err != nil {
		return s.err
	}
	return s.moved
}

// ErrUnsaved is of a session whose file could not be written, and is as it was.
var ErrUnsaved = errors.New("it could not be saved")

// save writes the file and begins a new journal.
func (s *Store) save() error {
	s.tried = s.o.Now()
	content, err := s.doc.Encode(s.tried)
	if err != nil {
		return err
	}
	if err := s.aside(content); err != nil {
		return err
	}
	if err := s.replace(s.path, content); err != nil {
		return fmt.Errorf("%w, and the file is as it was: %w", ErrUnsaved, err)
	}
	if s.saved, err = os.Lstat(s.path); err != nil {
		return err
	}
	return s.restart()
}

// aside looks whether another program has written the file meanwhile. Its work is not
// overwritten: the session goes on in a file of its own.
func (s *Store) aside(content []byte) error {
	now, err := os.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it was removed, or never there: saved is better than not
	case err != nil:
		return err
	case s.saved != nil && os.SameFile(now, s.saved) &&
		now.Size() == s.saved.Size() && now.ModTime().Equal(s.saved.ModTime()):
		return writable(s.path)
	}
	name, err := writeNew(s.path, "railbench", content)
	if err != nil {
		return fmt.Errorf("another program has written it, so it was left alone; and beside it: %w", err)
	}
	s.moved = keptError{fmt.Errorf("session %s: another program has written it meanwhile,"+
		" so it was left alone: the session goes on in %s", s.path, name)}
	s.path = name
	return nil
}

// restart empties the journal, whose events are in the file, but for the line that
// says whose it is.
func (s *Store) restart() error {
	// After the file was replaced: whichever of both is cut off, the other has it.
	if err := s.journal.Truncate(s.head); err != nil {
		return fmt.Errorf("its journal: %w", err)
	}
	s.size, s.behind = s.head, false
	return nil
}

// claim writes into the journal whose it is.
func (s *Store) writeOwner() error {
	host, _ := os.Hostname() // without a name there is still the process id
	line, err := json.Marshal(Owner{s.o.Railbench, format, os.Getpid(), host, s.o.Now()})
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if err = s.journal.Truncate(0); err == nil {
		_, err = s.journal.Write(line)
	}
	if err != nil {
		return fmt.Errorf("its journal: %w", err)
	}
	s.head = int64(len(line))
	s.size = s.head
	return nil
}

// Close saves the session and removes the journal. Where it can't be saved the
// journal stays, and the next Open folds it in.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.save()
	if err == nil {
		err = os.Remove(s.journal.Name())
	} else {
		err = fmt.Errorf("session %s: %w", s.path, err)
	}
	if closed := s.journal.Close(); err == nil {
		err = closed
	}
	return err
}
