package nodeset

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/railbench/railbench/runner/disk"
)

// The limits of what is read.
const (
	fileLimit = 1 << 20 // bytes
	mostFiles = 256
)

// Groups are ClusterShell's, from its files. A source of groups that is a command (an upcall of
// groups.conf) is known by its name, and never run.
type Groups struct {
	sources  map[string]source
	commands map[string]string // sources that are commands, and the file that says so
	usual    string            // the source of @group
	Looked   []string          // the folders that were looked into, for who finds nothing

	matched int // names that patterns were held against
}

// A source is a file of groups, or a part of one: its lists by their names.
type source struct {
	name, file string
	lists      map[string]string
}

// localSource is what a bare @group means where no groups.conf says otherwise.
const localSource = "local"

// GroupFolders are where ClusterShell looks, the user's own first. getenv is os.Getenv.
func GroupFolders(getenv func(string) string) []string {
	var dirs []string
	switch config, home := getenv("XDG_CONFIG_HOME"), getenv("HOME"); {
	case filepath.IsAbs(config):
		dirs = append(dirs, filepath.Join(config, "clustershell"))
	case filepath.IsAbs(home):
		dirs = append(dirs, filepath.Join(home, ".config", "clustershell"))
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		dirs = append(dirs, filepath.Join(home, ".local", "etc", "clustershell"))
	}
	// It stands in the place of the machine's folder, and not of the user's.
	if dir := getenv("CLUSTERSHELL_CFGDIR"); filepath.IsAbs(dir) {
		return append(dirs, dir)
	}
	return append(dirs, "/etc/clustershell")
}

// ReadGroups reads the files of the folders. What an earlier one has hides a source of the same
// name. Folders and files that aren't there are no error; files that can't be read are one.
func ReadGroups(dirs []string) (*Groups, error) {
	g := &Groups{sources: map[string]source{}, commands: map[string]string{}, Looked: dirs}
	for _, dir := range dirs {
		if err := g.readConf(filepath.Join(dir, "groups.conf")); err != nil {
			return nil, err
		}
		below := filepath.Join(dir, "groups.d")
		entries, err := os.ReadDir(below)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read the groups: %w", err)
		}
		if len(entries) > mostFiles {
			return nil, fmt.Errorf("read the groups: %s has more than %d files", below, mostFiles)
		}
		for _, e := range entries {
			// In the order of their names: of two files with one source the first counts.
			if err := g.readFile(filepath.Join(below, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	if g.usual == "" {
		g.usual = localSource
	}
	return g, nil
}

// readConf looks for the default source, and for those that are commands.
func (g *Groups) readConf(file string) error {
	src, err := disk.Read(file, fileLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read the groups: %w", err)
	}
	section, mapped := "", false
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section, mapped = strings.TrimSuffix(name, "]"), false
			continue
		}
		// Python's ConfigParser takes : and =, whichever comes first in a line.
		key, value, ok := strings.Cut(line, ":")
		if k, v, eq := strings.Cut(line, "="); eq && (!ok || len(k) < len(key)) {
			key, value, ok = k, v, true
		}
		switch key, value = strings.TrimSpace(key), strings.TrimSpace(value); {
		case !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";"):
		// The user's own file has been read before the machine's.
		case section == "Main" && key == "default" && g.usual == "":
			g.usual = value
		case section != "Main" && key == "map" && !mapped:
			mapped = true // the names of a section are many, and so are its lines: once is enough
			for name := range strings.SplitSeq(section, ",") {
				g.commands[strings.TrimSpace(name)] = file
			}
		}
	}
	return nil
}

// readFile reads a file of the kinds that ClusterShell reads; another one is passed over. A .cfg is one source,
// which is called as the file is.
func (g *Groups) readFile(file string) error {
	ext := filepath.Ext(file)
	// Editors' copies and packages' examples lie there, too.
	if ext != ".cfg" && ext != ".yaml" && ext != ".yml" {
		return nil
	}
	src, err := disk.Read(file, fileLimit)
	if err != nil {
		return fmt.Errorf("read the groups: %w", err)
	}
	var all []source
	if ext == ".cfg" {
		all = []source{flatGroups(string(src))}
		all[0].name = strings.TrimSuffix(filepath.Base(file), ext)
	} else if all, err = yamlGroups(src); err != nil {
		return fmt.Errorf("read the groups: %s: %w", file, err)
	}
	for _, s := range all {
		if _, hidden := g.sources[s.name]; !hidden {
			s.file = file
			g.sources[s.name] = s
		}
	}
	return nil
}

