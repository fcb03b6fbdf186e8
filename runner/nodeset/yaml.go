package nodeset

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A walk reads an inventory's YAML. It counts what it looks at: aliases make much of little.
type walk struct {
	inv  *Inventory
	left int
}

const (
	mostYAML    = 1 << 18 // entries
	deepestYAML = 32      // children in children
)

func (v *Inventory) readYAML(src []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return err
	}
	// The nodes and not values: they have their lines, for the errors, and their order.
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return errors.New("it is empty")
	}
	w := &walk{v, mostYAML}
	return w.each(doc.Content[0], func(name string, body *yaml.Node) error {
		if name == "plugin" {
			return fmt.Errorf("it asks a plugin of Ansible, and nothing is executed here: "+static, v.Path)
		}
		if name == "_meta" { // of ansible-inventory's JSON, whose groups have lists of hosts
			return fmt.Errorf("it is ansible-inventory's JSON: "+static, v.Path)
		}
		return w.group(name, body, 0)
	})
}

// group takes a group's hosts, variables and children; a group may stand in several places, and is one.
func (w *walk) group(name string, body *yaml.Node, depth int) error {
	if depth > deepestYAML {
		return fmt.Errorf("more than %d groups are in each other", deepestYAML)
	}
	g, err := w.inv.newGroup(name)
	if err != nil {
		return at(body, err)
	}
	return w.each(body, func(key string, value *yaml.Node) error {
		switch key {
		case "hosts":
			return w.each(value, func(host string, own *yaml.Node) error {
				given := vars{}
				if err := w.vars(given, own); err != nil {
					return err
				}
				return at(value, w.inv.add(g, host, given))
			})
		case "vars":
			return w.vars(g.vars, value)
		case "children":
			return w.each(value, func(child string, own *yaml.Node) error {
				g.adopt(child)
				return w.group(child, own, depth+1)
			})
		}
		return at(value, fmt.Errorf("a group has hosts, vars and children, and %s has %q", name, shown(key)))
	})
}

func (w *walk) vars(into vars, body *yaml.Node) error {
	return w.each(body, func(name string, value *yaml.Node) error {
		if value.Kind != yaml.ScalarNode {
			return nil // none that tells how a host is reached
		}
		return at(value, w.inv.keep(into, name, value.Value))
	})
}

// each goes through a table; nothing at all is an empty one.
func (w *walk) each(body *yaml.Node, do func(key string, value *yaml.Node) error) error {
	body = aliased(body)
	switch {
	case body.Kind == yaml.ScalarNode && body.Tag == "!!null":
		return nil
	case body.Kind != yaml.MappingNode:
		return at(body, errors.New("here has to be a table, name: …"))
	}
	for i := 0; i+1 < len(body.Content); i += 2 {
		if w.left--; w.left < 0 {
			return fmt.Errorf("it has more than %d entries", mostYAML)
		}
		key := aliased(body.Content[i])
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			return at(body.Content[i], errors.New("a name has to be a text, and tables are not merged (<<) here"))
		}
		if err := do(key.Value, aliased(body.Content[i+1])); err != nil {
			return err
		}
	}
	return nil
}

// aliased is what an alias stands for. One that stands for itself is refused by the library.
func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func at(n *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("line %d: %w", n.Line, err)
}
