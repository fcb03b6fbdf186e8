package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/railbench/railbench/cmd/bench/screen"
)

// lookers is an audience.
const lookers = 100

// viewers is what an audience in browsers takes: two nodes with four rails each that all move,
// ten samples a second, with nobody who looks and with a hundred.
func viewers(b *bench) (r result, err error) {
	var cores [2]float64
	var told int64
	for i, n := range []int{0, lookers} {
		if cores[i], told, err = b.looked(n); err != nil {
			return r, err
		}
	}
	if told == 0 {
		return r, errors.New("the viewers are told nothing")
	}
	share := below(fmt.Sprintf("%d viewers, 2 nodes with 4 rails at 10 Hz", lookers), cores[1], 5, " % of a core")
	share.got += fmt.Sprintf(" (nobody looks: %s)", number(cores[0]))
	r.figures = []figure{share, plain("the same, to each viewer", number(float64(told)/1e3)+" kB/s")}
	return r, nil
}

// looked is the share of a core that the page takes while so many look, with the sampling and
// the gauges behind it, and the bytes a second that each is told.
func (b *bench) looked(n int) (core float64, told int64, err error) {
	file, err := answer()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(b.load, "page", file, file)
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	var streams sync.WaitGroup
	defer func() {
		in.Close()
		_ = cmd.Wait() // its streams end with it
		streams.Wait()
	}()
	said := bufio.NewScanner(out)
	if !said.Scan() {
		return 0, 0, errors.Join(errors.New("the page did not say where it is"), said.Err())
	}
	var read atomic.Int64
	for range n {
		answer, err := http.Get(said.Text() + "events")
		if err != nil {
			return 0, 0, err
		}
		streams.Go(func() {
			defer answer.Body.Close()
			_, _ = io.Copy(counter{&read}, answer.Body) // until the program ends
		})
	}
	time.Sleep(rest) // until all have their first picture
	span := 10 * time.Second
	if b.quick {
		span = time.Second
	}
	before, err := screen.Ran(cmd.Process.Pid)
	if err != nil {
		return 0, 0, missing(err.Error())
	}
	bytes, began := read.Load(), time.Now()
	time.Sleep(span)
	took := time.Since(began).Seconds()
	after, err := screen.Ran(cmd.Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	core = (after - before).Seconds() / took * 100
	return core, int64(float64(read.Load()-bytes) / took / float64(max(1, n))), b.ctx()
}

// A counter counts what is written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}
