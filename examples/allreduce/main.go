// Command allreduce is the smallest distributed program: the ranks of a gang
// find each other and add up vectors over TCP, as data-parallel training adds
// up gradients. It needs MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, which
// every task of a distributed workload is given.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const (
	rounds = 10
	length = 4096 // numbers in a vector
	// patience is how long ranks wait for each other: the others may still be
	// compiling.
	patience = 2 * time.Minute
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "allreduce:", err)
		os.Exit(1)
	}
}

// place is this process's place in the gang.
type place struct {
	rank, world int
	address     string // of rank 0
}

func readPlace(env func(string) string) (place, error) {
	p := place{address: net.JoinHostPort(env("MASTER_ADDR"), env("MASTER_PORT"))}
	for _, name := range []string{"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"} {
		if env(name) == "" {
			return p, fmt.Errorf("%s is not set; run this as a workload of kind distributed", name)
		}
	}
	var err error
	if p.rank, err = strconv.Atoi(env("RANK")); err != nil {
		return p, fmt.Errorf("RANK: %w", err)
	}
	if p.world, err = strconv.Atoi(env("WORLD_SIZE")); err != nil {
		return p, fmt.Errorf("WORLD_SIZE: %w", err)
	}
	if p.rank < 0 || p.rank >= p.world {
		return p, fmt.Errorf("RANK %d is not below WORLD_SIZE %d", p.rank, p.world)
	}
	return p, nil
}

func run(ctx context.Context, out io.Writer, env func(string) string) error {
	p, err := readPlace(env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var g *gang
	if p.rank == 0 {
		var config net.ListenConfig
		l, err := config.Listen(ctx, "tcp", p.address)
		if err != nil {
			return err
		}
		defer l.Close()
		g, err = gather(ctx, l, p.world)
		if err != nil {
			return err
		}
	} else if g, err = meet(ctx, p); err != nil {
		return err
	}
	defer g.Close()
	// A signal ends every wait for the others.
	defer context.AfterFunc(ctx, g.Close)()
	return work(out, g, p)
}

// work adds up a vector in each round and checks every number of the sum.
func work(out io.Writer, g *gang, p place) error {
	fmt.Fprintf(out, "rank %d of %d: everyone is here\n", p.rank, p.world)
	v := make([]float64, length)
	for round := range rounds {
		for i := range v {
			v[i] = share(p.rank, round, i)
		}
		begin := time.Now()
		if err := g.AllReduce(v); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		for i, got := range v {
			want := 0.0
			for rank := range p.world {
				want += share(rank, round, i)
			}
			if got != want {
				return fmt.Errorf("round %d: sum[%d] is %g, want %g", round, i, got, want)
			}
		}
		fmt.Fprintf(out, "rank %d: round %d: %d sums are right (%v)\n", p.rank, round, length, time.Since(begin).Round(time.Microsecond))
	}
	fmt.Fprintf(out, "rank %d: done\n", p.rank)
	return nil
}

// share is what a rank brings to a sum: whole numbers, so that sums are exact.
func share(rank, round, i int) float64 { return float64((rank + 1) * (round + i)) }
