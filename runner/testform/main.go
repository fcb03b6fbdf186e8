package testform

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests of a package and gives the exit status. In the full form it fails as well where goroutines go on
// after the last test; those that are about to end have minutes for it.
func Main(m *testing.M) int {
	code := m.Run()
	if code != 0 || !Full() {
		return code
	}
	err := goleak.Find()
	for range 120 {
		if err == nil {
			return 0
		}
		time.Sleep(time.Second)
		err = goleak.Find()
	}
	fmt.Fprintln(os.Stderr, "goroutines go on after the tests:", err)
	return 1
}

// Waiting is Main for a package that waits for processes far longer than it computes: more of its parallel tests run
// side by side than there are processors. What -parallel says counts.
func Waiting(m *testing.M) int {
	flag.Parse()
	const parallel = "test.parallel"
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == parallel })
	if !asked {
		count := "24"
		if Full() {
			count = "8" // there they compute, too
		}
		if err := flag.Set(parallel, count); err != nil {
			panic(err)
		}
	}
	return Main(m)
}
