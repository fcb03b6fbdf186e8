package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"time"
)

// idleSSH is two nodes that are reached over SSH: this machine, twice, by a real sshd on
// loopback.
func idleSSH(b *bench) (result, error) {
	config, stop, err := b.sshd()
	if err != nil {
		return result{}, err
	}
	defer stop()
	return b.idle("idle, two SSH nodes", "●", 0.3,
		"--here", "bench-here", "--peer", "bench-peer", "--ssh-config", config)
}

// doctorSSH has the checklist look at two nodes over SSH: this machine, twice.
func doctorSSH(b *bench) (r result, err error) {
	config, stop, err := b.sshd()
	if err != nil {
		return r, err
	}
	defer stop()
	var walls []float64
	for range b.times(5) {
		// What it finds on a machine without rails is not what it takes.
		wall, _, err := b.took([]int{1, 4}, "doctor", "--here", "bench-here", "--peer", "bench-peer", "--ssh-config", config)
		if err != nil {
			return r, err
		}
		walls = append(walls, wall.Seconds())
	}
	r.figures = []figure{below("doctor over SSH, two logins to this machine", median(walls), 3, " s")}
	return r, nil
}

// sshd starts one that takes a key of its own, and gives the client's configuration.
func (b *bench) sshd() (config string, stop func(), err error) {
	bin := "/usr/sbin/sshd" // it wants to be called by its whole path
	// Only root's sshd may log in anybody, and its own key file is enough for root.
	if _, err := os.Stat(bin); err != nil || os.Getuid() != 0 {
		return "", nil, missing("it needs root and sshd, to log in to this machine")
	}
	me, err := user.Current()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "sshd-")
	if err != nil {
		return "", nil, err
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"id", "host"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(key)).CombinedOutput()
		if err != nil {
			return "", nil, fmt.Errorf("make a key: %w: %s", err, out)
		}
	}
	// A port that is free now. Somebody may take it before sshd does: then it says so, and the
	// bench ends.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address := ln.Addr().String()
	_, port, err := net.SplitHostPort(address)
	ln.Close()
	if err != nil {
		return "", nil, err
	}
	if err := configure(dir, port, me.Username); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		return "", nil, err
	}
	var said bytes.Buffer
	cmd := exec.Command(bin, "-D", "-e", "-f", at("sshd_config"))
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	// By its own process, and with it its listener; sessions end with their clients.
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return at("ssh_config"), stop, nil
		}
		if time.Now().After(deadline) {
			stop()
			return "", nil, errors.New("sshd does not listen: " + said.String())
		}
	}
}

// configure writes what server and client read. The keys are there.
func configure(dir, port, user string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	public, err := os.ReadFile(at("id.pub"))
	if err != nil {
		return err
	}
	host, err := os.ReadFile(at("host.pub"))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"authorized_keys": string(public),
		"known_hosts":     fmt.Sprintf("[127.0.0.1]:%s %s", port, host),
		"sshd_config": fmt.Sprintf(`Port %s
ListenAddress 127.0.0.1
HostKey %s
AuthorizedKeysFile %s
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
MaxSessions 20
SetEnv HOME=%s
`, port, at("host"), at("authorized_keys"), dir), // what the user's own shell does is not measured
		"ssh_config": fmt.Sprintf(`Host bench-here bench-peer
  HostName 127.0.0.1
  Port %s
  User %s
  IdentityFile %s
  IdentitiesOnly yes
  UserKnownHostsFile %s
`, port, user, at("id"), at("known_hosts")),
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
