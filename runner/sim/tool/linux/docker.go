package linux

import (
	"context"
	"slices"
	"strings"
	"text/template"

	"github.com/railbench/railbench/runner/sim/host"
)

// runDocker knows the one container of a node: ps, inspect with a template, and exec.
func runDocker(ctx context.Context, c *host.Call) int {
	args := c.Args[1:]
	if len(args) == 0 {
		return c.Fail(1, "docker: 'docker' requires at least one argument")
	}
	box := c.Node.Box
	switch {
	// A node inside a container has no daemon of its own.
	case box == nil:
		return c.Fail(1, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?")
	case args[0] == "ps":
		c.Println(box.Name)
		return 0
	case args[0] == "inspect":
		return dockerInspect(c, box, args[1:])
	case args[0] == "exec":
		return dockerExec(ctx, c, box, args[1:])
	}
	return c.Fail(1, "docker: '%s' is not simulated", args[0])
}

// dockerInspect fills a template of docker's with what of the container scripts ask for; without one it prints
// the name alone. Templates are Go's in docker, too.
func dockerInspect(c *host.Call, box *host.Container, args []string) int {
	format := ""
	if len(args) > 1 && (args[0] == "-f" || args[0] == "--format") {
		format, args = args[1], args[2:]
	}
	if len(args) != 1 || args[0] != box.Name {
		c.Println("[]")
		return c.Fail(1, "Error: No such object: %s", strings.Join(args, " "))
	}
	if format == "" {
		c.Printf("[\n    {\n        \"Name\": \"/%s\"\n    }\n]\n", box.Name)
		return 0
	}
	t, err := template.New("").Parse(format)
	if err != nil {
		return c.Fail(64, "template parsing error: %v", err)
	}
	// The names are those of docker's API.
	type state struct{ Status string }
	type config struct{ Image string }
	type hostConfig struct {
		NetworkMode, IpcMode string
		ShmSize              int64
		Privileged           bool
	}
	var b strings.Builder
	err = t.Execute(&b, struct {
		Name       string
		State      state
		Config     config
		HostConfig hostConfig
	}{"/" + box.Name, state{"running"}, config{box.Image}, hostConfig{box.Network, box.IPC, box.Shm, false}})
	if err != nil {
		return c.Fail(1, "template parsing error: %v", err)
	}
	c.Println(b.String())
	return 0
}

// dockerExec runs a command in the container, with the variables that -e names.
func dockerExec(ctx context.Context, c *host.Call, box *host.Container, args []string) int {
	var env []string
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		// -e NAME alone hands over the caller's own value; a name that isn't exported isn't set there either.
		if args[0] == "-e" && len(args) > 1 {
			name := args[1]
			own := c.Exported()
			if i := slices.IndexFunc(own, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }); i >= 0 {
				env = append(env, own[i])
			}
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) < 2 || args[0] != box.Name {
		return c.Fail(1, "Error response from daemon: No such container: %s", strings.Join(args, " "))
	}
	sub := *c
	// Inside is a node of its own, with what the container was given of this one.
	sub.Node, sub.Root, sub.Dir = box.Inside, false, host.HomeDir
	sub.Exported = func() []string { return env }
	sub.Env = host.ValueIn(env)
	return sub.Exec(ctx, args[1:])
}
