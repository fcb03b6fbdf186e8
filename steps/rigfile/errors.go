package rigfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/railbench/railbench/steps"
)

var rigKeys = []string{
	"name", "ssh_config", "etcd", "engine", "here", "peer", "rail",
	"here.name", "here.ssh", "here.local", "peer.name", "peer.ssh", "peer.local", "rail.here", "rail.peer",
	"node", "node.name", "node.ssh", "node.local", "rail.a", "rail.b",
}

// rigError says where the file is wrong in the form that editors jump to, FILE:LINE:COLUMN.
func rigError(path string, err error) error {
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		row, _ := first.Position()
		key := cutKey(first.Key())
		return fmt.Errorf("%s:%d: unknown key %q%s", path, row, key, steps.DidYouMean(key, rigKeys))
	}
	if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := syntax.Position()
		key := cutKey(syntax.Key())
		if m := wrongType.FindStringSubmatch(syntax.Error()); m != nil && key != "" {
			return fmt.Errorf("%s:%d:%d: %s is %s here, and must be %s", path, row, column, key, article(m[1]), wanted(key))
		}
		at := ""
		if key != "" {
			at = " at key " + key
		}
		why := strings.TrimPrefix(syntax.Error(), "toml: ")
		if strings.HasSuffix(why, "at start of value") {
			why = "a text needs quotes, as in name = \"lab\"; a switch is true or false"
		}
		return fmt.Errorf("%s:%d:%d%s: %s", path, row, column, at, why)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// cutKey is a key as an error quotes it: a short file can have one of thousands of words.
func cutKey(words []string) string {
	const most = 8
	if len(words) > most {
		return strings.Join(words[:most], ".") + "…"
	}
	return strings.Join(words, ".")
}

// wrongType is how go-toml says that a value has another type than the field.
var wrongType = regexp.MustCompile(`cannot (?:decode|store) TOML (\w+) in`)

func article(word string) string {
	if strings.ContainsAny(word[:1], "aeiou") {
		return "an " + word
	}
	return "a " + word
}

// wanted is what a key takes.
func wanted(key string) string {
	switch {
	case key == "here" || key == "peer":
		return "a table: [" + key + "]"
	case key == "rail" || key == "node":
		return "tables, each beginning with [[" + key + "]]"
	case strings.HasSuffix(key, ".local"):
		return "true or false"
	default:
		return `a string: "…"`
	}
}
