package safefile

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// watchPace is how often files are looked at that others may change.
const watchPace = 500 * time.Millisecond

// Stamps are the sizes and times of files, as one value.
func Stamps(paths ...string) string {
	var all []string
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			all = append(all, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano()))
		}
	}
	return strings.Join(all, "\n")
}

// AwaitChange waits until some files are others than they were by their stamps, and gives these;
// ok is false when ctx has ended before.
func AwaitChange(ctx context.Context, was string, paths ...string) (now string, ok bool) {
	tick := time.NewTicker(watchPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", false
		case <-tick.C:
			if now = Stamps(paths...); now != was {
				return now, true
			}
		}
	}
}
