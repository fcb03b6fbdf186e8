package parse

import "strings"

// Hardware is what a check of the hardware prints on one node: facts, and where it
// asked for them what nvidia-smi and the kernel's log say.
type Hardware struct {
	Facts map[string]string `json:"facts"`
	GPU   NvidiaSMI         `json:"gpu"`
	Log   []KernelEvent     `json:"log"`
}

// HardwareOutput reads it: facts up to a line "#nvidia-smi" or "#log", which begins what the tool printed.
// ErrNoResult means no fact. A tool without output is not an error, and a fact says so.
func HardwareOutput(text string) (Hardware, error) {
	var h Hardware
	part := map[string]*strings.Builder{"": {}, "#nvidia-smi": {}, "#log": {}}
	in := ""
	lines(text, func(line string) {
		if part[line] != nil && line != "" {
			in = line
			return
		}
		part[in].WriteString(line)
		part[in].WriteByte('\n')
	})
	facts, err := Facts(part[""].String())
	h.Facts = facts
	h.GPU, _ = NvidiaSMIOutput(part["#nvidia-smi"].String())
	h.Log, _ = Dmesg(part["#log"].String())
	return h, err
}
