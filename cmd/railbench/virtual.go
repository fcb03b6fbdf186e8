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
	"github.com/railbench/railbench/runner/safefile"
	"github.com/railbench/railbench/steps/rigfile"
	"github.com/railbench/railbench/steps/sanitize"
)

// virtualCommand runs the script that boots two small virtual machines with
// soft-RoCE between them: a real rig without hardware.
func virtualCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rig",
		Short: "Boot virtual machines with soft-RoCE: a real rig without hardware",
		Long: `Boots two small virtual machines, wired back to back by two rails with the kernel's
soft-RoCE, with sshd, perftest and iperf3; or up to eight on a switch. Use them with
--rig virtual. Everything is real but the speed: it is not a benchmark.

RIG_STATE sets the folder of the image, so that several systems can exist in parallel.
RIG_PORT (default 2200) keeps two running rigs apart.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	build := rigCommand("build", "Make kernel, initrd and disk from Debian packages (root, Debian or Ubuntu, under a "+
		"minute)", "system")
	oneOf(build, "system", "plain: busybox and sshd, up in seconds; slurm: the same with Slurm and Open MPI; systemd: "+
		"with NetworkManager, networkd and netplan, as on a Spark", "plain", "slurm", "systemd")
	up := rigCommand("up", "Boot the machines", "nodes", "manager")
	oneOf(up, "nodes", "how many: two are wired back to back, more are on a switch", "2", "3", "4", "5", "6", "7", "8")
	oneOf(up, "manager", "the manager of the rails in the systemd image: NetworkManager, networkd, or mixed (one "+
		"on each machine)", "mixed", "NetworkManager", "networkd")
	cmd.AddCommand(
		build, up,
		rigCommand("ssh NODE [CMD…]", "Open a shell, or run a command, on spark-01, spark-02, …"),
		rigCommand("cable RAIL on|off [NODE]", "Plug or pull the cable of rail 0 or 1; on a switch of one node, or of all"),
		rigCommand("reset NODE", "Power-cycle a machine"),
		rigCommand("status", "Show what is built and what runs"),
		rigCommand("down", "End the machines"),
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
	dir := os.Getenv("RIG_STATE")
	if dir == "" {
		return stateDir("rig")
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = safefile.Keeps(dir) // its ssh configuration runs commands, and its script is run
	}
	if err != nil {
		return "", fmt.Errorf("$RIG_STATE: %w", err)
	}
	return dir, nil
}

// rigScript runs the script of the virtual rig, as this railbench brings it; its status is the command's.
func rigScript(cmd *cobra.Command, args []string) error {
	state, err := virtualState()
	if err != nil {
		return usage(err)
	}
	script := filepath.Join(state, "rig")
	err = os.MkdirAll(state, 0o700)
	if err == nil {
		err = safefile.Replace(script, assets.RigScript, 0o700)
	}
	if err != nil {
		return notWritten(fmt.Errorf("put the rig's script in place: %w", err))
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
	if w, ok := out.(*sanitize.Writer); ok {
		return w.To()
	}
	return out
}

// virtualRig is the rig file of the virtual rig and its ssh configuration.
func virtualRig() (rigfile.File, string, error) {
	state, err := virtualState()
	if err != nil {
		return rigfile.File{}, "", err
	}
	return rigfile.Virtual(state)
}
