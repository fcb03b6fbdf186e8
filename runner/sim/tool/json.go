package tool

import (
	"encoding/json"
	"fmt"
)

// A jsonObject keeps its fields in order, as iproute2 prints them.
// encoding/json would sort a map's; order matters to nobody but people, who compare by eye.
type jsonObject []jsonField

// A jsonField is a name and what encoding/json makes of a value.
type jsonField [2]any

func (f jsonField) name() string { return f[0].(string) }

func (o jsonObject) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		v, err := json.Marshal(f[1])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(fmt.Appendf(b, "%q:", f.name()), v...)
	}
	return append(b, '}'), nil
}

func jsonArray(items []jsonObject, pretty bool) string {
	if items == nil {
		items = []jsonObject{}
	}
	b, err := json.Marshal(items)
	if pretty {
		b, err = json.MarshalIndent(items, "", "    ")
	}
	if err != nil {
		return "[]"
	}
	return string(b)
}
