package registry

import "github.com/railbench/railbench/steps"

// NumberParam is a parameter that is a number of some unit.
func NumberParam(name, value, unit, does string, least, most int64) steps.Param {
	return steps.Param{Name: name, Default: value, Unit: unit, Does: does, Kind: steps.Number, Min: least, Max: most}
}

// SizeParam is one that is a number of bytes.
func SizeParam(name, value, does string, least, most int64) steps.Param {
	return steps.Param{Name: name, Default: value, Unit: "bytes", Does: does, Kind: steps.Size, Min: least, Max: most}
}

// ChoiceParam is one of some words.
func ChoiceParam(name, value, does string, choices ...string) steps.Param {
	return steps.Param{Name: name, Default: value, Does: does, Kind: steps.Choice, Choices: choices}
}

// WordsParam is free text. may says what is allowed, and check why something isn't.
func WordsParam(name, value, does, may string, check func(string) error) steps.Param {
	return steps.Param{Name: name, Default: value, Does: does, May: may, Check: check}
}

// PortParam is a TCP port.
func PortParam(name, value, does string) steps.Param {
	return NumberParam(name, value, "", does, 1, 65535)
}
