package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// Wrong usage ends with 2 before any node is looked at, prints nothing on stdout, and says
// in one line what to give instead.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"run":                                    "give --all",
		"run nosuch":                             `unknown cell or part "nosuch"`,
		"run gids --timeout -1s":                 "negative",
		"run gids --dry-run --json":              "give one of them",
		"run gids --dry-run --session a":         "give one of them",
		"run gids --link a:b":                    `no node "a"`,
		"run gids --link spark-01":               "give A:B",
		"run gids --link 1:1":                    "--link 1:1",
		"run gids --speed 0":                     "above 0",
		"run gids --speed NaN":                   "above 0",
		"run gids -p NOPE=1":                     `unknown parameter "NOPE"`,
		"run gids -p SIZE":                       "NAME=VALUE",
		"run gids -p .SIZE=1":                    "the cell before the dot is missing",
		"run gids --fault nosuch":                `no fault "nosuch"`,
		"run gids --rig /nonexistent.toml":       "/nonexistent.toml",
		"run gids --rig sim --peer y":            "give one of them",
		"run gids --here x":                      "--here needs --peer",
		"run gids --etcd ftp://x":                "http://HOST:PORT",
		"export":                                 "one session",
		"export a.ipynb":                         "--to md",
		"export a.ipynb -o page":                 "no known ending",
		"export a.ipynb --to htm":                `did you mean "html"?`,
		"export /nonexistent.ipynb --to html":    "/nonexistent.ipynb",
		"compare a":                              "two sessions",
		"check /nonexistent.md":                  "railbench new",
		"docs nosuch":                            `no page "nosuch"`,
		"doctor nosuch":                          `"nosuch"`,
		"doctor gids":                            "gids is a cell of the tutorial",
		"doctor mtu-equal gids":                  "gids is a cell of the tutorial",
		"doctor --symptom  ":                     "--symptom is empty",
		"doctor --symptom x mtu-equal":           "one of them",
		"doctor --timeout -1s":                   "negative",
		"doctor --list mtu-equal":                "--list prints all checks",
		"doctor --list --symptom x":              "--list prints all checks",
		"pairs --dry-run --json":                 "give one of them",
		"pairs --dry-run --csv x":                "give one of them",
		"run gids --slurm p:2 --fault x":         "for the simulated rig",
		"run gids --slurm p:2 --rig sim":         "give only one of",
		"run gids --peer a@b --seed 9":           "for the simulated rig",
		"demo /nonexistent.ipynb --auto":         "leave out --show and --auto",
		"stream receive --listen=":               "--listen is empty",
		"stream send a:1 --input b:1 --blocks 3": "give one of them",
		"gauge --full 1e7":                       "below a million",
		"new a-name":                             "a-name.md",
		"init":                                   "--peer",
		"parse":                                  "name the tool",
		"parse perftst":                          `did you mean "perftest"?`,
		"parse ping a b":                         "2 files",
		"parse --detect ping a":                  "reads one file",
		"parse ping /nonexistent.log":            "/nonexistent.log",
		"trust /nonexistent.ipynb":               "/nonexistent.ipynb",
		"sim --port 99999999":                    "65534",
		"completion tcsh":                        "bash, zsh, fish",
		"completion bash --slurm x:2":            "railbench completion does not use --slurm: leave it out",
		"man --nodes 4":                          "railbench man does not use --nodes: leave it out",
		"docs keys --peer a@b":                   "railbench docs does not use --peer: leave it out",
		"check F --fault nosuch":                 "railbench check does not use --fault: leave it out",
		"list -p SIZE=1":                         "railbench list does not use --param: leave it out",
		"parse ping x --rig nofile":              "railbench parse does not use --rig: leave it out",
		"--rig sim export a.ipynb":               "railbench export does not use --rig: leave it out",
		"pairs show a.json --rig sim":            "railbench pairs show does not use --rig: leave it out",
		"drill --container x":                    "railbench drill does not use --container: leave it out",
		"init --slurm p:2":                       "railbench init --nodes slurm",
		"rig nosuch":                             `"nosuch"`,
	} {
		var stdout, stderr bytes.Buffer
		code := Main(strings.Split(line, " "), strings.NewReader(""), &stdout, &stderr)
		said := strings.TrimSuffix(stderr.String(), "\n")
		if code != exitUsage || stdout.Len() > 0 || !strings.Contains(said, says) || !strings.HasPrefix(said, "railbench: ") {
			t.Errorf("railbench %s: exit status %d, stdout %q, stderr %q: want %q", line, code, stdout.String(), said, says)
		}
		if strings.Contains(said, "\n") {
			t.Errorf("railbench %s: more than a line: %q", line, said)
		}
	}
}

// Help shows the flags of the rig with the commands that use them, and with no others.
func TestHelpHasTheRigsFlagsWhereTheyWork(t *testing.T) {
	t.Parallel()
	for line, shown := range map[string]bool{
		"": true, "run": true, "doctor": true, "drill": true, "undo": true, "man": false, "completion": false, "check": false,
		"export": false, "compare": false, "pairs show": false, "docs": false,
	} {
		out := asked(t, append(strings.Fields(line), "--help")...)
		if got := strings.Contains(out, "\nRig flags"); got != shown {
			t.Errorf("railbench %s --help has the flags of the rig: %v, want %v", line, got, shown)
		}
	}
}

// What --help prints of a verb fits on a screen of 80x24 with the prompt.
func TestHelpFitsOnAScreen(t *testing.T) {
	t.Parallel()
	for _, c := range commandsUnder(commands(true)) {
		if n := strings.Count(helpText(c, plainHelp, true), "\n"); n > 24 {
			t.Errorf("%s --help has %d lines", c.CommandPath(), n)
		}
	}
}

// A command in no group would be in the last one, next to those that are not work with a rig.
func TestCommandsAreGrouped(t *testing.T) {
	t.Parallel()
	groups := grouped(commands(true))
	var other []string
	for _, c := range groups[len(groups)-1].commands {
		other = append(other, c.Name())
	}
	if len(groups) != 5 || !slices.Equal(other, []string{"completion", "man"}) {
		t.Errorf("%d groups; the last has %v", len(groups), other)
	}
}
