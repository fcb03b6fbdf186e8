package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/railbench/railbench/steps/lazyregexp"
	"github.com/railbench/railbench/steps/sanitize"
)

// The file format: nbformat 4.5, as its JSON schema has it
// (nbformat/v4/nbformat.v4.5.schema.json).

// A file is a whole notebook but for its cells, which come last. The metadata stand first: a file that was cut short
// still says what it is. Jupyter sorts them to the end when it saves.
type file struct {
	Metadata fileMetadata `json:"metadata"`
	Major    int          `json:"nbformat"`
	Minor    int          `json:"nbformat_minor"`
}

type fileMetadata struct {
	Kernel    kernel   `json:"kernelspec"`
	Language  language `json:"language_info"`
	Railbench *head    `json:"railbench,omitempty"`
}

// A kernel is what Jupyter starts when a cell is run there; without one it asks.
type kernel struct {
	Name     string `json:"name"`
	Display  string `json:"display_name"`
	Language string `json:"language"`
}

type language struct {
	Name      string `json:"name"`
	Extension string `json:"file_extension"`
	MIME      string `json:"mimetype"`
}

// The scripts are shell: so they are coloured as such.
var (
	shellKernel   = kernel{"bash", "Bash", "bash"}
	shellLanguage = language{"bash", ".sh", "text/x-sh"}
)

type markdownCell struct {
	Type     string       `json:"cell_type"`
	ID       string       `json:"id"`
	Metadata cellMetadata `json:"metadata"`
	Source   text         `json:"source"`
}

// A codeCell that never ran has null for its count and an empty list of outputs: the schema wants both.
type codeCell struct {
	Type     string       `json:"cell_type"`
	ID       string       `json:"id"`
	Metadata cellMetadata `json:"metadata"`
	Count    *int         `json:"execution_count"`
	Source   text         `json:"source"`
	Outputs  []any        `json:"outputs"`
}

type cellMetadata struct {
	// Execution are the times as JupyterLab shows them.
	Execution map[string]string `json:"execution,omitempty"`
	Railbench *facts            `json:"railbench,omitempty"`
}

type stream struct {
	Type string `json:"output_type"`
	Name string `json:"name"`
	Text text   `json:"text"`
}

// A display has a text for each kind of viewer, by MIME type: each takes the richest that it can show.
type display struct {
	Type     string          `json:"output_type"`
	Data     map[string]text `json:"data"`
	Metadata displayMetadata `json:"metadata"`
}

type displayMetadata struct {
	Railbench displayFacts `json:"railbench"`
}

type displayFacts struct {
	Kind      string `json:"kind"`
	Simulated bool   `json:"simulated,omitempty"`
}

// A failure is an output of the type error, which Jupyter shows in red. The schema wants a traceback, if an
// empty one.
type failure struct {
	Type      string   `json:"output_type"`
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// text is a string that the file holds as a list of lines, as Jupyter writes it: so
// that two files can be compared line by line. Reading takes both forms.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	all := strings.SplitAfter(string(t), "\n")
	if last := len(all) - 1; all[last] == "" {
		all = all[:last]
	}
	if all == nil {
		all = []string{}
	}
	return marshal(all)
}

func (t *text) UnmarshalJSON(b []byte) error {
	var one string
	if err := json.Unmarshal(b, &one); err == nil {
		*t = text(one)
		return nil
	}
	// One after the other: an empty line takes far more memory than its bytes in the file.
	lines := json.NewDecoder(bytes.NewReader(b))
	if first, err := lines.Token(); err != nil || first != json.Delim('[') {
		return errors.New("a text that is neither a string nor a list of strings")
	}
	var all strings.Builder
	for lines.More() {
		one = "" // a null leaves what was there
		if err := lines.Decode(&one); err != nil {
			return err
		}
		all.WriteString(one)
	}
	*t = text(all.String())
	return nil
}

// unescaped is JSON in which <, > and & stand as they are, and what controls is escaped.
func unescaped(v any) ([]byte, error) {
	b, err := marshal(v)
	return sanitize.EscapeJSON(b), err
}

// marshal is unescaped for what becomes part of a text that is looked through as a whole.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// names gives each cell of the file an id that nbformat takes, and that no other has.
type names map[string]bool

var validID = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)

func (n names) give(want string) string {
	id := want
	if !validID.Regexp().MatchString(id) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(want)) // a hash takes everything
		id = fmt.Sprintf("cell-%016x", h.Sum64())
	}
	for i, base := 2, id; n[id]; i++ {
		tail := fmt.Sprintf("-%d", i)
		id = base[:min(len(base), 64-len(tail))] + tail
	}
	n[id] = true
	return id
}
