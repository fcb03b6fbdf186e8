package notebook

import (
	"testing"

	"github.com/railbench/railbench/steps"
)

// FuzzDecode: whatever a file and a journal have in them, reading, writing, exporting
// and comparing end, and what was written is read again.
func FuzzDecode(f *testing.F) {
	d := New("v1", lesson(), began)
	for _, e := range story(true) {
		d.seq++
		d.Apply(e)
	}
	measured(d)
	b, err := d.Encode(began)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b,
		[]byte("{}\n"+
			`{"seq":99,"event":"started","cell":"x","run":7,"def":{"kind":"cell","part":"p","cell":"x","roles":[{"on":"both","nodes":[],"script":"ls"}]}}`+"\n"))
	f.Add([]byte(`{"nbformat":4,"metadata":{"railbench":{"format":1}},"cells":[{"cell_type":"code","metadata":{"railbench":{"kind":"cell","cell":"c","run":1,"gauges":{"stepMS":1,"rails":[{"txGbps":[null,1e308]}]},"charts":[{"shape":"log-bars","series":[{"points":[{"y":1.7e308},{"y":1e-300}]}]}],"verdict":"PASS"}}}]}`), []byte(nil))
	f.Fuzz(func(t *testing.T, file, journal []byte) {
		d, err := Decode(file)
		if err != nil {
			return
		}
		d.replay(journal)
		d.settle()
		d.adopt(lesson())
		d.Apply(steps.CellStarted{Run: d.Runs() + 1, Cell: "hosts", At: began})
		b, err := d.Encode(began)
		if err != nil {
			t.Skip(err) // a time that JSON can't hold, say
		}
		again, err := Decode(b)
		if err != nil {
			t.Fatalf("what was written can't be read: %v", err)
		}
		if len(again.Book.Cells) < 1 {
			t.Error("a cell is lost")
		}
		d.Markdown()
		if _, err := d.HTML(); err != nil {
			t.Error(err)
		}
		if _, err := d.CSV(); err != nil {
			t.Error(err)
		}
		_ = Compare(d, again, 5).Text()
	})
}
