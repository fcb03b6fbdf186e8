package notebook

import (
	"context"

	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps"
)

// Follow reports a session that another railbench has open: its file, and the journal, which gets every event
// before any screen does.
func Follow(ctx context.Context, path string) func() *steps.Notebook {
	paths := []string{path, JournalPath(path)}
	was := ""
	return func() *steps.Notebook {
		for {
			now, ok := safefile.AwaitChange(ctx, was, paths...)
			if !ok {
				return nil
			}
			was = now
			// Between the two of a save it may not be readable: the next look is soon.
			if d, err := Read(path); err == nil {
				return &d.Book
			}
		}
	}
}
