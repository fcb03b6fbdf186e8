package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/railbench/railbench/assets"
	"github.com/railbench/railbench/runner/disk"
	"github.com/railbench/railbench/steps/gate"
)

// virtualCommand runs the script that boots two small virtual machines with
// soft-RoCE between them: a real rig without hardware.
func virtualCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rig",
		Short: "Two virtual machines with soft-RoCE: a real rig without hardware",
		Long: `Boots two small virtual machines that are wired back to back by two rails with
the kernel's soft-RoCE, with sshd, perftest and iperf3. railbench --rig virtual
works on them. Everything there is real but the speed: it is no benchmark.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, sub := range []struct{ use, short string }{
		{"build", "Make kernel, initrd and disk from Debian packages (root, Debian or Ubuntu, under a minute)"},
		{"up", "Boot both machines"},
		{"ssh NODE [CMD…]", "A shell, or a command, on spark-01 or spark-02"},
		{"cable RAIL on|off", "Plug or pull the cable of rail 0 or 1"},
		{"status", "What is built and what runs"},
		{"down", "End both machines"},
	} {
		cmd.AddCommand(&cobra.Command{
			Use: sub.use, Short: sub.short, DisableFlagParsing: strings.HasPrefix(sub.use, "ssh"),
			RunE: func(cmd *cobra.Command, args []string) error {
				name, _, _ := strings.Cut(sub.use, " ")
				return rigScript(cmd, append([]string{name}, args...))
			},
		})
	}
	return cmd
}

// virtualState is where the virtual rig keeps its image and its keys.
func virtualState() (string, error) {
	if dir := os.Getenv("RIG_STATE"); dir != "" {
		return filepath.Abs(dir)
	}
	state, err := stateDir()
	return filepath.Join(state, "rig"), err
}

func rigScript(cmd *cobra.Command, args []string) error {
	state, err := virtualState()
	if err != nil {
		return usage(err)
	}
	script := filepath.Join(state, "rig")
	err = os.MkdirAll(state, 0o700)
	if err == nil {
		err = disk.Replace(script, assets.RigScript, 0o700)
	}
	if err != nil {
		return usage(fmt.Errorf("put the rig's script in place: %w", err))
	}
	run := exec.CommandContext(cmd.Context(), "bash", append([]string{script}, args...)...)
	run.Env = append(os.Environ(), "RIG_STATE="+state)
	// A shell on a machine has the terminal to itself, as with ssh: what it prints is not
	// railbench's to clean.
	run.Stdin, run.Stdout, run.Stderr = cmd.InOrStdin(), direct(cmd.OutOrStdout()), direct(cmd.ErrOrStderr())
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	err = run.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return status{code: exit.ExitCode()}
	case err != nil:
		return usage(fmt.Errorf("run the rig's script: %w", err))
	}
	return nil
}

// direct is a stream without the gate before it.
func direct(out io.Writer) io.Writer {
	if w, ok := out.(*gate.Writer); ok {
		return w.To()
	}
	return out
}

// virtualRig is the rig file of the virtual rig and its ssh configuration.
func virtualRig() (rigFile, string, error) {
	state, err := virtualState()
	if err != nil {
		return rigFile{}, "", err
	}
	config := filepath.Join(state, "ssh_config")
	if _, err := os.Stat(config); err != nil {
		return rigFile{}, "", errors.New("the virtual rig is not built: railbench rig build, then railbench rig up")
	}
	return rigFile{
		Name: "virtual",
		Here: nodeFile{Name: "spark-02", SSH: "spark-02"},
		Peer: nodeFile{Name: "spark-01", SSH: "spark-01"},
	}, config, nil
}
