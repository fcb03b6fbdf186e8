package console

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// UntilSignalled is a context that the first signal ends, and with it what runs, in order. A second one ends the
// program however it hangs, also where it comes a moment later: the nodes' supervisors and rollbacks need nothing here.
func UntilSignalled() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	deaf := onSignal(cancel, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return context.WithValue(ctx, mainSignals{}, deaf), func() {
		deaf()
		cancel()
	}
}

// mainSignals is the key of what stops untilSignalled's listening.
type mainSignals struct{}

// ScreenSignals is a context for a screen, which the first signal ends; a second one ends the program, also where the
// terminal is frozen. While another program has the terminal, which lend and back say, ctrl+c goes to both programs and
// is meant for the other one. stop ends the listening.
func ScreenSignals(parent context.Context) (ctx context.Context, lend func() (back func()), stop func()) {
	if deaf, ok := parent.Value(mainSignals{}).(func()); ok {
		deaf() // from here on ctrl+c may be meant for a pager
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	deaf := onSignal(cancel, syscall.SIGTERM, syscall.SIGHUP)
	var mu sync.Mutex // guards deafToInterrupt: a signal ends the listening while a pager may give the terminal back
	deafToInterrupt := onSignal(cancel, os.Interrupt)
	none := func() {
		deaf()
		mu.Lock()
		defer mu.Unlock()
		deafToInterrupt()
	}
	context.AfterFunc(ctx, none)
	lend = func() (back func()) {
		theirs := make(chan os.Signal, 1)
		signal.Notify(theirs, os.Interrupt) // so that it does not end railbench
		mu.Lock()
		defer mu.Unlock()
		deafToInterrupt()
		return func() {
			settle()
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil {
				deafToInterrupt = onSignal(cancel, os.Interrupt)
			}
			signal.Stop(theirs)
		}
	}
	return ctx, lend, func() {
		cancel()
		none()
	}
}

// settle waits until every signal that came before is in the channels of those who listen: only Stop waits for that.
func settle() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
}

// onSignal calls first at the first of some signals. A second one ends the program, also where it came with the first.
// stop ends the listening, and returns once first is not called any more.
func onSignal(first func(), signals ...os.Signal) (stop func()) {
	heard, over, done := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	signal.Notify(heard, signals...)
	go func() {
		defer close(done)
		select {
		case <-heard:
		case <-over:
			return
		}
		first()
		select {
		case again := <-heard:
			endBy(again.(syscall.Signal), heard)
		case <-over:
			select {
			case again := <-heard:
				endBy(again.(syscall.Signal), heard)
			default:
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(over)
		<-done
		signal.Stop(heard)
	})
}

// endBy has a signal do what it does without a handler. One that the program was started to ignore, as ctrl+c in the
// background of a script, does nothing then: the program ends as a shell would say it.
func endBy(s syscall.Signal, heard chan os.Signal) {
	signal.Stop(heard)
	_ = syscall.Kill(os.Getpid(), s) // a process may always signal itself, and does not come back from what ends it
	os.Exit(128 + int(s))
}

// QuitIsTerm has SIGQUIT end the program as SIGTERM does, for as long as it runs. Go would write where each goroutine
// is, and while a frozen terminal does not take that, no other signal but SIGKILL would end the program.
func QuitIsTerm() {
	if signal.Ignored(syscall.SIGQUIT) {
		return // as in the background of a script
	}
	quit := make(chan os.Signal, 2)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		for range quit {
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM) // a process may always signal itself
		}
	}()
}
