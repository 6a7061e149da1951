package main

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

func TestRanksAgreeOnTheSum(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const world = 3
	type result struct {
		out string
		err error
	}
	results := make(chan result, world)
	for rank := range world {
		go func() {
			p := place{rank, world, l.Addr().String()}
			var out bytes.Buffer
			var g *gang
			var err error
			if rank == 0 {
				g, err = gather(ctx, l, world)
			} else {
				g, err = meet(ctx, p)
			}
			if err == nil {
				defer g.Close()
				err = work(&out, g, p)
			}
			results <- result{out.String(), err}
		}()
	}
	for range world {
		r := <-results
		if r.err != nil || strings.Count(r.out, "sums are right") != rounds || !strings.HasSuffix(r.out, "done\n") {
			t.Errorf("%v\n%s", r.err, r.out)
		}
	}
}

func TestStrangersAreTurnedAway(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		g, err := gather(ctx, l, 2)
		if err == nil {
			g.Close()
		}
		done <- err
	}()
	for _, rank := range []int{7, 0} {
		g, err := meet(ctx, place{rank, 2, l.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		g.peers[0].SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := g.peers[0].Read(make([]byte, 1)); err == nil {
			t.Errorf("rank %d was taken", rank)
		}
		g.Close()
	}
	g, err := meet(ctx, place{1, 2, l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestALoneRankGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := gather(ctx, l, 2); err == nil || !strings.Contains(err.Error(), "1 of 2 ranks are here") {
		t.Errorf("%v", err)
	}
}

func TestPlacesAreChecked(t *testing.T) {
	t.Parallel()
	good := map[string]string{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", "RANK": "1", "WORLD_SIZE": "2"}
	if p, err := readPlace(func(k string) string { return good[k] }); err != nil || p.address != "127.0.0.1:1" || p.rank != 1 || p.world != 2 {
		t.Errorf("%+v %v", p, err)
	}
	for name, value := range map[string]string{"MASTER_ADDR": "", "RANK": "2", "WORLD_SIZE": "two"} {
		_, err := readPlace(func(k string) string {
			if k == name {
				return value
			}
			return good[k]
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%q: %v", name, value, err)
		}
	}
}
