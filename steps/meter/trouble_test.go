package meter

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/railbench/railbench/assets/scripts"
)

// The names are those that the drivers have in their sources (bnxt_ethtool.c, ice_ethtool.c, i40e_ethtool.c,
// qede_ethtool.c, hns3's hclge_main.c, cxgb4_ethtool.c, ionic_stats.c, mlx4's en_ethtool.c).
func TestTroubleOf(t *testing.T) {
	for trouble, names := range map[Trouble]string{
		Paused: "rx_global_pause rx_prio3_pause_duration rx_pause rx_pause_duration_prio_3 rx_pause_frames rx_pfc_frames " +
			"rx_pfc_ena_frames_pri3 pfc_pri3_rx_duration_us rx_ppp3_frames link_xoff_rx.nic rx_priority_3_xoff.nic " +
			"port.link_xoff_rx port.rx_priority_3_xoff port.rx_priority_3_xoff_rx mac_rx_mac_pause_num " +
			"mac_rx_pfc_pri3_pkt_num mac_rx_pfc_pkt_num frames_rx_pause frames_rx_pripause rx_pripause_3_1us_count",
		Pauses: "tx_global_pause tx_prio3_pause tx_pause tx_pause_prio_0 tx_pause_frames tx_pfc_ena_frames_pri0 " +
			"pfc_pri0_tx_duration_us tx_ppp0_frames link_xoff_tx.nic tx_priority_0_xoff.nic port.tx_priority_0_xoff_tx " +
			"mac_tx_mac_pause_num mac_tx_pfc_pri0_pkt_num frames_tx_pripause tx_pause_storm_error_events",
		Dropped: "rx_prio3_discards rx_discards_phy rx_out_of_buffer out_of_buffer rx_stat_discard rx_total_discard_pkts " +
			"brb_discards no_buff_discards rx_dropped.nic rx_bg0_frames_dropped frames_rx_dropped rx_roce_discards " +
			"ip4InDiscards " +
			"outbound_pci_buffer_overflow port_xmit_discards",
		Lost: "packet_seq_err rx_crc_errors rx_crc_errors_phy rx_fcs_err_frames rx_crc_errors.nic port.rx_crc_errors " +
			"mac_rx_fcs_err_pkt_num frames_rx_bad_fcs rx_fcs_errors to_retransmits seq_err_naks_rcvd res_oos_drop_count " +
			"tcpRetransSegs RetransSegs tx_rdma_retx_pkts completer_retry_err",
		Marked:  "np_cnp_sent rx_ecn_marked_pkts rx_cnp_pkts cnpHandled RxECNMrkd rx_rdma_cnp_pkts",
		Flapped: "link_downed carrier_changes",
		None: "rx_packets tx_bytes link_xon_rx.nic tx_priority_0_xon.nic rx_pause_ctrl rx_pfc_ena_frames_pri8 " +
			"mac_rx_uni_pkt_num " +
			"rx_dropped_link_down tx_dropped_link_down.nic frames_rx_all link_change_count cnpIgnored ip4InPkts rx_ppp8_frames",
	} {
		for name := range strings.FieldsSeq(names) {
			if got := TroubleOf(name); got != trouble {
				t.Errorf("%s: %d, want %d", name, got, trouble)
			}
		}
	}
}

// What the node lets through of ethtool's lines holds all that is understood here, and is counted.
func TestEthtoolOfOtherAdapters(t *testing.T) {
	m := regexp.MustCompile(`(?m)^\t\t(\*.* \| .*)\)$`).FindStringSubmatch(scripts.Counters)
	if m == nil {
		t.Fatal("the script lets lines through by other words")
	}
	through := func(line string) bool {
		return slices.ContainsFunc(strings.Split(m[1], " | "), func(p string) bool {
			ok, err := path.Match(p, line)
			return ok && err == nil
		})
	}
	for _, name := range []string{
		"link_xoff_rx.nic", "rx_pfc_ena_frames_pri3", "mac_tx_pfc_pri3_pkt_num", "rx_ppp0_frames         ", "brb_discards",
		"frames_rx_pripause",
	} {
		text := fmt.Sprintf("     %s: %%d\n", name)
		if !through(strings.TrimSuffix(text, "\n")) {
			t.Errorf("%q is not let through", text)
		}
		read := func(clock, n int) Counters {
			c, err := ParseCounters(fmt.Sprintf("%d.0\n/sys/class/net/e/statistics/tx_bytes:%d\n"+
				"/sys/class/net/e/statistics/rx_bytes:%d\n"+
				"interface e\n"+text, clock, n, n, n))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		m, err := Between(read(1, 5), read(2, 5), read(3, 12), Place{Dev: "d", Port: 1, Netdev: "e"})
		if err != nil || m.Errors[strings.TrimSpace(name)] != 7 {
			t.Errorf("%s: %v, %v", name, m.Errors, err)
		}
	}
	for _, name := range []string{"rx_packets", "link_xon_rx.nic", "tx_queue_0_packets"} {
		if through("     " + name + ": 1") {
			t.Errorf("%s is let through", name)
		}
	}
}
