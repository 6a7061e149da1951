package mpi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// WaitMain is the launcher's step before its command: it returns once the
// agents of all workers answer. It sets no limit of its own, as an image may
// take its time to come to a worker; a worker that fails ends the gang.
func WaitMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := wait(ctx, workers(os.Getenv(WorkersVar)), os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "muster mpi wait:", err)
		return 1
	}
	return 0
}

func wait(ctx context.Context, all map[string]string, log io.Writer) error {
	if len(all) == 0 {
		return fmt.Errorf("%s is not set; this is run by mpi workloads of Muster, not by hand", WorkersVar)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := answers(ctx, name, all[name], log); err != nil {
			return err
		}
	}
	return nil
}

// answers waits for the agent of one worker, and says so where that takes long.
func answers(ctx context.Context, name, at string, log io.Writer) error {
	reported := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := greeted(ctx, at)
		if err == nil {
			return nil
		}
		if time.Since(reported) > time.Minute {
			reported = time.Now()
			_, _ = fmt.Fprintf(log, "muster mpi wait: worker %s at %s does not answer yet: %v\n", name, at, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ended before worker %s at %s answered: %w", name, at, errors.Join(err, ctx.Err()))
		case <-time.After(wait):
		}
	}
}

// greeted is nil once an agent has sent its challenge; who hangs up then asks
// for nothing.
func greeted(ctx context.Context, at string) error {
	d := net.Dialer{Timeout: dialWithin}
	conn, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(dialWithin)); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, nonceSize))
	return err
}
