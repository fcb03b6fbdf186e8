package steps

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "65536": 65536, "64K": 65536, "64k": 65536, "64Ki": 65536, "64KiB": 65536, "64 K": 65536, "17B": 17,
		"4M": 4 << 20, "1Gi": 1 << 30, "2T": 2 << 40, "8388607T": 8388607 << 40,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for text, words := range map[string]string{
		"": "number of bytes", "K": "number of bytes", "-1": "number of bytes",
		"1.5M": `unit ".5M"`, "64X": `unit "X"`, "64Kib/s": "unit",
		"64KB": "write 64K or 64KiB", "64 mb": "write 64M or 64MiB",
		"8388608T": "more bytes than", "9223372036854775807K": "more bytes than",
		"99999999999999999999": "number of bytes", "６４K": "number of bytes", "64é": "unit",
	} {
		if got, err := ParseSize(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q is %d, %v; want an error with %q", text, got, err, words)
		}
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 2: "2 bytes", 1023: "1023 bytes", 1024: "1 KiB",
		65536: "64 KiB", 65537: "65537 bytes", 1 << 20: "1 MiB", 3 << 30: "3 GiB", 1 << 50: "1024 TiB",
	} {
		if got := SizeText(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestParamParse(t *testing.T) {
	port := Param{Name: "PORT", Default: "18515", Kind: Number, Min: 1, Max: 65535}
	size := Param{Name: "SIZE", Default: "65536", Kind: Size, Unit: "bytes", Min: 1, Max: 1 << 30}
	block := Param{Name: "START", Default: "4096", Kind: Size, Min: 1, Max: 1 << 20, PowerOfTwo: true}
	mode := Param{Name: "MODE", Default: "balance-xor", Kind: Choice, Choices: []string{
		"balance-xor",
		"active-backup", "ASIO",
	}, Refused: map[string]string{"802.3ad": "it needs a switch"}}
	list := Param{Name: "GB", Default: "1", Kind: NumberList, Most: 3, Max: 100}
	count := Param{Name: "COUNT", Empty: "chosen", Kind: Number, Min: 5, Max: 9}
	words := Param{Name: "PYTHON", Default: "python3"}
	checked := Param{Name: "BOND", Default: "bond0", May: "a name", Check: func(s string) error {
		if s != "bond0" {
			return errors.New("it is bond0")
		}
		return nil
	}}
	for _, c := range []struct {
		p          Param
		text, want string
		err        string // words of the error, one after the other; empty for none
	}{
		{port, "1", "1", ""},
		{port, " 65535 ", "65535", ""},
		{port, "0065", "65", ""},
		{port, "0", "", `PORT is "0": it is a number from 1 to 65535`},
		{port, "65536", "", "1 to 65535"},
		{port, "80x", "", `PORT is "80x"`},
		{port, "", "", `PORT is "": it is a number`},
		{port, "1\n2", "", "one line"},
		{port, "1\x00", "", "one line"},
		{size, "64K", "65536", ""},
		{size, "1G", "1073741824", ""},
		{size, "2G", "", `SIZE is "2G": it is a size from 1 byte to 1 GiB`},
		{size, "0", "", "1 byte"},
		{size, "64KB", "", "1000 to some"},
		{block, "64K", "65536", ""},
		{block, "65K", "", "a power of two from 1 byte to 1 MiB"},
		{block, "65K", "", "66560 is not a power of two"},
		{mode, "active-backup", "active-backup", ""},
		{mode, "asio", "ASIO", ""},
		{mode, "active", "", `balance-xor, active-backup or ASIO; did you mean "active-backup"`},
		{mode, "802.3ad", "", "it needs a switch"},
		{list, "1,4, 8", "1,4,8", ""},
		{list, "0.5", "0.5", ""},
		{list, "1,2,3,4", "", "up to 3 numbers"},
		{list, "1,0", "", `"0" is not`},
		{list, "1,NaN", "", `"NaN" is not`},
		{list, "1,x", "", `"x" is not`},
		{list, "101", "", `"101" is not`},
		{list, ",", "", "up to 3 numbers"},
		{count, "", "", ""},
		{count, "7", "7", ""},
		{count, "4", "", "5 to 9"},
		{words, "/opt/my python/bin/python3", "/opt/my python/bin/python3", ""},
		{words, "$(reboot)`'\"", "$(reboot)`'\"", ""},
		{words, "a\tb", "", "one line"},
		{words, "", "", "one line of text"},
		{checked, "bond0", "bond0", ""},
		{checked, "bond1", "", "it is bond0"},
	} {
		got, err := c.p.Parse(c.text)
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%s of %q is %q, %v", c.p.Name, c.text, got, err)
		case c.err != "" &&
			(err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), c.p.Name+" is ")):
			t.Errorf("%s of %q is %q, %v; want an error with %q", c.p.Name, c.text, got, err, c.err)
		}
	}
	for _, c := range [][2]string{
		{size.Text("65536"), "64 KiB"},
		{size.Text("65537"), "65537 bytes"},
		{size.Text("odd"), "odd bytes"},
		{port.Text("80"), "80"},
		{count.Text(""), "chosen"},
		{Param{Unit: "s"}.Text("10"), "10 s"},
		{checked.Allowed(), "a name"},
		{words.Allowed(), "one line of text"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}

func TestNames(t *testing.T) {
	for script, want := range map[string]bool{
		`echo $PORT`: true, `echo "${PORT}"`: true, `echo ${PORT:-1}`: true, `echo $((PORT + 1))`: true,
		`echo $PORTS`: false, `echo $RAIL_PORT`: false, `echo port`: false, ``: false, `$PORTS $PORT`: true,
	} {
		if Names(script, "PORT") != want {
			t.Errorf("%q: %v", script, !want)
		}
	}
}

func TestReading(t *testing.T) {
	tut := Tutorial{
		Parts: []Part{{Cells: []Cell{
			{ID: "script", Roles: []Role{{Script: "true"}, {Script: "echo $PORT"}}},
			{ID: "ready", Roles: []Role{{Script: "true", Ready: Ready{Port: "$PORT"}}}},
			{ID: "neither", Roles: []Role{{Script: "echo $PORTS"}}},
			{ID: "planned"},
			{ID: "worked-out", Roles: []Role{{Script: "echo $PORT"}}},
		}}},
		Checklist: []Part{{Cells: []Cell{{ID: "check", Roles: []Role{{Script: "echo $PORT"}}}}}},
	}
	got := tut.Reading(Param{Name: "PORT", Cells: []string{"planned"}, Worked: []string{"worked-out"}})
	if strings.Join(got, " ") != "script ready planned check" {
		t.Errorf("%q", got)
	}
	if got := strings.Join(tut.IDs(), " "); got != "script ready neither planned worked-out check" {
		t.Errorf("ids %q", got)
	}
}

func TestSettings(t *testing.T) {
	var none Settings
	all := none.With("", "SIZE", "1")
	own := all.With("c", "SIZE", "2").With("c", "PORT", "80").With("d", "PORT", "81")
	if none.Any() || !all.Any() || len(all.Cells) != 0 || len(all.All) != 1 {
		t.Errorf("With changed what it was called on: %v, %v", none, all)
	}
	for _, c := range []struct {
		s          Settings
		cell, want string
	}{
		{none, "c", ""},
		{all, "c", "1"},
		{own, "c", "2"},
		{own, "d", "1"},
		{own, "", "1"},
		{own.Without("c", "SIZE"), "c", "1"},
		{own.Without("", "SIZE"), "d", ""},
	} {
		if got, ok := c.s.Get(c.cell, "SIZE"); got != c.want || ok != (c.want != "") {
			t.Errorf("%s of %v is %q", c.cell, c.s, got)
		}
		if got := c.s.Of(c.cell)["SIZE"]; got != c.want {
			t.Errorf("%s of all of %v is %q", c.cell, c.s, got)
		}
	}
	if got := own.Of("c"); !maps.Equal(got, map[string]string{"SIZE": "2", "PORT": "80"}) {
		t.Errorf("%v", got)
	}
	back := own.Without("c", "PORT").Without("c", "SIZE").Without("d", "PORT").Without("", "SIZE").Without("x", "y")
	if back.Any() || !own.Any() || own.Cells["c"]["SIZE"] != "2" {
		t.Errorf("%v, %v", back, own)
	}
	n := NewNotebook(Tutorial{})
	if m := n.Apply(ParamsSet{own}); m.Params.Cells["c"]["SIZE"] != "2" || n.Params.Any() {
		t.Errorf("%v, %v", m.Params, n.Params)
	}
}
