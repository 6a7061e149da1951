package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
)

// gang is the connections of one rank: of rank 0 to all others, of the others
// to rank 0.
type gang struct {
	master bool
	peers  []net.Conn // of rank 0: rank i+1 at i
}

// gather accepts the others. Each begins by saying its rank.
func gather(ctx context.Context, l net.Listener, world int) (*gang, error) {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	g := &gang{master: true, peers: make([]net.Conn, world-1)}
	for here := 1; here < world; {
		c, err := l.Accept()
		if err != nil {
			g.Close()
			return nil, fmt.Errorf("%d of %d ranks are here: %w", here, world, err)
		}
		c.SetReadDeadline(time.Now().Add(10 * time.Second)) // a stranger that says nothing must not hold up the rest
		var rank uint32
		err = binary.Read(c, binary.BigEndian, &rank)
		if err != nil || rank < 1 || int(rank) >= world || g.peers[rank-1] != nil {
			c.Close()
			continue
		}
		c.SetReadDeadline(time.Time{})
		g.peers[rank-1] = c
		here++
	}
	return g, nil
}

// meet dials rank 0 until it is there.
func meet(ctx context.Context, p place) (*gang, error) {
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "tcp", p.address)
		if err == nil {
			if err = binary.Write(c, binary.BigEndian, uint32(p.rank)); err == nil {
				return &gang{peers: []net.Conn{c}}, nil
			}
			c.Close()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("rank 0 is not at %s: %w", p.address, errors.Join(err, ctx.Err()))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// AllReduce replaces v by the sum of every rank's v.
func (g *gang) AllReduce(v []float64) error {
	if !g.master {
		if err := binary.Write(g.peers[0], binary.BigEndian, v); err != nil {
			return err
		}
		return binary.Read(g.peers[0], binary.BigEndian, v)
	}
	part := make([]float64, len(v))
	for _, c := range g.peers {
		if err := binary.Read(c, binary.BigEndian, part); err != nil {
			return err
		}
		for i, x := range part {
			v[i] += x
		}
	}
	for _, c := range g.peers {
		if err := binary.Write(c, binary.BigEndian, v); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the connections.
func (g *gang) Close() {
	for _, c := range g.peers {
		if c != nil {
			c.Close()
		}
	}
}
