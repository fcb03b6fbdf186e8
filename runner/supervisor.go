package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/railbench/railbench/assets/scripts"
)

// The supervisor is the process around every script on every node. Signals over SSH do not reliably end a
// remote process, and a channel that closes does not either. So the supervisor ends the script's processes
// when its stdin reaches its end, when no heartbeat came for SupervisorSilence (a cable that is pulled
// between the client node and the node closes nothing), and at a hard limit.
//
// Then it looks for processes that have left the process group. It finds them by the session, a mark in the
// environment, a control group and, where the supervisor is the parent of orphans, by their parent. A process
// that none of these finds is found because it holds the script's output. Each process is sent one TERM,
// however many of these find it: a second TERM could end the cleanup that the first one started.
//
// It is a process of Perl, or of shell where no suitable Perl is installed: a shell starts another process
// for each look and each heartbeat. All three texts are in assets/scripts, and supervisor-boot.sh chooses.
//
// Its protocol uses only the three standard streams:
//
//	stdin   "begin ID BEATS [free|again]", the script, "end ID", then a "." every SupervisorBeat; its end, or
//	        another byte, ends the script
//	stdout  the script's, and lines that start with RS and the ID:
//	        "begun" (it has the script), "limit" (the node's own limit was reached), "silent" (no heartbeat
//	        came), "exit N", "held PID (NAME) …" (these could not be ended) and
//	        "over": the supervisor itself ends now, and the streams with it, unless
//	        something else holds them; or "over again", on stderr, too: it was asked to wait for another
//	        script, as a warm supervisor does
//
// A supervisor that is given its ID on the command line skips the input before "begin": a password that sudo
// did not ask for. A supervisor without an ID is a warm supervisor. It was started before there was anything
// to run, because the start of a login shell can take longer than a script. It waits for as long as a "."
// comes now and then.
const (
	// SupervisorBeat is the time between two heartbeats.
	SupervisorBeat = 2 * time.Second
	// SupervisorSilence is how long a node waits for a heartbeat before it ends the script.
	SupervisorSilence = 6 * time.Second

	// A warm supervisor waits for spareSilence, and gets a heartbeat every spareBeat. spareSilence is longer
	// than a run's, because each heartbeat is a packet. It is not so long that a warm supervisor would still
	// be there ten seconds after the connection is lost.
	spareSilence = 8 * time.Second
	spareBeat    = 3 * time.Second

	spareID        = "-"
	supervisorName = "railbench-supervisor"
	supervisorRS   = 0x1e // the record separator of ASCII, which begins the supervisor's own lines
	// One beat in flight when the limit is reached and one for a slow start: the limit here ends the script first,
	// the node's is the one that needs no one.
	spareBeats = 2

	supervisorEnd = "\n" // is not a heartbeat
	overAgain     = "over again"
)

// supervisorCommand is the command line that puts a node's shell under the supervisor.
func supervisorCommand(id string) string {
	return strings.Join([]string{
		`sh -c 'eval "$1"' railbench-boot`, Quote(scripts.SupervisorBoot), Quote(scripts.SupervisorPerl),
		Quote(scripts.SupervisorShell), strconv.Itoa(int(SupervisorSilence / time.Second)),
		strconv.Itoa(int(spareSilence / time.Second)), supervisorName, id,
	}, " ")
}

// supervisorFrame is what the supervisor reads before the heartbeats.
func supervisorFrame(id string, s Script, again bool) string {
	// The node counts beats and no seconds: it needs no clock that agrees with ours.
	beats, how := int(s.limit()/SupervisorBeat)+spareBeats, ""
	switch {
	case s.Detaches:
		how = " free"
	case again:
		how = " again"
	}
	return fmt.Sprintf("begin %s %d%s\n%send %s\n", id, beats, how, s.Text(), id)
}

// A SupervisorCall is a supervisor command taken apart, for a node that has no processes
// to put on one: the simulated rig's.
type SupervisorCall struct {
	id string
}

// ParseSupervisor recognises the command line that a Node sends.
func ParseSupervisor(command string) (SupervisorCall, bool) {
	i := strings.LastIndex(command, " "+supervisorName+" ")
	if i < 0 || !strings.HasPrefix(command, "sh -c ") {
		return SupervisorCall{}, false
	}
	return SupervisorCall{id: strings.TrimSpace(command[i+len(supervisorName)+2:])}, true
}

// Serve speaks the node's side of the protocol and calls run with the script's
// text. The context that run gets ends at the end of stdin or another byte than a beat, after a silence of
// SupervisorSilence and at the limit; run must end everything that it started before
// it returns the exit status. Heartbeats are real time, also where a simulated
// node's clock runs faster.
func (c SupervisorCall) Serve(stdin io.Reader, stdout io.Writer, run func(ctx context.Context, text string) int) error {
	in := bufio.NewReader(stdin)
	id, beats, text, err := c.readScript(in)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "%c%s begun\n", supervisorRS, id); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	beat := make(chan error)
	// A read can't be interrupted: it ends with stdin, which the caller closes.
	go func() {
		for {
			b, err := in.ReadByte()
			if err == nil && b != '.' {
				err = io.EOF
			}
			select {
			case beat <- err:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	// Their texts are the supervisor's own words.
	errLimit, errSilent := errors.New("limit"), errors.New("silent")
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		// From the first moment: a client that sends the script and no beat is gone, too.
		silence := time.NewTimer(SupervisorSilence)
		defer silence.Stop()
		for range beats {
			select {
			case err := <-beat:
				if err != nil {
					cancel(err)
					return
				}
				silence.Reset(SupervisorSilence)
			case <-silence.C:
				cancel(errSilent)
				return
			case <-ctx.Done():
				return
			}
		}
		cancel(errLimit)
	}()
	// The mark goes out only now: the script's own lines come before it, on the same stream.
	code := run(ctx, text)
	if cause := context.Cause(ctx); errors.Is(cause, errLimit) || errors.Is(cause, errSilent) {
		fmt.Fprintf(stdout, "%c%s %s\n", supervisorRS, id, cause)
	}
	_, err = fmt.Fprintf(stdout, "%c%s exit %d\n", supervisorRS, id, code)
	// The goroutine that reads goes on until the caller closes stdin, and keeps nothing that
	// matters.
	cancel(nil)
	<-watched
	return err
}

// readScript reads the frame. Where the id is known, what comes before it is a password
// that sudo did not ask for.
func (c SupervisorCall) readScript(in *bufio.Reader) (id string, beats int, text string, err error) {
	// What comes first is beats, or the frame's "b": none of it is lost.
	if c.id == spareID {
		for {
			b, err := in.ReadByte()
			if err != nil {
				return "", 0, "", fmt.Errorf("wait for a script: %w", err)
			}
			if b != '.' {
				_ = in.UnreadByte() // always possible after a read
				break
			}
		}
	}
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", 0, "", fmt.Errorf("read script: %w", err)
		}
		switch {
		case id == "":
			var i string
			if n, _ := fmt.Sscanf(line, "begin %s %d\n", &i, &beats); n == 2 && (i == c.id || c.id == spareID) {
				id = i
			}
		case line == "end "+id+"\n":
			return id, beats, b.String(), nil
		default:
			b.WriteString(line)
		}
	}
}
