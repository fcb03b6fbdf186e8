package session

import (
	"context"

	"github.com/railbench/railbench/steps"
)

// sideBySide is how many checks run at once. A node's sshd allows ten sessions on a connection (MaxSessions), and a
// slow node has to answer keepalives next to them.
const sideBySide = 3

// onlyLooks reports whether a cell can run next to others: it reads, and measures nothing.
func onlyLooks(c steps.Cell) bool { return c.Surveys() && !c.Check.Measures }

// survey runs the checks at the head of the queue side by side, until there is
// another cell or the queue is empty.
func (s *Session) survey(ctx context.Context) {
	seen := s.look(ctx, fresh)
	atOnce(ctx, s.clock, sideBySide, func(ctx context.Context, _ int) {
		for {
			s.mu.Lock()
			var cell steps.Cell
			if len(s.queue) > 0 {
				cell, _ = s.tutorial.Cell(s.queue[0])
			}
			if !onlyLooks(cell) {
				s.mu.Unlock()
				return
			}
			id := s.take()
			s.mu.Unlock()
			s.run(ctx, id, cell, &seen)
		}
	})
}
