package linux

import (
	"maps"
	"slices"
	"strings"

	"github.com/railbench/railbench/runner/sim/host"
)

// versions are the packages that dpkg knows on a node, and their versions.
func versions(c *host.Call, installed []Package) map[string]string {
	all := map[string]string{}
	for _, p := range installed {
		all[p.Name] = p.Version
	}
	// A fault's word goes before the table's; an empty version takes the package away.
	c.Locked(func() { maps.Copy(all, c.Node.Versions) })
	maps.DeleteFunc(all, func(_, version string) bool { return version == "" })
	return all
}

// dpkgQuestion is the format and the packages that are asked for.
func dpkgQuestion(args []string) (format string, names []string) {
	format = "${Package}\t${Version}\n"
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasPrefix(a, "-f="):
			format = a[3:]
		case strings.HasPrefix(a, "--showformat="):
			format = strings.TrimPrefix(a, "--showformat=")
		case strings.HasPrefix(a, "-f") && len(a) > 2:
			format = a[2:]
		case a == "-f" && i+1 < len(args):
			i++
			format = args[i]
		case !strings.HasPrefix(a, "-"):
			names = append(names, a)
		}
	}
	return format, names
}

// runDpkgQuery is -W: of packages that are named, or of all by name. One that isn't there makes the status 1,
// and the others are shown.
func runDpkgQuery(c *host.Call, installed []Package) int {
	format, names := dpkgQuestion(c.Args[1:])
	all := versions(c, installed)
	if len(names) == 0 {
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	code := 0
	for _, name := range names {
		v, ok := all[name]
		if !ok {
			// In the order in which they were asked for, though one stream is buffered and the other isn't.
			c.Out.Flush()
			code = c.Fail(1, "dpkg-query: no packages found matching %s", name)
			continue
		}
		c.Out.WriteString(strings.NewReplacer(
			"${Package}", name, "${binary:Package}", name, "${Version}", v, "${Status}", "install ok installed",
			"${db:Status-Status}", "installed", "${Architecture}", "arm64", `\n`, "\n", `\t`, "\t").Replace(format))
	}
	return code
}