// flatGroups reads lines of "group: list". A group may have several.
func flatGroups(text string) source {
	lines := map[string][]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, list, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		name, list = strings.TrimSpace(name), strings.TrimSpace(list)
		// An empty line makes a group known, and adds nothing to one that has lines.
		if all, more := lines[name]; list != "" || !more {
			// Joined at the end: line by line, a file of one group's lines takes minutes.
			lines[name] = append(all, list)
		}
	}
	s := source{lists: map[string]string{}}
	for name, all := range lines {
		if len(all) > 1 && all[0] == "" {
			all = all[1:]
		}
		s.lists[name] = strings.Join(all, ",")
	}
	return s
}

// yamlGroups reads sources of groups, each a list or a text.
func yamlGroups(src []byte) ([]source, error) {
	var all map[string]map[string]any
	if err := yaml.Unmarshal(src, &all); err != nil {
		return nil, err
	}
	var sources []source
	bytes := 0 // of all lists: an alias writes a long text with two letters
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := source{name: name, lists: map[string]string{}}
		for group, value := range all[name] {
			var words []string
			switch v := value.(type) {
			case nil:
			case []any:
				for _, word := range v {
					text, ok := word.(string)
					if !ok {
						text = shown(fmt.Sprint(word))
					}
					if bytes += len(text); bytes > 4*fileLimit {
						return nil, fmt.Errorf("its lists are longer than %d MiB", 4*fileLimit>>20)
					}
					words = append(words, text)
				}
			case map[string]any:
				return nil, fmt.Errorf("group %s of %s is a table, and has to be a list of nodes", group, name)
			default:
				words = append(words, fmt.Sprint(v))
			}
			s.lists[group] = strings.Join(words, ",")
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// mostMatched bounds what patterns cost: a short file can have a hundred thousand groups, and as many patterns.
const mostMatched = 1 << 22

// group finds a group: of the usual source, or source:group. A * stands for any text.
func (g *Groups) group(name string) (list, where string, within book, err error) {
	from, own, qualified := strings.Cut(name, ":")
	if !qualified {
		from, own = g.usual, name
	}
	s, ok := g.sources[from]
	if !ok {
		if file := g.commands[from]; file != "" {
			return "", "", nil, fmt.Errorf("@%s: %s of %s is a command, and nothing is executed here: "+
				"give what nodeset -f @%s prints", shown(name), from, file, shown(name))
		}
		return "", "", nil, fmt.Errorf("@%s: there are no groups of %s in %s", shown(name), from,
			strings.Join(g.Looked, ", "))
	}
	within = inSource{g, from}
	if list, ok := s.lists[own]; ok {
		return list, s.file, within, nil
	}
	// Only where no group is called that itself.
	if strings.ContainsAny(own, "*?") {
		if g.matched += len(s.lists); g.matched > mostMatched {
			return "", "", nil, fmt.Errorf("@%s: the patterns of this list look at more than %d groups in all", shown(name),
				mostMatched)
		}
		var matching, lists []string
		for group, list := range s.lists {
			if ok, _ := path.Match(own, group); ok && list != "" {
				matching = append(matching, group)
			}
		}
		slices.Sort(matching)
		for _, group := range matching {
			lists = append(lists, s.lists[group])
		}
		if len(lists) > 0 {
			return strings.Join(lists, ","), s.file, within, nil
		}
	}
	return "", "", nil, fmt.Errorf("there is no group %s in %s%s", shown(own), s.file, g.elsewhere(own))
}

// elsewhere tells in which other source a group is, or which groups there are.
func (g *Groups) elsewhere(group string) string {
	for _, name := range slices.Sorted(maps.Keys(g.sources)) {
		if _, ok := g.sources[name].lists[group]; ok {
			return fmt.Sprintf(": say @%s:%s, which is in %s", name, group, g.sources[name].file)
		}
	}
	return ""
}

// inSource is the groups as a list of one source sees them: its own come first.
type inSource struct {
	*Groups
	name string
}

func (s inSource) group(name string) (list, where string, within book, err error) {
	if !strings.Contains(name, ":") {
		name = s.name + ":" + name
	}
	return s.Groups.group(name)
}
