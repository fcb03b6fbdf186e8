package meter

import (
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
)

// A Trouble is what a counter reports that grows.
type Trouble uint8

// The troubles.
const (
	None    Trouble = iota // an ordinary event, or no one knows
	Lost                   // packets that were lost or damaged, and what was sent again because of it
	Flapped                // the link went down, or was trained again
	Marked                 // a user on the way asked for less
	Paused                 // the other end of the cable paused this port
	Pauses                 // this port paused the other end
	Dropped                // packets that were well and found no room
)

// TroubleOf is what a counter of a port or an interface reports, by the names of every driver that is known here.
func TroubleOf(name string) Trouble {
	for trouble, names := range sysfsNames {
		if names[name] {
			return trouble
		}
	}
	for _, c := range ethtoolForms {
		if c.form.Regexp().MatchString(name) {
			return c.trouble
		}
	}
	return None
}

// set is a text of names as a set.
func set(names string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		all[name] = true
	}
	return all
}

// sysfsNames are the counters of /sys/class/infiniband and of an interface's statistics, by their drivers
// (mlx5: Understanding mlx5 ethtool and sysfs counters; others: hw_counters.c of bnxt_re, verbs.c of irdma,
// rxe_hw_counters.c, ionic's RDMA counters).
var sysfsNames = map[Trouble]map[string]bool{
	Lost: set("out_of_sequence packet_seq_err local_ack_timeout_err implied_nak_seq_err rnr_nak_retry_err " +
		"rx_icrc_encapsulated roce_adp_retrans roce_adp_retrans_to roce_slow_restart req_cqe_error resp_cqe_error " +
		"symbol_error port_rcv_errors excessive_buffer_overrun_errors local_link_integrity_errors " +
		"port_rcv_remote_physical_errors req_remote_access_errors resp_local_length_error " +
		"rx_errors tx_errors rx_crc_errors " +
		"completer_retry_err out_of_seq_request rcvd_seq_err retry_exceeded_err send_err duplicate_request " + // rxe
		"to_retransmits seq_err_naks_rcvd max_retry_exceeded rnr_naks_rcvd res_oos_drop_count oos_drop_count " + // bnxt_re
		"hw_retransmission rx_roce_errors tx_roce_errors rx_roce_error_pkts tx_roce_error_pkts " +
		"tcpRetransSegs RetransSegs tcpInProtoErrors InProtoErrors CRC_errors " + // irdma
		"tx_rdma_retx_pkts tx_rdma_ack_timeout req_rx_impl_nak_seq_err"), // ionic
	Flapped: set("link_error_recovery link_downed carrier_changes carrier_down_count carrier_up_count " +
		"link_down_events_phy"),
	Marked: set("np_ecn_marked_roce_packets np_cnp_sent rp_cnp_handled port_xmit_wait " +
		"rx_ecn_marked_pkts rx_cnp_pkts tx_cnp_pkts cnp_rx_pkts cnp_tx_pkts " + // bnxt_re
		"RxECNMrkd cnpHandled cnpSent " + // irdma
		"rx_rdma_ecn_pkts rx_rdma_cnp_pkts tx_rdma_cnp_pkts"), // ionic
	Dropped: set("out_of_buffer port_xmit_discards rx_out_of_buffer rx_roce_discards tx_roce_discards " +
		"rx_roce_discard_pkts tx_roce_discards_pkts res_oob_drop_count ip4InDiscards ip6InDiscards resp_rx_outof_buf"),
}

// pauseNames are what ethtool -S calls pauses, of all of a link and of priorities, and how long they
// lasted: [rt]x is which way. Of Intel's only those that stop count, and not those that let go on.
const pauseNames = `[rt]x_(prio[0-7]|global)_pause(_duration)?|` + // mlx5
	`[rt]x_pause(_duration)?(_prio_[0-7])?|` + // mlx4
	`[rt]x_(pause|pfc)_frames|[rt]x_pfc_ena_frames_pri[0-7]|pfc_pri[0-7]_[rt]x_duration_us|` + // bnxt, qede, cxgb4
	`[rt]x_ppp[0-7]_frames|` + // cxgb4
	`(port\.)?link_xoff_[rt]x(\.nic)?|(port\.)?[rt]x_priority_[0-7]_xoff(_[rt]x)?(\.nic)?|` + // i40e, ice
	`mac_[rt]x_mac_pause_num|mac_[rt]x_pfc(_pri[0-7])?_pkt_num|` + // hns3
	`frames_[rt]x_(pri)?pause(_?[0-7])?|[rt]x_pripause_[0-7]_1us_count` // ionic

// dropNames are packets that found no room; damagedNames are frames that came damaged.
const (
	dropNames = `[rt]x_(prio[0-7]|global)_(discards|buf_discard|cong_discard)|[rt]x_discards_phy|rx_out_of_buffer|` +
		`outbound_pci_buffer_overflow|` + // mlx5
		`[rt]x_stat_discard|[rt]x_total_discard(s|_pkts)|` + // bnxt
		`brb_(discards|truncates)|no_buff_discards|` + // qede
		`(port\.)?rx_dropped(\.nic)?|` + // i40e, ice
		`rx_bg[0-3]_frames_dropped|` + // cxgb4
		`frames_rx_dropped` // ionic
	damagedNames = `rx_crc_errors_phy|rx_fcs_err_frames|(port\.)?rx_crc_errors(\.nic)?|rx_fcs_errors|mac_rx_fcs_err_pkt_num|` +
		`frames_rx_bad_fcs`
	storms = `tx_pause_storm_(warning|error)_events`
)

// pausesOf are pauseNames of one way.
func pausesOf(way string) string { return strings.ReplaceAll(pauseNames, "[rt]x", way) }

// ethtoolForms are what only ethtool -S has of an adapter, by the names of its driver (their *_ethtool.c in the
// kernel). soft-RoCE has none, and nothing is said of them there.
var ethtoolForms = []struct {
	trouble Trouble
	form    *lazyregexp.Pattern
}{
	{Paused, lazyregexp.New(`^(` + pausesOf("rx") + `)$`)},
	{Pauses, lazyregexp.New(`^(` + pausesOf("tx") + `|` + storms + `)$`)},
	{Dropped, lazyregexp.New(`^(` + dropNames + `)$`)},
	{Lost, lazyregexp.New(`^(` + damagedNames + `)$`)},
}
