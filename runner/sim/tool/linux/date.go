package linux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/runner/sim/host"
)

// runDate prints the node's time, always in UTC: the nodes have no other zone. A field that it doesn't know it
// prints as it stands.
func runDate(_ context.Context, c *host.Call) int {
	t := c.Node.Rack.Clock.Wall().UTC()
	// Only what a node says of the time is ahead; the rig has one clock.
	c.Locked(func() { t = t.Add(c.Node.Ahead) })
	format := "%a %b %e %H:%M:%S %Z %Y"
	for _, a := range c.Args[1:] {
		switch {
		case strings.HasPrefix(a, "+"):
			format = a[1:]
		case a == "-Is" || a == "-Iseconds":
			format = "%Y-%m-%dT%H:%M:%S+00:00"
		case a == "-u":
		case a == "-R":
			format = "%a, %d %b %Y %H:%M:%S +0000"
		}
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		digits := 9
		// %3N is in milliseconds.
		if format[i] >= '1' && format[i] <= '9' && i+1 < len(format) {
			digits = int(format[i] - '0')
			i++
		}
		b.WriteString(dateField(t, format[i], digits))
	}
	c.Println(b.String())
	return 0
}

// dateField is one field of a format; digits are those of the nanoseconds.
func dateField(t time.Time, letter byte, digits int) string {
	switch letter {
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'N':
		return fmt.Sprintf("%09d", t.Nanosecond())[:digits]
	case 'e':
		return fmt.Sprintf("%2d", t.Day())
	case 'Z':
		return "UTC"
	case 'n':
		return "\n"
	case '%':
		return "%"
	}
	layout, ok := map[byte]string{
		'a': "Mon", 'b': "Jan", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'Y': "2006", 'm': "01",
		'y': "06", 'F': "2006-01-02", 'T': "15:04:05", 'z': "-0700", 'A': "Monday", 'B': "January",
		'j': "002", 'R': "15:04", 'D': "01/02/06", 'I': "03", 'p': "PM", 'c': "Mon Jan _2 15:04:05 2006",
	}[letter]
	if !ok {
		return "%" + string(letter)
	}
	return t.Format(layout)
}
