package parse

import (
	"strings"
	"testing"
)

// A number that no tool prints is not a figure, in whichever tool's text it stands: the output is damaged, and its
// reader says so or leaves the line out, and takes no other value for it.
func TestNumbersAreDecimal(t *testing.T) {
	perftest := " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
	latency := " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]" +
		"    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n"
	for name, c := range map[string]struct {
		text string // with a %s where the number stands
		read func(text string) (figure float64, err error)
		good float64
	}{
		"perftest's average": {perftest + " 65536 5000 1000.00 %s 0.016\n", bandwidth, GbpsFromMiB(1000)},
		"perftest's JSON": {
			"{\ntest_info: {\ntest: RDMA_Write_BW_Test,\n},\nresults: {\nMsgSize: 65536,\nn_iterations: 5000,\n" +
				"BW_peak: 1000.00,\nBW_average: %s,\nMsgRate: 0.016,\n},\n}\n", bandwidth, GbpsFromMiB(1000),
		},
		"perftest's latency": {
			latency + " 2 1000 1.00 9.00 1.10 %s 0.10 2.00 5.00\n",
			func(text string) (float64, error) {
				l, err := PerftestLatency(text)
				if len(l.Rows) == 0 {
					return 0, err
				}
				return l.Rows[0].AvgUS, err
			}, 1000,
		},
		"nixlbench's rate": {
			"Block Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)\n65536 1 %s 10.0\n",
			func(text string) (float64, error) {
				b, err := NIXLBenchOutput(text)
				if len(b.Rows) == 0 {
					return 0, err
				}
				return b.Rows[0].GBps, err
			}, 1000,
		},
		"iperf3's rate": {
			"[  5]   0.00-10.00  sec  39.1 GBytes  %s Gbits/sec                  receiver\n",
			func(text string) (float64, error) {
				v, err := Iperf3Output(text)
				return v.ReceivedGbps, err
			}, 1000,
		},
		"free's total": {
			"               total        used        free\nMem:        %s           1           2\n",
			func(text string) (float64, error) {
				f, err := FreeOutput(text)
				if len(f.Rows) == 0 {
					return 0, err
				}
				return f.Rows[0].Total, err
			}, 1000,
		},
	} {
		for _, number := range []string{"1000", "1000.0"} {
			if v, err := c.read(strings.Replace(c.text, "%s", number, 1)); err != nil || round(v) != round(c.good) {
				t.Errorf("%s: %s is read as %g, %v", name, number, v, err)
			}
		}
		for _, number := range []string{
			"0x1p10", "0x3e8", "1_000", "1_0.00", "+1000", "-1000", "inf", "nan", "-nan", "1e3", "1e999", "1000.", ".5", "1.0.0",
			"1,000",
		} {
			if v, err := c.read(strings.Replace(c.text, "%s", number, 1)); err == nil || v != 0 {
				t.Errorf("%s: %s is read as %g, %v", name, number, v, err)
			}
		}
	}
}

func bandwidth(text string) (float64, error) {
	b, err := PerftestBandwidth(text)
	if len(b.Rows) == 0 {
		return 0, err
	}
	return b.Rows[0].AverageGbps, err
}
