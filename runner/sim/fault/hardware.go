package fault

import (
	"github.com/railbench/railbench/runner/sim/host"
	"github.com/railbench/railbench/runner/sim/net"
)

// hardwareFaults are the faults of the adapter, its power and cooling, and of
// what lies between it and the GPU.
// Lines of the kernel's log are as the drivers' sources print them; the seconds in them are made up, and the
// same on each run.
func hardwareFaults() []Fault {
	return []Fault{
		{
			Name: "adapter-lost", Title: "Half of the adapter has lost its driver",
			Report: "two of the four RDMA devices are gone since this afternoon, and a reload of the driver does not bring " +
				"them back",
			Doc: "{node}'s adapter got hot and the driver left its second PCIe half (domain 0002): the PCI " +
				"functions are there, and have no RDMA device and no interface. Only a restart brings them back.",
			Do: func(s Spot) func() {
				// The second half alone: rails 1 and 2 are on the first, and go on.
				s.Node.LoseHalf(1)
				quiet := s.log(func(f *net.Function, driver string, later float64) []host.KernelLine {
					// The words are mlx5_core's.
					if f.Half != 1 {
						return nil
					}
					return append(overheated(driver, later),
						line(91502.611090+later, driver+"poll_health:838:(pid 0): device's health compromised - reached miss count"),
						line(91502.611095+later, driver+"print_health_info:520:(pid 0): synd 0x10: High temperature"),
						line(91562.340111+later,
							driver+"mlx5_health_try_recover:381:(pid 412): health recovery flow aborted, PCI reads still not working"),
						line(91562.340190+later, driver+"E-Switch: Disable: mode(LEGACY), nvfs(0), necvfs(0), active vports(0)"))
				})
				return func() {
					// As the doc says, only a restart does that: clearing the fault stands for one.
					s.Node.RegainHalf(1)
					quiet()
				}
			},
		},
		{
			Name: "low-power", Title: "The PCIe slot has too little power",
			Report: "the kernel complained about power at boot, everything works, and I want to know whether to care",
			Doc: "{node}'s kernel log says \"Detected insufficient power on the PCIe slot (26W)\" for each " +
				"function. Everything works until a cable's module asks for more.",
			Do: func(s Spot) func() {
				return s.log(func(_ *net.Function, driver string, later float64) []host.KernelLine {
					return []host.KernelLine{line(18846.944179+later,
						driver+"mlx5_pcie_event:301:(pid 4865): Detected insufficient power on the PCIe slot (26W).")}
				})
			},
		},
		{
			Name: "hot-adapter", Title: "The adapter is hot",
			Report: "the back of the machine is so hot that I can hardly touch the cable's plug",
			Doc: "{node}'s adapter is at 104 degrees, above the 102 that its maker calls critical; at 110 its firmware " +
				"switches it off. Everything works still.",
			Do: func(s Spot) func() {
				s.Node.Hot = true
				quiet := s.log(func(_ *net.Function, driver string, later float64) []host.KernelLine {
					return overheated(driver, later)
				})
				return func() {
					s.Node.Hot = false
					quiet()
				}
			},
		},
		{
			Name: "secure-boot", Title: "The kernel refuses an unsigned module",
			Report: "I have built the module for GPU memory, and modprobe says: Key was rejected by service",
			Doc: "nvidia_peermem was built on {node} without a signature, and secure boot is on: the " +
				"kernel log says \"Loading of module with unavailable key is rejected\".",
			Do: func(s Spot) func() {
				mind := flawedBy(host.RefusesModules)(s)
				quiet := s.Node.Log(
					line(702.114530, "Loading of module with unavailable key is rejected"),
					line(702.115002, "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7"))
				return func() {
					mind()
					quiet()
				}
			},
		},
		{
			Name: "pcie-errors", Title: "A PCIe link makes errors",
			Report: "aer_dev_correctable of the adapter grows by a dozen a second, and nothing has failed yet",
			Doc: "The PCIe link of {node}'s rail 1 has had two fatal errors since the boot and puts a dozen right every " +
				"second (aer_dev_fatal, aer_dev_correctable). Everything works still.",
			Do: func(s Spot) func() {
				f := s.rail1()
				f.Unsteady, f.UnsteadyAt = true, s.Node.Fabric.Now()
				return func() { f.Unsteady = false }
			},
		},
		{
			Name: "gpu-stuck-clock", Title: "The GPU is stuck at a low clock",
			Report: "since we plugged the power in late, everything on the GPU takes four times as long",
			Doc: "{node}'s GPU doesn't get past 611 MHz under load, and nvidia-smi names no reason, as after a power supply " +
				"that was plugged in late. Only taking the power away helps.",
			Do: switched(func(s Spot) *bool { return &s.Node.LowClock }),
		},
		{
			Name: "hard-off", Title: "The node was switched off hard",
			Report: "in the morning the node was up, but its uptime is much too short; the logs of the night just " +
				"end",
			Doc: "The journal of {node}'s boot before this one breaks off in the middle: it lost its power or froze, and " +
				"nothing shut it down.",
			Do: switched(func(s Spot) *bool { return &s.Node.CutOff }),
		},
		{
			Name: "kexec-handover", Title: "The kernel keeps memory for the next one",
			Report: "after the kernel update a large buffer ends with Cannot allocate memory, and free says that there are " +
				"gigabytes",
			Doc: "{node} runs kernel 7.0 with kexec handover (KHO): 9.3 GiB of its free memory can't be pinned, and large " +
				"registrations end with \"Cannot allocate memory\" once the rest is used.",
			Do: switched(func(s Spot) *bool { return &s.Node.HandsOver }),
		},
		{
			Name: "small-bar1", Title: "A GPU card with a small BAR1",
			Report: "small GPU buffers can be registered, and above some hundred MB it says ibv_reg_mr: Bad address",
			Doc: "{node} has a GPU card beside its own GPU, and the card's BAR1 is 256 MiB: buffers above some 115 " +
				"MB can't be registered (ibv_reg_mr: Bad address).",
			// The card is one more PCI device: the file system is built again (Changed).
			Do: switched(func(s Spot) *bool { return &s.Node.Card }),
		},
	}
}

// overheated is what a hot function logs.
func overheated(driver string, later float64) []host.KernelLine {
	return []host.KernelLine{line(91433.018422+later,
		driver+"temp_warn:195:(pid 0): High temperature on sensors with bit set 0x0 0x1")}
}

// line is one of the kernel's log: seconds since the boot, and text.
func line(at float64, text string) host.KernelLine { return host.KernelLine{At: at, Text: text} }

// log adds lines to the kernel's log for each function of the adapter.
// Each function of the node has the same said of it; of which nothing is to be said is of gives nil
// for.
func (s Spot) log(of func(f *net.Function, driver string, later float64) []host.KernelLine) (undo func()) {
	var all []host.KernelLine
	// Each function has a driver of its own, which says it some microseconds after the one before.
	for i, f := range s.Node.Functions {
		all = append(all, of(f, "mlx5_core "+f.PCI+": ", float64(i)*80e-6)...)
	}
	return s.Node.Log(all...)
}
