package meter

import (
	"fmt"
	"testing"
)

// An adapter that has cooled down again was as hot as its sensor's highest value says, where that is of this time.
func TestHottestMeanwhile(t *testing.T) {
	const hwmon = "/sys/class/infiniband/d/device/hwmon/hwmon4/temp1_"
	read := func(clock, input, highest int) Counters {
		text := fmt.Sprintf("%d.0\n/sys/class/net/e/statistics/tx_bytes:1\n/sys/class/net/e/statistics/rx_bytes:1\n"+
			"%sinput:%d\n", clock, hwmon, input)
		if highest > 0 {
			text += fmt.Sprintf("%shighest:%d\n", hwmon, highest)
		}
		c, err := ParseCounters(text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, c := range map[string]struct {
		before, after Counters
		want          float64
	}{
		"it cooled down":         {read(2, 60000, 70000), read(9, 80000, 101000), 101},
		"it was hot another day": {read(2, 60000, 103000), read(9, 80000, 103000), 80},
		"no highest value":       {read(2, 60000, 0), read(9, 98000, 0), 98},
		"none before":            {read(2, 60000, 0), read(9, 80000, 103000), 80},
	} {
		if m, err := Between(read(1, 60000, 0), c.before, c.after, Place{Dev: "d", Port: 1, Netdev: "e"}); err != nil ||
			m.Degrees != c.want {
			t.Errorf("%s: %v, %v, want %v", name, m.Degrees, err, c.want)
		}
	}
}
