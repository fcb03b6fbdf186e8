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
works on them. Everything there is real but the speed: it is no benchmark.

RIG_STATE names the folder that holds the image, so that one of each system can stand
beside the other; RIG_PORT, which is 2200, keeps two that run apart.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	build := rigCommand("build", "Make kernel, initrd and disk from Debian packages (root, Debian or Ubuntu, under a minute)", "system")
	oneOf(build, "system", "plain: busybox and sshd, up in seconds; systemd: with NetworkManager, networkd and netplan, "+
		"as on a Spark", "plain", "systemd")
	up := rigCommand("up", "Boot both machines", "manager")
	oneOf(up, "manager", "whom netplan gives the rails in the systemd image: NetworkManager, networkd, or mixed, one on "+
		"each machine", "mixed", "NetworkManager", "networkd")
	cmd.AddCommand(
		build, up,
		rigCommand("ssh NODE [CMD…]", "A shell, or a command, on spark-01 or spark-02"),
		rigCommand("cable RAIL on|off", "Plug or pull the cable of rail 0 or 1"),
		rigCommand("status", "What is built and what runs"),
		rigCommand("down", "End both machines"),
	)
	return cmd
}

// rigCommand hands its arguments and these flags to the script, which has a command of its name.
func rigCommand(use, short string, flags ...string) *cobra.Command {
	name, _, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use: use, Short: short, DisableFlagParsing: name == "ssh",
		RunE: func(cmd *cobra.Command, args []string) error {
			all := append([]string{name}, args...)
			for _, flag := range flags {
				all = append(all, "--"+flag, cmd.Flag(flag).Value.String())
			}
			return rigScript(cmd, all)
		},
	}
}

// oneOf is a flag of the script's with its few words, of which the first is meant without it.
func oneOf(cmd *cobra.Command, flag, does string, all ...cobra.Completion) {
	cmd.Flags().String(flag, all[0], does)
	completeFlags(cmd, map[string]completer{flag: words(all...)})
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
