package network

import (
	"encoding/json"
	"fmt"
)

// A JSONObject keeps its fields in order, as iproute2 prints them. encoding/json would sort a map's; order matters to
// no one but people, who compare by eye.
type JSONObject []JSONField

// A JSONField is a name and what encoding/json makes of a value.
type JSONField [2]any

// Name is the field's.
func (f JSONField) Name() string { return f[0].(string) }

// MarshalJSON writes the fields in their order.
func (o JSONObject) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range o {
		v, err := json.Marshal(f[1])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(fmt.Appendf(b, "%q:", f.Name()), v...)
	}
	return append(b, '}'), nil
}

// JSONArray is objects as iproute2 prints them: on a line, or in the pretty form.
func JSONArray(items []JSONObject, pretty bool) string {
	if items == nil {
		items = []JSONObject{}
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
